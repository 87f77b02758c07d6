-- SPDX-License-Identifier: MIT
-- id: swap-used
-- for: check
-- severity: info
-- title: {used} of {total} of swap is in use
-- why: Programs were swapped out at some time; when they run again their pages come back one by
--   one.
-- fix: See what was pushed out (grep VmSwap /proc/*/status); swapoff -a && swapon -a brings it
--   back where there is memory for it ({available} is available).
-- needs: memory/swap_total memory/swap_free
-- source: proc_meminfo(5)
SELECT t.number - f.number AS "used [bytes] @/proc/meminfo", t.number AS "total [bytes] @/proc/meminfo",
       (SELECT number FROM fact WHERE kind = 'memory' AND name = 'available') AS "available [bytes] @/proc/meminfo"
FROM fact t JOIN fact f ON f.kind = 'memory' AND f.name = 'swap_free'
WHERE t.kind = 'memory' AND t.name = 'swap_total' AND t.number - f.number >= 1073741824 AND t.number - f.number >= 0.1 * t.number;
