-- SPDX-License-Identifier: MIT
-- id: cgroup-cpu-throttled
-- for: check
-- severity: warning
-- title: The job lost {held_back} of CPU time to its quota of {quota} cores
-- why: A group that has used its quota stops until the next period of 100 ms: loader workers, and
--   the threads that launch kernels too.
-- fix: Raise the CPU limit of the container or the job, or take it away where the node is not
--   shared.
-- needs: job/cgroup_quota_cores job/throttled_seconds
-- source: Linux Documentation/admin-guide/cgroup-v2.rst (cpu.stat: throttled_usec, summed over the
--   cores of the group); scheduler/sched-bwc.rst
SELECT t.number AS "held back [s] @cgroup", q.number AS "quota [count] @cgroup",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fact q JOIN fact t ON t.kind = 'job' AND t.name = 'throttled_seconds'
WHERE q.kind = 'job' AND q.name = 'cgroup_quota_cores' AND t.number >= 0.5
AND t.number >= coalesce(0.02 * q.number * (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds'), 0);
