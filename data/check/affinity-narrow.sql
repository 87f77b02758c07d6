-- SPDX-License-Identifier: MIT
-- id: affinity-narrow
-- for: check
-- severity: warning
-- title: The job may run on {cores} of {all} cores, and has {workers} loader workers
-- why: An affinity mask (taskset, numactl, Slurm's binding, OMP_PROC_BIND of the launcher) leaves the
--   workers no room; the other cores stay idle.
-- fix: Bind each rank to the cores of its GPU's NUMA node, not to one core: Slurm --cpus-per-task=N with
--   --cpu-bind=cores, mpirun --bind-to none.
-- needs: job/affinity_cores cpu/cores job/loader_workers|job/workers_asked
-- source: sched_setaffinity(2); Slurm documentation (srun --cpu-bind)
SELECT a.number AS "cores [count] @affinity", c.number AS "all [count] @/proc/stat", w.workers AS "workers [count] @job"
FROM fact a JOIN fact c ON c.kind = 'cpu' AND c.name = 'cores',
     (SELECT max(coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers'), 0), coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'workers_asked'), 0)) AS workers) w
WHERE a.kind = 'job' AND a.name = 'affinity_cores' AND w.workers >= 2 AND a.number < w.workers
AND c.number >= 2 * a.number;
