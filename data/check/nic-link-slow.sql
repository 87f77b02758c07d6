-- SPDX-License-Identifier: MIT
-- id: nic-link-slow
-- for: check
-- severity: info
-- title: {nic} runs at {speed}, other {driver} cards here at {best}
-- why: Auto-negotiation or a wrong cable has slowed it down, and with it all traffic over it.
-- fix: Check the cable and the switch port: ethtool {nic} shows what each end offers.
-- needs: nic/speed
-- source: Linux Documentation/ABI/testing/sysfs-class-net: speed
SELECT n.subject AS "nic", n.number AS "speed [bit/s] @/sys/class/net", t.best AS "best [bit/s]", d.text AS "driver"
FROM fact n JOIN fact d ON d.kind = 'nic' AND d.subject = n.subject AND d.name = 'driver'
JOIN fact u ON u.kind = 'nic' AND u.subject = n.subject AND u.name = 'state' AND u.text = 'up'
JOIN (SELECT d.text AS driver, max(n.number) AS best, count(*) AS n FROM fact n JOIN fact d ON d.kind = 'nic' AND d.subject = n.subject AND d.name = 'driver'
      WHERE n.kind = 'nic' AND n.name = 'speed' GROUP BY d.text) t ON t.driver = d.text
WHERE n.kind = 'nic' AND n.name = 'speed' AND t.n >= 2 AND n.number <= t.best / 4
UNION ALL
SELECT n.subject, n.number, 1e10, 'data centre' FROM fact n JOIN fact u ON u.kind = 'nic' AND u.subject = n.subject AND u.name = 'state' AND u.text = 'up'
JOIN fact y ON y.kind = 'nic' AND y.subject = n.subject AND y.name = 'driver' AND y.text IN ('mlx5_core', 'bnxt_en', 'ice', 'i40e', 'ixgbe', 'qede', 'mlx4_en')
WHERE n.kind = 'nic' AND n.name = 'speed' AND n.number <= 1e9;
