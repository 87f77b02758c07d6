-- SPDX-License-Identifier: MIT
-- id: loader-shallow-prefetch
-- severity: info
-- title: Only {batches_ahead} batches are prepared ahead
-- why: With {workers} workers that is at most one batch each, so a single slow batch stalls the
--   GPU.
-- fix: Prepare 4 batches ahead for each worker{_torch}, memory allowing.
-- scenario: prefetch 4
-- source: doc/rules.md#loader-shallow-prefetch
SELECT j.depth AS "batches ahead [count] @wait chain",
       j.workers AS "workers [count] @wait chain",
       l.share AS "share [1]",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ' (prefetch_factor=4; the default of a DataLoader is 2)' ELSE '' END AS "_torch",
       l.share * run.seconds AS "gain_seconds"
FROM job j, run, (SELECT sum(share) AS share FROM cause WHERE cause IN ('storage', 'prepare')) l
WHERE j.workers >= 1 AND j.depth >= 1 AND j.depth <= j.workers AND l.share >= 0.08;
