-- SPDX-License-Identifier: MIT
-- id: nccl-timeout
-- for: check report
-- severity: critical
-- title: A collective timed out: {operation} number {_sequence}, on rank {_ranks}
-- why: PyTorch's watchdog ended the job after {waited}. The rank at fault is one that does not
--   wait: it crashed, or runs different code or a different collective.
-- fix: Run again with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 and give the
--   dumps of all ranks to gpufeed report: it names the rank
-- first: Find the rank that did not come
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-timeout
SELECT o.text AS "operation @watchdog",
       s.number AS "sequence [count] @watchdog",
       t.number AS "waited [s] @watchdog",
       count(*) AS "ranks that waited [count] @watchdog",
       min(s.source) AS "said in",
       printf('%d', s.number) AS "_sequence",
       substr(group_concat(s.subject, ', '), 1, 60) AS "_ranks"
FROM fact s
JOIN fact o ON o.kind = s.kind AND o.subject = s.subject AND o.name = 'operation'
LEFT JOIN fact t ON t.kind = s.kind AND t.subject = s.subject AND t.name = 'seconds'
WHERE s.kind = 'nccl/timeout' AND s.name = 'sequence'
GROUP BY o.text, s.number ORDER BY s.number LIMIT 1;
