-- SPDX-License-Identifier: MIT
-- id: cgroup-cpu-below-workers
-- for: check
-- severity: warning
-- title: The control group of the job allows {quota} cores for {workers} loader workers
-- why: Workers that find no core wait for one, and so do the threads that launch kernels: a quota stops the
--   whole group for the rest of each 100 ms.
-- fix: Raise the limit (docker --cpus, Kubernetes resources.limits.cpu, Slurm --cpus-per-task) to the
--   workers plus two for each GPU, or use fewer workers.
-- needs: job/cgroup_quota_cores job/workers_asked|job/loader_workers
-- source: Linux Documentation/admin-guide/cgroup-v2.rst (cpu.max)
SELECT q.number AS "quota [count] @cgroup", w.workers AS "workers [count] @job",
       (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'throttled_seconds') AS "held back [s] @cgroup"
FROM fact q, (SELECT max(coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'workers_asked'), 0), coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers'), 0)) AS workers) w
WHERE q.kind = 'job' AND q.name = 'cgroup_quota_cores' AND w.workers > 0 AND q.number < w.workers;
