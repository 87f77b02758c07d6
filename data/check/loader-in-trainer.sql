-- SPDX-License-Identifier: MIT
-- id: loader-in-trainer
-- for: check
-- severity: info
-- title: The training process itself reads {rate} and has no loader workers
-- why: If it does so between two steps, the GPU waits for it.
-- fix: If this is the data of a DataLoader, give it num_workers of at least 4; a checkpoint or a
--   model that is being loaded is no fault.
-- needs: job/trainer_read_rate job/loader_workers job/torch
-- source: PyTorch documentation, torch.utils.data (single- and multi-process data loading)
SELECT r.number AS "rate [bytes/s] @/proc/PID/io", w.number AS "loader workers [count] @/proc/PID",
       (SELECT number FROM fact WHERE kind = 'job' AND name = 'trainers') AS "processes on the GPU [count] @/proc/PID/maps"
FROM fact r JOIN fact w ON w.kind = 'job' AND w.name = 'loader_workers'
JOIN fact t ON t.kind = 'job' AND t.name = 'torch'
WHERE r.kind = 'job' AND r.name = 'trainer_read_rate' AND r.number >= 8388608 AND w.number = 0 AND t.number = 1;
