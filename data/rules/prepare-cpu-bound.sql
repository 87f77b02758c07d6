-- SPDX-License-Identifier: MIT
-- id: prepare-cpu-bound
-- severity: warning
-- title: The GPU waits for CPU work {_on}
-- why: {_why}: the GPU waited for that {share} of the time.
-- fix: {_how}.
-- first: Speed up {_first}
-- scenario: away prepare
-- source: doc/rules.md#prepare-cpu-bound
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       j.workers AS "workers [count] @wait chain",
       CASE WHEN o.other THEN 'of another thread or process' ELSE 'on the data' END AS "_on",
       CASE WHEN o.other THEN 'what it waits for, or do that beside it,' ELSE 'data preparation' END AS "_first",
       CASE WHEN o.other THEN 'The launching thread waited for another thread or process that computed'
            ELSE 'Decoding, augmenting, collating and the like cost more CPU than the job''s cores give' END AS "_why",
       CASE WHEN o.other THEN 'Let it go on beside the training instead of waiting for it, do it less often, or make it '
            || 'cheaper; gpufeed report --chains shows who does it'
            ELSE 'Make the work cheaper or do it once: store the data already prepared (decoded, resized, tokenised), use '
            || 'a faster library for its costliest step (for JPEG images libjpeg-turbo'
            || CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ' or Pillow-SIMD' ELSE '' END
            || '), move that step to the GPU, or use a machine with more cores'
            || CASE WHEN EXISTS (SELECT 1 FROM more_workers) THEN '; some cores are idle: add workers first'
                    ELSE '' END END AS "_how",
       j.cores_allowed AS "cores allowed [count] @sched_getaffinity",
       j.cores_spare AS "cores idle [count] @/proc/stat",
       CASE WHEN p.cause = 'prepare' AND p.relative >= 0.33 AND coalesce(j.in_main, 0) = 0
                 AND NOT EXISTS (SELECT 1 FROM more_workers m WHERE m.first AND NOT EXISTS
                     (SELECT 1 FROM fact WHERE kind = 'loader' AND name = 'part' AND number < 0.75))
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run, job j LEFT JOIN pipeline p ON p.place = 1,
     -- The wait chain saw nobody make batches: who worked may evaluate, compress, look something up.
     (SELECT run.mode = 'wait chain' AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'loader') AS other FROM run) o
WHERE c.cause = 'prepare' AND c.share >= 0.08
  -- A trace of the launching process shows the wait, not why the loader is slow.
  AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'trace');
