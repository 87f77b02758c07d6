-- SPDX-License-Identifier: MIT
-- id: rdma-libraries
-- for: check
-- severity: warning
-- title: {library} is not installed where the job runs
-- why: NCCL opens libibverbs, which opens the provider of the device, at run time; without them it
--   goes over TCP and says so only in its log.
-- fix: Install rdma-core in the image (apt-get install libibverbs1 ibverbs-providers, or dnf install
--   libibverbs).
-- needs: rdma/ports_active library/installed|nccl/host/verbs_missing
-- source: NCCL user guide, Environment variables; NVIDIA/nccl src/misc/ibvwrap.cc
SELECT CASE l.subject WHEN 'ibverbs' THEN 'libibverbs' ELSE 'The mlx5 provider' END AS "library @/proc/PID/root",
       r.ports_usable AS "active ports [count] @/sys/class/infiniband"
FROM fact l JOIN rdma r ON r.ports_usable >= 1
WHERE l.kind = 'library' AND l.name = 'installed' AND l.number = 0 AND (l.subject = 'ibverbs'
    OR l.subject = 'mlx5' AND EXISTS (SELECT 1 FROM ib_port WHERE device LIKE 'mlx5%' AND active = 1)
       AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'library' AND subject = 'ibverbs' AND name = 'installed' AND number = 0))
UNION ALL
SELECT 'On ' || host || ' libibverbs', NULL FROM nccl_host WHERE verbs_missing = 1;
