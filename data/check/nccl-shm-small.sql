-- SPDX-License-Identifier: MIT
-- id: nccl-shm-small
-- for: check
-- severity: warning
-- title: /dev/shm holds {size}, and NCCL needs more for {ranks} processes of one host
-- why: NCCL keeps its buffers between processes of a host there, some 10 MiB per pair and channel
--   group; it ends with "failed to extend /dev/shm/nccl-…".
-- fix: docker run --shm-size=1g (or --ipc=host); in Kubernetes an emptyDir with medium: Memory mounted
--   at /dev/shm.
-- needs: memory/shm_size library/loaded|nccl/warning/count|env/value
-- source: NCCL user guide, Troubleshooting: shared memory; NVIDIA/nccl issue 2326
SELECT m.number AS "size [bytes] @/dev/shm", coalesce(s.value, 'several') AS "ranks @LOCAL_WORLD_SIZE", w.text AS "NCCL says @log",
       CASE WHEN w.text IS NOT NULL THEN 'critical' END AS "severity"
FROM fact m LEFT JOIN setting s ON s.variable = 'LOCAL_WORLD_SIZE'
LEFT JOIN fact w ON w.kind = 'nccl/warning' AND w.subject = 'shm-small' AND w.name = 'text'
WHERE m.kind = 'memory' AND m.name = 'shm_size' AND (w.text IS NOT NULL OR m.number <= 67108864 AND CAST(s.value AS INTEGER) >= 2);
