-- SPDX-License-Identifier: MIT
-- id: loader-no-workers
-- severity: warning
-- title: The training process loads its own data, and the GPU waits meanwhile
-- why: No loader worker runs: the thread that launches kernels reads and prepares each batch itself,
--   so nothing overlaps. {share} of the accelerator's time went into that.
-- fix: Give the loader workers of its own: DataLoader(..., num_workers={_add},
--   persistent_workers=True, pin_memory=True), or a thread that prepares the next batch.
-- scenario: workers +{_add}
-- source: doc/rules.md#loader-no-workers
SELECT l.seconds AS "waited [s]",
       l.share AS "share [1]",
       j.cores_spare AS "cores idle [count] @/proc/stat",
       max(1, min(4, CAST(l.share / max(0.1, a.compute) + 0.99 AS INTEGER))) AS "_add",
       l.share * run.seconds AS "gain_seconds"
FROM job j, run,
     (SELECT sum(compute_seconds) / sum(seconds) AS compute FROM accelerator WHERE seconds > 0) a,
     (SELECT sum(seconds) AS seconds, sum(share) AS share,
             sum(share) FILTER (WHERE cause IN ('storage', 'prepare')) AS loading,
             sum(share) FILTER (WHERE cause = 'storage') AS storage
      FROM cause WHERE cause IN ('storage', 'prepare', 'host', 'cpu-starved')) l
WHERE j.in_main = 1
  AND l.share >= 0.08 AND l.loading >= 0.04
  AND l.share >= 0.33 * (SELECT max(share) FROM cause)
  -- Reading overlaps without a core of its own; CPU work does not.
  AND (coalesce(j.cores_spare, 1) >= 0.25 OR l.storage >= 0.5 * l.share);
