-- SPDX-License-Identifier: MIT
-- id: loader-worker-restart
-- severity: warning
-- title: The loader's workers were started anew {restarts} times, and the GPU waited for it
-- why: Each start makes processes, imports modules and fills the queue from empty: {share} of the
--   accelerator's time. A DataLoader does that every epoch unless told to keep its workers.
-- fix: Keep the workers between epochs: DataLoader(..., persistent_workers=True); make the loader
--   once, not in every epoch.
-- scenario: persistent
-- source: doc/rules.md#loader-worker-restart
SELECT j.restarts AS "restarts [count] @wait chain",
       c.seconds AS "waited [s]",
       c.share AS "share [1]",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, job j, run
WHERE c.cause = 'startup' AND c.share >= 0.08 AND j.restarts >= 1;
