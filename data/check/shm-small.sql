-- SPDX-License-Identifier: MIT
-- id: shm-small
-- for: check
-- severity: warning
-- title: /dev/shm has {size}: loader workers hand their batches over there
-- why: A batch of 256 images of 224x224 in float32 is 147 MiB, and each worker keeps two of them ready.
--   When /dev/shm is full a worker dies with a bus error (SIGBUS), and NCCL cannot make its buffers.
-- fix: docker run --shm-size=16g or --ipc=host; in Kubernetes mount an emptyDir with medium Memory at
--   /dev/shm; on a host: mount -o remount,size=50% /dev/shm.
-- needs: memory/shm_size gpu/name|job/loader_workers
-- source: PyTorch README (Docker image: --ipc=host or --shm-size); NCCL user guide, troubleshooting (shared
--   memory)
SELECT s.number AS "size [bytes] @statfs /dev/shm", f.number AS "free [bytes] @statfs /dev/shm",
       (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers') AS "loader workers [count] @/proc/PID",
       (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'workers_asked') AS "workers asked for [count] @command line"
FROM fact s JOIN fact f ON f.kind = 'memory' AND f.name = 'shm_free'
WHERE s.kind = 'memory' AND s.name = 'shm_size' AND s.number <= 268435456
AND (EXISTS (SELECT 1 FROM fact WHERE kind = 'gpu' AND name = 'name')
     OR coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'workers_asked'), (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers')) > 0);
