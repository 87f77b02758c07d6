-- SPDX-License-Identifier: MIT
-- id: storage-remote-live-read
-- severity: warning
-- title: The GPU waits for reads from {resource}
-- why: The job reads its data from a remote store while it trains. Every read pays the round trip
--   to the store, again in every epoch; the GPU waited for that {share} of the time.
-- fix: Copy the data of {resource} to {_local} before the job starts, and let the job read it
--   there{_workers}.
-- first: Fix storage
-- scenario: away storage
-- source: doc/rules.md#storage-remote-live-read
SELECT s.resource AS "resource",
       t.seconds AS "waited [s]",
       t.share AS "share [1]",
       s.mean_read_ms AS "mean read [ms] @wait chain",
       s.in_flight AS "reads in flight [count] @wait chain",
       s.bytes_per_second AS "read rate [bytes/s] @wait chain",
       coalesce((SELECT n.label FROM nvme n LIMIT 1), 'a local disk') AS "_local",
       CASE WHEN s.latency_bound = 0
            THEN '; the store gives no more bytes a second, so more loader workers cannot help'
            WHEN EXISTS (SELECT 1 FROM more_workers)
            THEN '; until then more loader workers hide a part of it' ELSE '' END AS "_workers",
       -- Where workers are the cheaper cure, loader-few-workers speaks.
       CASE WHEN p.cause = 'storage' AND p.relative >= 0.33 AND coalesce(j.in_main, 0) = 0
                 AND NOT EXISTS (SELECT 1 FROM more_workers m WHERE m.first AND NOT EXISTS
                     (SELECT 1 FROM fact WHERE kind = 'loader' AND name = 'part' AND number < 0.75))
            THEN 'warning' ELSE 'info' END AS "severity",
       t.share * run.seconds AS "gain_seconds"
FROM (SELECT sum(seconds) AS seconds, sum(share) AS share FROM storage
      WHERE kind IN ('remote', 'fuse')) t,
     storage s, run, job j LEFT JOIN pipeline p ON p.place = 1
WHERE s.kind IN ('remote', 'fuse') AND t.share >= 0.08
ORDER BY s.seconds DESC, s.resource LIMIT 1;
