-- SPDX-License-Identifier: MIT
-- id: lock-held
-- severity: warning
-- title: The GPU waits for a thread that waits for a lock
-- why: A thread that makes the next batch, or the one that launches kernels, stood still for a lock that
--   another one held: {share} of the accelerator's time.
-- fix: Let workers share nothing that must be locked: processes instead of threads where Python's
--   interpreter lock is held for long, a file handle, database connection and lock file for each worker.
--   gpufeed report --chains tells which thread it was.
-- scenario: away lock
-- source: doc/rules.md#lock-held
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'lock' AND c.share >= 0.08;
