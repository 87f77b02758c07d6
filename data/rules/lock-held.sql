-- SPDX-License-Identifier: MIT
-- id: lock-held
-- severity: warning
-- title: The GPU waits for a thread that waits for a lock
-- why: A thread that makes the next batch, or the one that launches kernels, waited for a lock
--   that another thread held: {share} of the GPU's time.
-- fix: Avoid sharing what must be locked: {_gil}give each worker its own file handle, database
--   connection and lock file. gpufeed report --chains shows which thread it was.
-- first: Remove the lock contention
-- scenario: away lock
-- source: doc/rules.md#lock-held
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       CASE WHEN (SELECT python FROM program) IS NOT 0 THEN 'use processes instead of threads where '
            || 'Python''s interpreter lock is held for long, ' ELSE '' END AS "_gil",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'lock' AND c.share >= 0.08;
