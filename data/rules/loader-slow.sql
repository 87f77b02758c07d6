-- SPDX-License-Identifier: MIT
-- id: loader-slow
-- severity: warning
-- title: The GPU waits for the loader's workers
-- why: The training thread waited in the DataLoader for its next batch {share} of the time. The
--   trace does not show whether the workers read or prepared data meanwhile.
-- fix: Raise num_workers and prefetch_factor while there are idle cores; `gpufeed run` on the job
--   shows whether the workers read or compute, and where they read from.
-- first: Speed up the data loader
-- scenario: away prepare
-- source: doc/rules.md#loader-slow
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       CASE WHEN c.relative >= 0.33 THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, job j, run
WHERE c.cause = 'prepare' AND c.share >= 0.08 AND coalesce(j.in_main, 0) = 0
  AND EXISTS (SELECT 1 FROM fact WHERE kind = 'trace');
