-- SPDX-License-Identifier: MIT
-- id: nccl-ib-disabled
-- for: check
-- severity: warning
-- title: NCCL_IB_DISABLE={value} while {active_ports} RDMA ports are active
-- why: NCCL does not use InfiniBand or RoCE when this is set, and sends over TCP instead. An external
--   net plugin is not bound by it: {_proof}.
-- fix: Unset NCCL_IB_DISABLE ({set_in}). To force TCP on purpose use NCCL_NET=Socket.
-- needs: rdma/ports_active env/value|nccl_conf/files|nccl/env/value
-- source: NCCL user guide, Environment variables: NCCL_IB_DISABLE; NVIDIA/nccl issue 676
SELECT s.value AS "value @setting", s.origin AS "set in", r.ports_usable AS "active ports [count] @/sys/class/infiniband",
       coalesce(f.proof, CASE WHEN p.text IS NOT NULL THEN 'the plugin ' || p.text || ' is loaded'
           WHEN r.rate >= 1e8 THEN 'RDMA ports carry data' ELSE 'no traffic proves it yet' END) AS "_proof",
       f.proof AS "proof @log or counters", p.text AS "net plugin @/proc/PID/maps",
       CASE WHEN f.proof IS NOT NULL THEN 'critical'
            WHEN p.text IS NOT NULL OR r.rate >= 1e8 THEN 'info' END AS "severity"
FROM setting s JOIN rdma r LEFT JOIN fallback f ON 1
LEFT JOIN fact p ON p.kind = 'library' AND p.subject = 'net-plugin' AND p.name = 'plugin'
WHERE s.variable = 'NCCL_IB_DISABLE' AND CAST(s.value AS INTEGER) <> 0 AND r.ports_usable >= 1;
