-- SPDX-License-Identifier: MIT
-- id: loader-no-workers
-- severity: warning
-- title: The process that launches kernels loads its own data while the GPU waits
-- why: There are no loader workers: the thread that launches kernels reads and prepares each batch
--   itself, so nothing overlaps. The GPU waited for that {share} of the time.
-- fix: Let {_workers} prepare the next batches while the GPU computes{_torch}{_bytes}.
-- first: Load data in workers
-- scenario: workers +{_add}
-- source: doc/rules.md#loader-no-workers
SELECT l.seconds AS "waited [s]",
       l.share AS "share [1]",
       j.cores_spare AS "cores idle [count] @/proc/stat",
       l.add_workers AS "_add",
       l.add_workers || ' worker' || CASE l.add_workers WHEN 1 THEN '' ELSE 's' END AS "_workers",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ': DataLoader(..., num_workers='
            || l.add_workers || ', persistent_workers=True, pin_memory=True)'
            ELSE ' (threads or processes)' END AS "_torch",
       CASE WHEN l.serial THEN '. One reads while the GPU computes; whether ' || l.resource
            || ' gives several readers more bytes than one was not seen'
            WHEN l.add_workers = l.line THEN '. Try more, too: while the one reader waited for '
            || l.resource || ', bytes came for ' || CAST(100 * l.transfer + 0.5 AS INTEGER)
            || ' % of the time; whether several get more was not seen' ELSE '' END AS "_bytes",
       -- At best a step takes as long as it computes, or as its batch takes by so many workers.
       (l.share + l.compute - max(l.compute, l.share / l.add_workers)) * run.seconds AS "gain_seconds"
FROM job j, run,
     (SELECT *, CASE WHEN serial THEN 1
                     ELSE max(1, min(4, line, CAST(share / max(0.1, compute) + 0.99 AS INTEGER))) END
                AS add_workers
      FROM (SELECT c.*, a.compute AS compute, d.resource AS resource, d.transfer AS transfer,
                   -- As many readers as the line is known to feed at the speed that one reader saw.
                   CAST(max(1, min(9, c.share / max(0.01, coalesce(d.transfer * c.storage, 0))))
                        AS INTEGER) AS line,
                   -- A disk may give several readers no more bytes than one, and one cannot show it.
                   coalesce(d.serial AND c.storage >= 0.5 * c.share, 0) AS serial
            FROM (SELECT sum(seconds) AS seconds, sum(share) AS share,
                         sum(share) FILTER (WHERE cause IN ('storage', 'prepare')) AS loading,
                         sum(share) FILTER (WHERE cause = 'storage') AS storage
                  FROM cause WHERE cause IN ('storage', 'prepare', 'host', 'cpu-starved')) c,
                 (SELECT sum(compute_seconds) / sum(seconds) AS compute
                  FROM accelerator WHERE seconds > 0) a
                 LEFT JOIN (SELECT s.resource AS resource,
                                   s.kind IN ('disk', 'local') OR coalesce(s.latency_bound = 0, 0)
                                   AS serial,
                                   CASE WHEN s.latency_bound IS NOT 1 THEN (SELECT number FROM fact f
                                        WHERE f.kind = 'storage' AND f.subject = s.resource
                                        AND f.name = 'transfer_share') END AS transfer
                            FROM storage s ORDER BY s.seconds DESC, s.resource LIMIT 1) d)) l
WHERE j.in_main = 1
  AND l.share >= 0.08 AND l.loading >= 0.04
  AND l.share >= 0.33 * (SELECT max(share) FROM cause)
  -- Reading overlaps without a core of its own; CPU work does not.
  AND (coalesce(j.cores_spare, 1) >= 0.25 OR l.storage >= 0.5 * l.share);
