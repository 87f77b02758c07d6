-- SPDX-License-Identifier: MIT
-- id: prepare-cpu-bound
-- severity: warning
-- title: The GPU waits for CPU work on the data
-- why: Decoding, augmenting, collating and the like cost more CPU than the job's cores give: the
--   GPU waited for that {share} of the time.
-- fix: Make the work cheaper or do it once: store the data already prepared (decoded, resized,
--   tokenised), use a faster library for its costliest step (for JPEG images {_jpeg}), move that
--   step to the GPU, or use a machine with more cores{_workers}.
-- first: Speed up data preparation
-- scenario: away prepare
-- source: doc/rules.md#prepare-cpu-bound
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       j.workers AS "workers [count] @wait chain",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN 'libjpeg-turbo or Pillow-SIMD' ELSE 'libjpeg-turbo' END AS "_jpeg",
       j.cores_allowed AS "cores allowed [count] @sched_getaffinity",
       j.cores_spare AS "cores idle [count] @/proc/stat",
       CASE WHEN EXISTS (SELECT 1 FROM more_workers)
            THEN '; some cores are idle: add workers first' ELSE '' END AS "_workers",
       CASE WHEN p.cause = 'prepare' AND p.relative >= 0.33 AND coalesce(j.in_main, 0) = 0
                 AND NOT EXISTS (SELECT 1 FROM more_workers m WHERE m.first AND NOT EXISTS
                     (SELECT 1 FROM fact WHERE kind = 'loader' AND name = 'part' AND number < 0.75))
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run, job j LEFT JOIN pipeline p ON p.place = 1
WHERE c.cause = 'prepare' AND c.share >= 0.08
  -- A trace of the launching process shows the wait, not why the loader is slow.
  AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'trace');
