-- SPDX-License-Identifier: MIT
-- id: service-idle
-- severity: info
-- title: The GPU waits for requests{_where}
-- why: The job serves clients on a port of its own, and {share} of the time no client had sent a
--   request. That is no fault of the job: it could do more than it is asked to.
-- fix: Send it more requests, let several services share the GPU, or use a smaller GPU.
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
