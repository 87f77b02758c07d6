-- SPDX-License-Identifier: MIT
-- id: network-collective-slow
-- severity: warning
-- title: The GPU waits for the network between ranks{_where}
-- why: The other ranks had arrived and their bytes were on the way: the GPU waited for the link
--   {share} of the time.
-- fix: Check that the ranks use the fastest network there is (NCCL_SOCKET_IFNAME,
--   GLOO_SOCKET_IFNAME, InfiniBand or RoCE instead of TCP); then send less or earlier: larger
--   batches, gradient accumulation, compression, overlap with the backward pass.
-- first: Fix the network between ranks
-- scenario: away network
-- source: doc/rules.md#network-collective-slow
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       r.resource AS "resource",
       coalesce(' at ' || r.resource, '') AS "_where",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM run, cause c LEFT JOIN (SELECT resource FROM cause_resource
                             WHERE cause = 'network' AND resource IS NOT NULL
                             ORDER BY seconds DESC, resource LIMIT 1) r
WHERE c.cause = 'network' AND c.share >= 0.08 AND (SELECT several FROM ranks) = 1;
