-- SPDX-License-Identifier: MIT
-- id: cpu-starved
-- severity: warning
-- title: The job's threads were ready to run but had no free core
-- why: Other work on this machine, or more workers than cores, kept the job off its cores; the GPU
--   waited for that {share} of the time.
-- fix: Give the job cores of its own: stop or move the neighbours, raise its CPU limit or share
--   (cgroup cpu.max, Slurm --cpus-per-task, Kubernetes requests), and start no more loader workers
--   than it has cores ({_cores}).
-- first: Give the job more CPU cores
-- scenario: away cpu-starved
-- source: doc/rules.md#cpu-starved
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       j.cores_allowed AS "cores allowed [count] @sched_getaffinity",
       j.cores_spare AS "cores idle [count] @/proc/stat",
       j.workers AS "workers [count] @wait chain",
       (SELECT f.number FROM fact f WHERE f.kind = 'psi' AND f.name = 'cpu_some_share') AS "pressure [1] @/proc/pressure/cpu",
       coalesce(CAST(CAST(j.cores_allowed AS INTEGER) AS TEXT), 'see nproc') AS "_cores",
       CASE WHEN p.cause = 'cpu-starved' AND p.relative >= 0.33 AND coalesce(j.in_main, 0) = 0
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run, job j LEFT JOIN pipeline p ON p.place = 1
WHERE c.cause = 'cpu-starved' AND c.share >= 0.08;
