-- SPDX-License-Identifier: MIT
-- id: rdma-memlock
-- for: check
-- severity: warning
-- title: Only {limit} of memory can be locked, and RDMA needs to lock its buffers
-- why: Registering a buffer with an RDMA device locks it; NCCL then fails with "ibv_reg_mr failed:
--   Cannot allocate memory".
-- fix: {_fix}
-- apply: limit memlock hard
-- needs: limit/soft|limit/unlimited|nccl/warning/count rdma/ports_active
-- source: NCCL user guide, Troubleshooting: memory locking; getrlimit(2) (soft and hard limits)
SELECT coalesce(l.number, 0) AS "limit [bytes] @limits", r.ports_usable AS "active ports [count] @/sys/class/infiniband", w.text AS "NCCL says @log",
       h.number AS "hard limit [bytes] @limits",
       CASE WHEN u.number = 1 THEN 'ulimit -l unlimited in the shell that starts the job: its hard limit allows it.'
            WHEN h.number >= 1073741824 THEN 'ulimit -l ' || CAST(h.number / 1024 AS INTEGER) || ' in the shell that starts the job, which is all that its hard limit allows; root can raise that.'
            ELSE CASE WHEN h.number IS NULL THEN '' ELSE 'The hard limit is too low as well, so ' END
                 || 'root has to raise it, and the job to be started anew: docker run --ulimit memlock=-1; Slurm: PropagateResourceLimitsExcept=MEMLOCK, and LimitMEMLOCK=infinity '
                 || 'for slurmd; another systemd unit: LimitMEMLOCK=infinity; logins: "* - memlock unlimited" in /etc/security/limits.d/90-memlock.conf.' END AS "_fix",
       CASE WHEN w.text IS NOT NULL THEN 'critical' END AS "severity"
FROM rdma r LEFT JOIN fact l ON l.kind = 'limit' AND l.subject = 'memlock' AND l.name = 'soft'
LEFT JOIN fact h ON h.kind = 'limit' AND h.subject = 'memlock' AND h.name = 'hard'
LEFT JOIN fact u ON u.kind = 'limit' AND u.subject = 'memlock' AND u.name = 'hard_unlimited'
LEFT JOIN fact w ON w.kind = 'nccl/warning' AND w.subject = 'memlock' AND w.name = 'text'
WHERE r.ports_usable >= 1 AND (l.number < 1073741824 OR w.text IS NOT NULL);
