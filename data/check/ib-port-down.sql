-- SPDX-License-Identifier: MIT
-- id: ib-port-down
-- for: check
-- severity: warning
-- title: InfiniBand port {port} is {state} ({physical}) while others of its kind are active
-- why: {_why}
-- fix: {_fix}
-- needs: ib_port/state
-- source: Linux Documentation/ABI/stable/sysfs-class-infiniband; InfiniBand Architecture 14.4 (a subnet
--   manager gives a LID to a port that has a link; 0xffff and 0 are none)
SELECT p.subject AS "port @/sys/class/infiniband", p.state AS "state", p.phys_state AS "physical", p.device AS "_device",
       t.down AS "down [count]", t.n AS "of [count]", coalesce(h.text, 'this kind') AS "kind",
       p.link_downed AS "links lost [count] @/sys/class/infiniband",
       CASE WHEN u.used THEN t.down || ' of ' || t.n || ' ports of ' || coalesce(h.text, 'this kind') || ' are down, and this '
            || 'one has had a link: NCCL leaves it out, and a job runs at the speed of the rank that has lost its port.'
            ELSE 'Nothing shows that this port has had a link since it was set up: no cable is plugged in, or the other end is off.'
            END AS "_why",
       CASE WHEN u.used THEN 'Check the cable and the switch port; ibstat ' || p.device || ' shows the state.'
            ELSE 'None, if the port is meant to be unused. Otherwise plug in its cable, or turn on the switch port; ibstat '
            || p.device || ' shows the state.' END AS "_fix",
       CASE WHEN u.used THEN 'warning' ELSE 'info' END AS "severity"
FROM ib_port p LEFT JOIN fact h ON h.kind = 'ib' AND h.subject = p.device AND h.name = 'hca'
JOIN (SELECT h.text AS hca, q.link_layer AS layer, count(*) AS n, sum(q.active = 0) AS down, sum(q.active) AS up
      FROM ib_port q LEFT JOIN fact h ON h.kind = 'ib' AND h.subject = q.device AND h.name = 'hca' GROUP BY 1, 2) t
  ON t.hca IS h.text AND t.layer IS p.link_layer
-- A port without a cable polls for ever, too: what it has had, or what a machine of this size has, tells them apart.
JOIN (SELECT subject, coalesce(lid NOT IN (0, 65535), 0) OR coalesce(link_downed, 0) > 0
             OR coalesce(phys_state, '') NOT IN ('', 'Polling', 'Sleep')
             OR (SELECT count(*) FROM ib_port WHERE link_layer = 'InfiniBand')
                <= coalesce((SELECT number FROM fact WHERE kind = 'vm' AND name = 'rdma_ports_expected'), 0) AS used
      FROM ib_port) u ON u.subject = p.subject
WHERE p.link_layer = 'InfiniBand' AND p.active = 0 AND p.state <> 'INIT' AND coalesce(p.phys_state, '') <> 'Disabled' AND t.up >= t.down
  AND NOT EXISTS (SELECT 1 FROM ib_port s WHERE s.device = p.device AND s.active = 1);
