-- SPDX-License-Identifier: MIT
-- id: network-service-slow
-- severity: warning
-- title: The GPU waits for answers over the network{_where}
-- why: The process that launches kernels calls something over the network (a metrics tracker, a
--   parameter or feature server, a queue) and waits for the answer: {share} of the GPU's time.
--   Nothing shows that the other end is a rank of this job.
-- fix: Make the calls from a background thread or process (trackers have asynchronous and offline
--   modes), less often, and for several steps at once.
-- first: Take the calls to the service out of the loop
-- scenario: away {_causes}
-- source: doc/rules.md#network-service-slow
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       r.resource AS "resource",
       coalesce(' from ' || r.resource, '') AS "_where",
       c.causes AS "_causes",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM run, (SELECT sum(seconds) AS seconds, sum(share) AS share,
                  sum(share) / (SELECT max(share) FROM cause) AS relative,
                  CASE WHEN sum(seconds) FILTER (WHERE cause = 'network') * 2 >= sum(seconds)
                       THEN 'network late-peer' ELSE 'late-peer network' END AS causes
           -- An answer that takes its time is late, not slow. Clients of the job: service-idle.
           FROM cause_resource WHERE cause = 'network' OR cause = 'late-peer'
                                     AND coalesce(resource, '') NOT LIKE '% to port %') c
     LEFT JOIN (SELECT resource FROM cause_resource
                WHERE cause IN ('network', 'late-peer') AND resource NOT LIKE '% to port %'
                GROUP BY resource ORDER BY sum(seconds) DESC, resource LIMIT 1) r
WHERE c.share >= 0.08 AND (SELECT several FROM ranks) = 0;
