-- SPDX-License-Identifier: MIT
-- id: memory-reclaim
-- severity: warning
-- title: The job ran short of memory, and the GPU waited for pages
-- why: The kernel had to free or swap pages before the job's threads could go on: the GPU waited
--   for that {share} of the time.
-- fix: Give the job more memory (cgroup memory.high and memory.max, Slurm --mem), or use less:
--   fewer loader workers, fewer batches ahead{_prefetch}, no copy of the data set in each worker;
--   turn swap off.
-- first: Give the job more memory
-- scenario: away memory
-- source: doc/rules.md#memory-reclaim
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT number FROM fact WHERE kind = 'memory' AND name = 'lowest_available')
           AS "least memory free [bytes] @/proc/meminfo",
       (SELECT number FROM fact WHERE kind = 'memory' AND name = 'swap_in_rate')
           AS "read from swap [bytes/s] @/proc/vmstat",
       (SELECT number FROM fact WHERE kind = 'memory' AND name = 'major_faults_rate')
           AS "major faults [1/s] @/proc/vmstat",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ' (prefetch_factor)' ELSE '' END AS "_prefetch",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'memory' AND c.share >= 0.05;
