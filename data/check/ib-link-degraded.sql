-- SPDX-License-Identifier: MIT
-- id: ib-link-degraded
-- for: check
-- severity: warning
-- title: {port} runs at {rate} ({speed}), other ports of its kind at {best}
-- why: A collective is as slow as its slowest link.
-- fix: Reseat or replace the cable; mlxlink -d {_device} shows the speeds that each end allows.
--   Then reset the port.
-- needs: ib_port/rate
-- source: Linux Documentation/ABI/stable/sysfs-class-infiniband: rate; stas00/ml-engineering,
--   network
SELECT p.subject AS "port @/sys/class/infiniband", p.rate AS "rate [bit/s]", CAST(p.width AS INTEGER) || 'X ' || p.speed AS "speed", t.best AS "best [bit/s]",
       p.device AS "_device"
FROM ib_port p LEFT JOIN fact h ON h.kind = 'ib' AND h.subject = p.device AND h.name = 'hca'
JOIN (SELECT h.text AS hca, q.link_layer AS layer, max(q.rate) AS best
      FROM ib_port q LEFT JOIN fact h ON h.kind = 'ib' AND h.subject = q.device AND h.name = 'hca'
      WHERE q.active = 1 GROUP BY 1, 2) t ON t.hca IS h.text AND t.layer IS p.link_layer
WHERE p.active = 1 AND p.rate < t.best
UNION ALL
SELECT p.subject, p.rate, CAST(p.width AS INTEGER) || 'X ' || p.speed, p.rate * 4 / p.width, p.device FROM ib_port p
WHERE p.active = 1 AND p.link_layer = 'InfiniBand' AND p.width < 4
  AND NOT EXISTS (SELECT 1 FROM ib_port q WHERE q.device <> p.device AND q.link_layer = 'InfiniBand' AND q.active = 1);
