-- SPDX-License-Identifier: MIT
-- id: cgroup-memory-full
-- for: check
-- severity: warning
-- title: The job's control group uses {used} of its limit of {limit}
-- why: The page cache of what the job reads counts too: data is evicted before the next epoch, and
--   at the limit the kernel kills a process.
-- fix: Raise the memory limit of the container or job (docker --memory, Kubernetes
--   resources.limits.memory, Slurm --mem), or use fewer workers.
-- needs: memory/cgroup_limit memory/cgroup_used_peak memory/refault_rate
-- source: Linux Documentation/admin-guide/cgroup-v2.rst (memory.max)
SELECT u.number AS "used [bytes] @cgroup", l.number AS "limit [bytes] @cgroup", r.number AS "read again [bytes/s] @/proc/vmstat",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fact l JOIN fact u ON u.kind = 'memory' AND u.name = 'cgroup_used_peak'
JOIN fact r ON r.kind = 'memory' AND r.name = 'refault_rate'
WHERE l.kind = 'memory' AND l.name = 'cgroup_limit' AND u.number >= 0.95 * l.number AND r.number >= 10485760;
