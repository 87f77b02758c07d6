-- SPDX-License-Identifier: MIT
-- id: omp-threads-over-cores
-- for: check
-- severity: warning
-- title: OMP_NUM_THREADS={threads} in each of {processes} processes, on {cores} cores
-- why: All of them want a core at once whenever they compute on the CPU.
-- fix: Set OMP_NUM_THREADS to the cores divided by the ranks of this node (torchrun sets 1); loader workers
--   use one thread each.
-- needs: env/value job/cores_allowed job/trainers
-- source: PyTorch documentation, torchrun (OMP_NUM_THREADS); OpenMP specification
SELECT CAST(e.text AS INTEGER) AS "threads [count] @/proc/PID/environ", t.number AS "processes [count] @/proc/PID/maps", c.number AS "cores [count] @affinity, cgroup"
FROM fact e JOIN fact t ON t.kind = 'job' AND t.name = 'trainers' JOIN fact c ON c.kind = 'job' AND c.name = 'cores_allowed'
WHERE e.kind = 'env' AND e.subject = 'OMP_NUM_THREADS' AND e.name = 'value' AND CAST(e.text AS INTEGER) > 0
AND t.number >= 1 AND CAST(e.text AS INTEGER) * t.number > 2 * c.number;
