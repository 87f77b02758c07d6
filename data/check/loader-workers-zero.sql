-- SPDX-License-Identifier: MIT
-- id: loader-workers-zero
-- for: check
-- severity: warning
-- title: The training process loads its own data: it was told to use no loader workers
-- why: The GPU waits whenever that process reads or decodes; nothing overlaps.
-- fix: Use at least 4 loader workers{_torch}, at most as many as the job has cores ({cores}).
-- needs: job/workers_asked|job/trainer_read_rate
-- source: PyTorch documentation, torch.utils.data (single- and multi-process data loading)
SELECT a.number AS "workers asked for [count] @command line", (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers') AS "workers alive [count] @/proc/PID",
       (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'cores_allowed') AS "cores [count] @affinity, cgroup",
       CASE (SELECT number FROM fact WHERE kind = 'job' AND name = 'torch') WHEN 0 THEN '' ELSE ' (num_workers of the DataLoader)' END AS "_torch"
FROM fact a WHERE a.kind = 'job' AND a.name = 'workers_asked' AND a.number = 0
AND coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers'), 0) = 0;
