-- SPDX-License-Identifier: MIT
-- id: rdma-not-used
-- for: check
-- severity: critical
-- title: The job's traffic goes over TCP while {active_ports} RDMA ports are active
-- why: Proven, not guessed: {proof}. Between nodes that is a tenth of the bandwidth or less.
-- fix: Run it once with NCCL_DEBUG=INFO: the line "NET/IB : No device found" or "Using network Socket"
--   and what stands before it tell why; other findings here may name the cause.
-- needs: rdma/bytes_rise job/tcp_bytes_rise
-- source: NCCL user guide, Troubleshooting: networking
SELECT f.proof AS "proof @counters", r.ports_usable AS "active ports [count] @/sys/class/infiniband", t.number AS "TCP [bytes/s] @sock_diag", r.rate AS "RDMA [bytes/s] @counters",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fallback f JOIN rdma r JOIN fact t ON t.kind = 'job' AND t.name = 'tcp_rate' WHERE r.ports_usable >= 1 AND f.proof LIKE 'RDMA ports%';
