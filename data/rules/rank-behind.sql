-- SPDX-License-Identifier: MIT
-- id: rank-behind
-- severity: warning
-- title: Rank {_rank} has launched {_behind} collectives fewer than the others
-- why: NCCL RAS counts launches. A few are normal while a job runs; a rank that stays behind is
--   late or hangs, and the others wait for it.
-- fix: Ask RAS again after some seconds; if rank {_rank} is still behind, look at its process and
--   its GPU
-- first: Look at the rank that is behind
-- scenario: none
-- source: doc/rules.md#rank-behind
SELECT b.subject AS "communicator",
       r.number AS "rank [count] @NCCL RAS",
       b.number AS "behind [count] @NCCL RAS",
       b.source AS "said in",
       printf('%d', r.number) AS "_rank",
       printf('%d', b.number) AS "_behind"
FROM fact b JOIN fact r ON r.kind = b.kind AND r.subject = b.subject AND r.name = 'behind_rank'
WHERE b.kind = 'ras/comm' AND b.name = 'behind' AND b.number >= 3
ORDER BY b.number DESC, b.subject LIMIT 1;
