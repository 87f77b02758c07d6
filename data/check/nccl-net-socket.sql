-- SPDX-License-Identifier: MIT
-- id: nccl-net-socket
-- for: check
-- severity: warning
-- title: NCCL_NET=Socket while {active_ports} RDMA ports are active
-- why: All traffic between nodes goes over TCP.{_proof}
-- fix: Unset NCCL_NET ({set_in}).
-- needs: rdma/ports_active env/value|nccl_conf/files|nccl/env/value
-- source: NCCL user guide, Environment variables: NCCL_NET
SELECT s.value AS "value @setting", s.origin AS "set in", r.ports_usable AS "active ports [count] @/sys/class/infiniband",
       f.proof AS "proof @log or counters", coalesce(' Proven: ' || f.proof || '.', '') AS "_proof",
       CASE WHEN f.proof IS NOT NULL THEN 'critical' END AS "severity"
FROM setting s JOIN rdma r LEFT JOIN fallback f ON 1
WHERE s.variable = 'NCCL_NET' AND lower(s.value) = 'socket' AND r.ports_usable >= 1;
