-- SPDX-License-Identifier: MIT
-- id: rank-missing
-- severity: critical
-- title: {_who} not {_did}{_what}
-- why: {_why}
-- fix: {_look}
-- first: Find the missing rank
-- scenario: none
-- source: doc/rules.md#rank-missing
WITH behind AS (
    SELECT substr(s.subject, 1, instr(s.subject, ' ') - 1) AS pg,
           substr(s.subject, instr(s.subject, ' ') + 1) AS rank, s.number AS sequence, o.text AS operation,
           b.number AS behind, l.number AS last, s.source AS source
    FROM fact s
    LEFT JOIN fact o ON o.kind = s.kind AND o.subject = s.subject AND o.name = 'operation'
    LEFT JOIN fact b ON b.kind = s.kind AND b.subject = s.subject AND b.name = 'behind'
    LEFT JOIN fact l ON l.kind = 'flight/rank' AND l.subject = s.subject AND l.name = 'last_completed'
    WHERE s.kind = 'flight/missing' AND s.name = 'sequence'),
gone AS (
    SELECT substr(d.subject, 1, instr(d.subject, ' ') - 1) AS comm,
           substr(d.subject, instr(d.subject, ' ') + 1) AS rank, max(d.name = 'dead') AS dead,
           max(CASE WHEN p.name = 'pid' THEN p.number END) AS pid,
           max(CASE WHEN p.name = 'host' THEN p.text END) AS host, min(d.source) AS source
    FROM fact d LEFT JOIN fact p ON p.kind = d.kind AND p.subject = d.subject AND p.name IN ('pid', 'host')
    WHERE d.kind = 'ras/missing' AND d.name IN ('dead', 'unresponsive') AND d.number = 1
    GROUP BY d.subject)
SELECT group_concat(rank, ', ') AS "ranks",
       operation AS "operation @flight recorder",
       sequence AS "sequence [count] @flight recorder",
       max(behind) AS "collectives behind [count] @flight recorder",
       source AS "said in",
       CASE count(*) WHEN 1 THEN 'Rank ' || rank || ' has'
                     ELSE 'Ranks ' || substr(group_concat(rank, ', '), 1, 60) || ' have' END AS "_who",
       'entered a collective that others wait in' AS "_did",
       coalesce(': ' || operation || printf(' number %d', sequence), '') AS "_what",
       printf('Others of the process group %s have entered number %d and wait there.', pg, sequence) AS "_why",
       'Look at what rank ' || min(rank) || ' does: py-spy dump -p PID shows its stack'
       || coalesce(printf('; the last collective that it completed is number %d', max(last)), '') AS "_look"
FROM behind GROUP BY pg, sequence
UNION ALL
SELECT group_concat(rank, ', '), NULL, NULL, NULL, min(source),
       CASE count(*) WHEN 1 THEN 'Rank ' || rank || ' does' ELSE 'Ranks '
       || substr(group_concat(rank, ', '), 1, 60) || ' do' END,
       'answer' || CASE max(dead) WHEN 1 THEN ': dead' ELSE '' END, '',
       'NCCL RAS asked all processes of the communicator ' || comm || '.',
       'Look at ' || coalesce('process ' || printf('%d', min(pid)), 'the process of rank ' || min(rank))
       || coalesce(' on ' || min(host), '') || ': dmesg, its log, its GPU'
FROM gone GROUP BY comm
LIMIT 1;
