-- SPDX-License-Identifier: MIT
-- id: storage-slow-disk
-- severity: warning
-- title: The GPU waits for reads from {resource}
-- why: This disk is slower than training needs it to be: the GPU waited for it {share} of the time.
-- fix: Put the data on a faster disk than {resource}: {_local}. If the data fits into memory, read
--   it once before training (page cache); if the disk has a limit (io.max, the IOPS tier of a cloud
--   disk), raise it.
-- first: Fix storage
-- scenario: away storage
-- source: doc/rules.md#storage-slow-disk
SELECT s.resource AS "resource",
       t.seconds AS "waited [s]",
       t.share AS "share [1]",
       s.mean_read_ms AS "mean read [ms] @wait chain",
       s.in_flight AS "reads in flight [count] @wait chain",
       s.bytes_per_second AS "read rate [bytes/s] @wait chain",
       (SELECT f.number FROM fact f WHERE f.kind = 'disk' AND f.name = 'rotational'
        AND s.disk = f.subject) AS "rotational [count] @/sys/block",
       (SELECT f.number FROM fact f WHERE f.kind = 'disk' AND f.name = 'busy_share'
        AND s.disk = f.subject) AS "disk busy [1] @/proc/diskstats",
       coalesce((SELECT n.label FROM nvme n LIMIT 1), 'a local NVMe disk') AS "_local",
       -- Where the launching thread reads, a worker hides as much of it as is computed meanwhile.
       CASE WHEN p.cause = 'storage' AND p.relative >= 0.33 AND (coalesce(j.in_main, 0) = 0
                 OR t.share > (SELECT sum(compute_seconds) / sum(seconds) FROM accelerator
                               WHERE seconds > 0))
            THEN 'warning' ELSE 'info' END AS "severity",
       t.share * run.seconds AS "gain_seconds"
FROM (SELECT sum(seconds) AS seconds, sum(share) AS share FROM storage
      WHERE kind IN ('disk', 'local')) t,
     storage s, run, job j LEFT JOIN pipeline p ON p.place = 1
WHERE s.kind IN ('disk', 'local') AND t.share >= 0.08
ORDER BY s.seconds DESC, s.resource LIMIT 1;
