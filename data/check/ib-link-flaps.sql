-- SPDX-License-Identifier: MIT
-- id: ib-link-flaps
-- for: check
-- severity: warning
-- title: {port} lost its link {times} times in {_interval}
-- why: A link that goes down stops every collective until it is up again, or breaks it.
-- fix: Reseat or replace the cable or transceiver: mlxlink -d {_device} -c shows its signal.
-- needs: ib_port/link_downed_rise
-- source: Linux Documentation/ABI/stable/sysfs-class-infiniband: link_downed
SELECT f.subject AS "port", f.number AS "times [count] @counters/link_downed", e.number AS "recoveries [count] @counters/link_error_recovery",
       'the interval looked at' AS "_interval", substr(f.subject, 1, instr(f.subject, '/') - 1) AS "_device"
FROM fact f LEFT JOIN fact e ON e.kind = f.kind AND e.subject = f.subject AND e.name = 'link_error_recovery_rise'
WHERE f.kind = 'ib_port' AND f.name = 'link_downed_rise' AND f.number >= 1;
