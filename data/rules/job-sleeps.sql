-- SPDX-License-Identifier: MIT
-- id: job-sleeps
-- severity: warning
-- title: The job sleeps, and the GPU waits for it
-- why: A thread that makes the next batch, or the one that launches kernels, asked to sleep: {share} of
--   the accelerator's time went into waiting for that.
-- fix: Look for time.sleep, retries with a pause, rate limits, and locks that are polled (lock files:
--   filelock looks 20 times a second), and wait for the event itself, do the work once before training,
--   or give each worker a cache or lock of its own. gpufeed report --chains tells which thread it was.
-- scenario: away sleep
-- source: doc/rules.md#job-sleeps
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       -- Where other ranks wait for the sleeper, rank-late speaks.
       CASE WHEN c.relative >= 0.33
                 AND coalesce((SELECT sum(number) FROM fact WHERE kind = 'late' AND name = 'sleep'), 0)
                     < 0.5 * c.seconds
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'sleep' AND c.share >= 0.08;
