-- SPDX-License-Identifier: MIT
-- id: service-idle
-- severity: info
-- title: The GPU waits for requests{_where}
-- why: The job answers clients that come to its port, and for {share} of the accelerator's time none had
--   asked. That is no fault of the job: there is less to do than it could do.
-- fix: Send it more requests, let several services share the GPU, or use a smaller one.
-- scenario: none
-- source: doc/rules.md#service-idle
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       c.resource AS "resource",
       c.clients AS "clients [count]",
       CASE WHEN c.clients = 1 THEN ' of ' || c.resource
       ELSE ' of ' || c.clients || ' clients' END AS "_where"
FROM (SELECT sum(seconds) AS seconds, sum(share) AS share, count(DISTINCT resource) AS clients,
             min(resource) AS resource
      FROM cause_resource WHERE cause = 'late-peer' AND resource LIKE '% to port %') c
WHERE c.share >= 0.08 AND (SELECT launched FROM ranks) = 0;
