-- SPDX-License-Identifier: MIT
-- id: collective-mismatch
-- severity: critical
-- title: The ranks run different collectives: {_one} against {_other}
-- why: In the process group {_group}, collective number {_sequence} differs between ranks in its
--   {what}: NCCL then hangs or returns wrong results.
-- fix: Find the branch of the code that rank {_ranks} takes and the others do not: a condition on
--   the rank, on the data, or on a parameter without gradients
-- first: Make all ranks run the same collectives
-- scenario: none
-- source: doc/rules.md#collective-mismatch
SELECT w.text AS "what @flight recorder",
       o.text AS "operation @flight recorder",
       x.text AS "other @flight recorder",
       r.text AS "ranks that differ @flight recorder",
       nullif(count(*) OVER () - 1, 0) AS "other process groups that differ [count] @flight recorder",
       w.source AS "said in",
       coalesce(o.text, 'one operation') AS "_one",
       coalesce(x.text, 'another') AS "_other",
       substr(w.subject, 1, instr(w.subject, ' ') - 1) AS "_group",
       substr(w.subject, instr(w.subject, ' ') + 1) AS "_sequence",
       coalesce(r.text, 'that differs') AS "_ranks"
FROM fact w
LEFT JOIN fact o ON o.kind = w.kind AND o.subject = w.subject AND o.name = 'operation'
LEFT JOIN fact x ON x.kind = w.kind AND x.subject = w.subject AND x.name = 'other'
LEFT JOIN fact r ON r.kind = w.kind AND r.subject = w.subject AND r.name = 'ranks'
WHERE w.kind = 'flight/mismatch' AND w.name = 'what'
ORDER BY length(w.subject), w.subject LIMIT 1;
