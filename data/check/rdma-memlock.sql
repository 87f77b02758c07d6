-- SPDX-License-Identifier: MIT
-- id: rdma-memlock
-- for: check
-- severity: warning
-- title: Only {limit} of memory can be locked, and RDMA needs to lock its buffers
-- why: Registering a buffer with an RDMA device locks it; NCCL then fails with "ibv_reg_mr failed:
--   Cannot allocate memory".
-- fix: ulimit -l unlimited in the shell that starts the job; docker run --ulimit memlock=-1; Slurm:
--   PropagateResourceLimitsExcept=MEMLOCK; systemd: LimitMEMLOCK=infinity.
-- apply: limit memlock hard
-- needs: limit/soft|limit/unlimited|nccl/warning/count rdma/ports_active
-- source: NCCL user guide, Troubleshooting: memory locking
SELECT coalesce(l.number, 0) AS "limit [bytes] @limits", r.ports_usable AS "active ports [count] @/sys/class/infiniband", w.text AS "NCCL says @log",
       CASE WHEN w.text IS NOT NULL THEN 'critical' END AS "severity"
FROM rdma r LEFT JOIN fact l ON l.kind = 'limit' AND l.subject = 'memlock' AND l.name = 'soft'
LEFT JOIN fact w ON w.kind = 'nccl/warning' AND w.subject = 'memlock' AND w.name = 'text'
WHERE r.ports_usable >= 1 AND (l.number < 1073741824 OR w.text IS NOT NULL);
