-- SPDX-License-Identifier: MIT
-- id: loader-worker-restart
-- severity: warning
-- title: The loader workers were started anew {restarts} times, and the GPU waited
-- why: Each start creates processes and fills the queue from empty: the GPU waited for that
--   {share} of the time{_epoch}.
-- fix: Keep the workers between epochs{_torch}, and create the loader once, not in every epoch.
-- first: Keep loader workers between epochs
-- scenario: persistent
-- source: doc/rules.md#loader-worker-restart
SELECT j.restarts AS "restarts [count] @wait chain",
       c.seconds AS "waited [s]",
       c.share AS "share [1]",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN '. A DataLoader does that in every epoch '
            || 'unless it is told to keep its workers' ELSE '' END AS "_epoch",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ': DataLoader(..., persistent_workers=True)'
            ELSE '' END AS "_torch",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, job j, run
WHERE c.cause = 'startup' AND c.share >= 0.08 AND j.restarts >= 1;
