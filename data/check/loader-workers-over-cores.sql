-- SPDX-License-Identifier: MIT
-- id: loader-workers-over-cores
-- for: check
-- severity: warning
-- title: {workers} loader workers share {cores} cores
-- why: Workers beyond the number of cores take turns, and take the core from the thread that
--   launches kernels{_torch}.
-- fix: Use at most one worker for each core, less one or two for each GPU, or give the job more
--   cores.
-- needs: job/cores_allowed job/loader_workers|job/workers_asked
-- source: PyTorch source, torch/utils/data/dataloader.py (suggested max number of worker)
SELECT w.workers AS "workers [count] @job", c.number AS "cores [count] @affinity, cgroup",
       (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'trainers') AS "processes on the GPU [count] @/proc/PID/maps",
       CASE (SELECT number FROM fact WHERE kind = 'job' AND name = 'torch') WHEN 0 THEN '' ELSE '; PyTorch warns of this too' END AS "_torch"
FROM fact c, (SELECT max(coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers'), 0), coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'workers_asked'), 0)) AS workers) w
WHERE c.kind = 'job' AND c.name = 'cores_allowed' AND w.workers > c.number
AND NOT EXISTS (SELECT 1 FROM fact q WHERE q.kind = 'job' AND q.name = 'cgroup_quota_cores' AND q.number <= c.number);
