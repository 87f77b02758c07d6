-- SPDX-License-Identifier: MIT
-- id: loader-few-workers
-- severity: info
-- title: Too few loader workers ({workers}), and cores to spare
-- why: The GPU waits {share} of its time for batches while {cores_idle} cores of the job are idle.
--   {_what}
-- fix: Raise num_workers from {workers} to {_to}.
-- scenario: workers +{_add}
-- source: doc/rules.md#loader-few-workers
WITH want AS (
    -- Workers that would make as many batches as the accelerator takes; CPU work needs a core each.
    SELECT p.cause AS cause, p.seconds AS seconds, p.share AS share, j.workers AS workers,
           j.cores_spare AS spare,
           max(1, min(CASE p.cause WHEN 'prepare' THEN CAST(j.cores_spare AS INTEGER) ELSE 8 END,
                      CAST(j.workers / max(0.1, 1 - l.share) + 0.99 AS INTEGER)
                          - CAST(j.workers AS INTEGER))) AS more
    FROM pipeline p, job j, run,
         (SELECT sum(share) AS share FROM cause WHERE cause IN ('storage', 'prepare')) l
    WHERE p.place = 1 AND p.share >= 0.08 AND j.workers >= 1 AND coalesce(j.in_main, 0) = 0
      AND j.cores_spare >= run.accelerators)
SELECT w.workers AS "workers [count] @wait chain",
       w.spare AS "cores idle [count] @/proc/stat",
       w.seconds AS "waited [s]",
       w.share AS "share [1]",
       w.more AS "_add",
       CAST(w.workers AS INTEGER) + w.more AS "_to",
       CASE w.cause WHEN 'prepare'
            THEN 'Preparing a batch is CPU work that further workers do at the same time.'
            ELSE 'The store answers late but has bytes to give: more reads in flight hide that.'
            END AS "_what",
       CASE WHEN w.cause = 'prepare' OR w.workers = 1 THEN 'warning' ELSE 'info' END AS "severity",
       w.share * run.seconds AS "gain_seconds"
FROM want w, run
WHERE w.cause = 'prepare'
   OR w.cause = 'storage' AND (SELECT s.latency_bound = 1 AND s.kind IN ('remote', 'fuse')
                               FROM storage s ORDER BY s.seconds DESC, s.resource LIMIT 1);
