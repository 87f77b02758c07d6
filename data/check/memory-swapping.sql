-- SPDX-License-Identifier: MIT
-- id: memory-swapping
-- for: check
-- severity: warning
-- title: The machine is swapping: {swapped_in} in, {swapped_out} out
-- why: Pages of programs are read back from swap while they run; every such read stops a thread.
-- fix: Find what holds the memory (ps -eo rss,pid,comm --sort=-rss) and end or limit it; give a
--   job that needs more a larger machine. swapoff -a once enough memory is free.
-- needs: memory/swap_in_rate memory/swap_total
-- source: Linux Documentation/admin-guide/sysctl/vm.rst (swappiness); proc_vmstat(5)
SELECT i.number AS "swapped in [bytes/s] @/proc/vmstat",
       o.number AS "swapped out [bytes/s] @/proc/vmstat",
       (SELECT number FROM fact WHERE kind = 'memory' AND name = 'available')
           AS "memory available [bytes] @/proc/meminfo",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fact i JOIN fact o ON o.kind = 'memory' AND o.name = 'swap_out_rate'
WHERE i.kind = 'memory' AND i.name = 'swap_in_rate' AND i.number >= 1048576;
