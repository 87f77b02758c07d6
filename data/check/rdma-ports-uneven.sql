-- SPDX-License-Identifier: MIT
-- id: rdma-ports-uneven
-- for: check
-- severity: warning
-- title: RDMA ports carry data unevenly: {port} {rate}, the busiest {best}
-- why: Rails of one host carry the same amount in healthy collectives; one that carries much less, or
--   nothing, belongs to a rank that goes another way.
-- fix: See in the NCCL log (NCCL_DEBUG=INFO) which NIC each channel uses; NCCL_IB_HCA or the topology
--   file may hide this one.
-- needs: ib_port/xmit_rate
-- source: NCCL user guide, NCCL_IB_HCA; fleet practice
SELECT p.subject AS "port @/sys/class/infiniband", p.xmit_rate AS "rate [bytes/s] @counters", t.best AS "best [bytes/s]", t.busy AS "busy ports [count]",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM ib_port p JOIN (SELECT link_layer, rate, max(xmit_rate) AS best, count(*) AS n, sum(xmit_rate >= 1e9) AS busy FROM ib_port WHERE active = 1 AND xmit_rate IS NOT NULL GROUP BY link_layer, rate) t
  ON t.link_layer = p.link_layer AND t.rate = p.rate
WHERE p.active = 1 AND t.busy >= 3 AND t.busy >= t.n - 2 AND p.xmit_rate < t.best / 20;
