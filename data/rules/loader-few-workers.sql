-- SPDX-License-Identifier: MIT
-- id: loader-few-workers
-- severity: info
-- title: Too few loader workers ({workers}) while cores are idle
-- why: The GPU waits {share} of the time for batches while {cores_idle} cores of the job are idle.
--   {_what}
-- fix: Raise the number of loader workers{_torch} from {workers} to {_to}{_which}.
-- first: Add loader workers
-- scenario: workers +{_add}
-- source: doc/rules.md#loader-few-workers
SELECT m.workers AS "workers [count] @wait chain",
       m.spare AS "cores idle [count] @/proc/stat",
       m.seconds AS "waited [s]",
       m.share AS "share [1]",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 AND (SELECT processes FROM job) IS NOT 0
            THEN ' (num_workers)' ELSE '' END AS "_torch",
       m.more AS "_add",
       CAST(m.workers AS INTEGER) + m.more AS "_to",
       coalesce((SELECT ' in that of the job''s ' || CAST(number AS INTEGER) ||
                    ' loaders which is waited for longest'
                 FROM fact WHERE kind = 'loader' AND name = 'loaders' AND number > 1), '') AS "_which",
       CASE m.cause WHEN 'prepare'
            THEN 'Preparing a batch is CPU work that further workers do at the same time.'
            ELSE 'The store answers late but has bytes to give: more reads in flight hide that.'
            END AS "_what",
       -- Of several loaders it helps one: it speaks up where most of the waiting is for that.
       CASE WHEN m.first AND p.relative >= 0.33 AND NOT EXISTS
                 (SELECT 1 FROM fact WHERE kind = 'loader' AND name = 'part' AND number < 0.75)
            THEN 'warning' ELSE 'info' END AS "severity",
       m.share * run.seconds AS "gain_seconds"
FROM more_workers m JOIN pipeline p ON p.cause = m.cause, run;
