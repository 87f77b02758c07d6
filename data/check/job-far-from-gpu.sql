-- SPDX-License-Identifier: MIT
-- id: job-far-from-gpu
-- for: check
-- severity: warning
-- title: The job may only run on NUMA node {nodes}, but {n} of {all} GPUs are on other nodes
-- why: Threads that feed a GPU, and NCCL's proxy threads, then reach it over the link between the
--   sockets.
-- fix: Start one process per GPU bound to its node: numactl --cpunodebind=N --membind=N, or
--   Slurm's --gpu-bind=closest. NCCL_IGNORE_CPU_AFFINITY=1 lets NCCL choose for its own threads.
-- needs: job/affinity_numa pci/numa
-- source: NCCL user guide, Environment variables: NCCL_IGNORE_CPU_AFFINITY
SELECT a.text AS "nodes @/proc/PID/status", sum(p.numa <> CAST(a.text AS INTEGER)) AS "n [count] @/sys/bus/pci", count(*) AS "all [count]"
FROM fact a JOIN pci p ON p.class = 'gpu' AND p.numa IS NOT NULL
WHERE a.kind = 'job' AND a.name = 'affinity_numa' AND a.text NOT LIKE '% %' AND NOT EXISTS (SELECT 1 FROM setting WHERE variable IN ('CUDA_VISIBLE_DEVICES', 'NVIDIA_VISIBLE_DEVICES', 'SLURM_GPUS_ON_NODE'))
GROUP BY a.text HAVING sum(p.numa <> CAST(a.text AS INTEGER)) >= 1;
