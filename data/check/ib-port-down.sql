-- SPDX-License-Identifier: MIT
-- id: ib-port-down
-- for: check
-- severity: warning
-- title: InfiniBand port {port} is {state} ({physical}) while others of its kind are active
-- why: {down} of {of} ports of {kind} are down: NCCL leaves them out, and a job runs at the speed of
--   the rank that has lost its port.
-- fix: Check the cable and the switch port; ibstat {_device} shows it. A port that is meant to be
--   unused can be ignored.
-- needs: ib_port/state
-- source: Linux Documentation/ABI/stable/sysfs-class-infiniband
SELECT p.subject AS "port @/sys/class/infiniband", p.state AS "state", p.phys_state AS "physical", p.device AS "_device",
       t.down AS "down [count]", t.n AS "of [count]", coalesce(h.text, 'this kind') AS "kind"
FROM ib_port p LEFT JOIN fact h ON h.kind = 'ib' AND h.subject = p.device AND h.name = 'hca'
JOIN (SELECT h.text AS hca, q.link_layer AS layer, count(*) AS n, sum(q.active = 0) AS down, sum(q.active) AS up
      FROM ib_port q LEFT JOIN fact h ON h.kind = 'ib' AND h.subject = q.device AND h.name = 'hca' GROUP BY 1, 2) t
  ON t.hca IS h.text AND t.layer IS p.link_layer
WHERE p.link_layer = 'InfiniBand' AND p.active = 0 AND p.state <> 'INIT' AND coalesce(p.phys_state, '') <> 'Disabled' AND t.up >= t.down
  AND NOT EXISTS (SELECT 1 FROM ib_port s WHERE s.device = p.device AND s.active = 1);
