-- SPDX-License-Identifier: MIT
-- id: loader-shallow-prefetch
-- severity: info
-- title: Only {batches_ahead} batches are prepared ahead
-- why: With {workers} workers that is at most one batch each, so one slow batch stops the GPU at once
--   instead of being made up for.
-- fix: Set prefetch_factor to 4 (DataLoader's default is 2), memory allowing.
-- scenario: prefetch 4
-- source: doc/rules.md#loader-shallow-prefetch
SELECT j.depth AS "batches ahead [count] @wait chain",
       j.workers AS "workers [count] @wait chain",
       l.share AS "share [1]",
       l.share * run.seconds AS "gain_seconds"
FROM job j, run, (SELECT sum(share) AS share FROM cause WHERE cause IN ('storage', 'prepare')) l
WHERE j.workers >= 1 AND j.depth >= 1 AND j.depth <= j.workers AND l.share >= 0.08;
