-- SPDX-License-Identifier: MIT
-- id: page-cache-thrashing
-- for: check
-- severity: warning
-- title: The page cache is too small: {rate} of evicted pages is read again
-- why: The same pages of files are read from disk over and over.
-- fix: Give the page cache more memory: fewer or smaller processes, no copies of the data set in
--   workers, a machine with more memory; or a data set in a smaller format.
-- needs: memory/refault_rate memory/available
-- source: Linux mm/workingset.c (refault distance)
SELECT r.number AS "rate [bytes/s] @/proc/vmstat", a.number AS "available [bytes] @/proc/meminfo",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fact r JOIN fact a ON a.kind = 'memory' AND a.name = 'available'
WHERE r.kind = 'memory' AND r.name = 'refault_rate' AND r.number >= 52428800
AND NOT EXISTS (SELECT 1 FROM fact u JOIN fact l ON l.kind = 'memory' AND l.name = 'cgroup_limit'
                WHERE u.kind = 'memory' AND u.name = 'cgroup_used_peak' AND u.number >= 0.95 * l.number);
