-- SPDX-License-Identifier: MIT
-- id: rank-missing
-- severity: critical
-- title: Rank {_rank} has not entered a collective that others wait in{_what}
-- why: {_why}
-- fix: Look at what rank {_rank} does: {_look}
-- scenario: none
-- source: doc/rules.md#rank-missing
SELECT substr(s.subject, instr(s.subject, ' ') + 1) AS "rank",
       o.text AS "operation @flight recorder",
       s.number AS "sequence [count] @flight recorder",
       b.number AS "collectives behind [count] @flight recorder",
       s.source AS "said in",
       substr(s.subject, instr(s.subject, ' ') + 1) AS "_rank",
       coalesce(': ' || o.text || printf(' number %d', s.number), '') AS "_what",
       printf('Ranks of the process group %s have entered number %d and wait there', substr(s.subject, 1,
              instr(s.subject, ' ') - 1), s.number) || coalesce(printf('; it is %d behind the furthest',
              b.number), '') || '.' AS "_why",
       'py-spy dump -p PID shows its stack; its last completed collective was number '
       || coalesce(printf('%d', l.number), 'unknown') AS "_look"
FROM fact s
LEFT JOIN fact o ON o.kind = s.kind AND o.subject = s.subject AND o.name = 'operation'
LEFT JOIN fact b ON b.kind = s.kind AND b.subject = s.subject AND b.name = 'behind'
LEFT JOIN fact l ON l.kind = 'flight/rank' AND l.subject = s.subject AND l.name = 'last_completed'
WHERE s.kind = 'flight/missing' AND s.name = 'sequence'
UNION ALL
SELECT substr(d.subject, instr(d.subject, ' ') + 1), NULL, NULL, NULL, d.source,
       substr(d.subject, instr(d.subject, ' ') + 1),
       CASE d.name WHEN 'dead' THEN ': its process is dead' ELSE ': its process does not answer' END,
       'NCCL RAS asked all processes of the communicator ' || substr(d.subject, 1, instr(d.subject, ' ') - 1)
       || '.',
       coalesce('process ' || printf('%d', p.number), 'its process') || coalesce(' on ' || h.text, '')
       || ' (dmesg, its log)'
FROM fact d
LEFT JOIN fact p ON p.kind = d.kind AND p.subject = d.subject AND p.name = 'pid'
LEFT JOIN fact h ON h.kind = d.kind AND h.subject = d.subject AND h.name = 'host'
WHERE d.kind = 'ras/missing' AND d.number = 1 AND (d.name = 'dead' OR (d.name = 'unresponsive'
  AND NOT EXISTS (SELECT 1 FROM fact x WHERE x.kind = d.kind AND x.subject = d.subject
                  AND x.name = 'dead' AND x.number = 1)))
LIMIT 8;
