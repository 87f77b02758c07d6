-- SPDX-License-Identifier: MIT
-- id: nic-drops
-- for: check
-- severity: warning
-- title: {nic} dropped {rate} packets per second
-- why: The host was too slow to take packets from the interface: TCP sends them again and slows
--   down.
-- fix: ethtool -G {nic} rx 8192 for larger rings; ethtool -L {nic} combined N for as many queues
--   as cores; see that irqbalance runs.
-- needs: nic/drops_rate
-- source: Linux Documentation/networking/statistics.rst; Documentation/networking/scaling.rst
SELECT r.subject AS "nic", d.number AS "dropped [count] @/sys/class/net", r.number AS "rate [1/s]",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fact r JOIN fact v ON v.kind = 'nic' AND v.subject = r.subject AND v.name = 'virtual' AND v.number = 0
LEFT JOIN fact d ON d.kind = 'nic' AND d.subject = r.subject AND d.name = 'drops'
WHERE r.kind = 'nic' AND r.name = 'drops_rate' AND r.number >= 100;
