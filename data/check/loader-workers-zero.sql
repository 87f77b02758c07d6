-- SPDX-License-Identifier: MIT
-- id: loader-workers-zero
-- for: check
-- severity: warning
-- title: The job reads and prepares its data in the training process: it was told to use no loader workers
-- why: The GPU waits whenever the process reads or decodes, and never the other way round.
-- fix: Give the DataLoader num_workers of at least 4, at most the cores that the job may use ({cores}).
-- needs: job/workers_asked|job/trainer_read_rate
-- source: PyTorch documentation, torch.utils.data (single- and multi-process data loading)
SELECT a.number AS "workers asked for [count] @command line", (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers') AS "workers alive [count] @/proc/PID",
       (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'cores_allowed') AS "cores [count] @affinity, cgroup"
FROM fact a WHERE a.kind = 'job' AND a.name = 'workers_asked' AND a.number = 0
AND coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers'), 0) = 0;
