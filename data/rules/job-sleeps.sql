-- SPDX-License-Identifier: MIT
-- id: job-sleeps
-- severity: warning
-- title: The job sleeps while the GPU waits for it
-- why: A thread that makes the next batch, or the one that launches kernels, was asleep by its own
--   wish: the GPU waited for that {share} of the time.
-- fix: Look for {_calls}, retries with a pause, rate limits and locks that are polled ({_locks}).
--   Wait for the event itself instead, do the work once before training, or give each worker its
--   own cache or lock. gpufeed report --chains shows which thread it was.
-- first: Remove the sleeps
-- scenario: away sleep
-- source: doc/rules.md#job-sleeps
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       CASE WHEN (SELECT python FROM program) IS NOT 0 THEN 'time.sleep' ELSE 'sleep and nanosleep' END AS "_calls",
       CASE WHEN (SELECT python FROM program) IS NOT 0 THEN 'lock files: filelock looks 20 times a second' ELSE 'lock files' END AS "_locks",
       CASE WHEN c.relative >= 0.33 THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'sleep' AND c.share >= 0.08
  -- Where it is a rank that others wait for that sleeps, rank-late tells the same story.
  AND NOT ((SELECT several FROM ranks) = 1
           AND coalesce((SELECT sum(share) FROM cause_resource WHERE cause = 'late-peer'), 0) >= 0.08
           AND (SELECT total(l.seconds) FROM ledger l
                WHERE l.cause = 'sleep' AND EXISTS (SELECT 1 FROM fact f WHERE f.kind = 'late' AND f.name = 'sleep'
                                                    AND f.subject = CAST(l.accelerator AS TEXT)))
               >= 0.5 * c.seconds);
