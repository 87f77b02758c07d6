-- SPDX-License-Identifier: MIT
-- id: memory-nearly-full
-- for: check
-- severity: warning
-- title: Only {available} of {total} of memory is available
-- why: The page cache, which keeps the data for the next epoch, has been squeezed out already;
--   soon the kernel kills programs to make room.
-- fix: Find what holds it (ps -eo rss,pid,comm --sort=-rss; du -sh /dev/shm), or use fewer loader
--   workers or a shorter prefetch.
-- needs: memory/total memory/available
-- source: proc_meminfo(5) (MemAvailable)
SELECT a.number AS "available [bytes] @/proc/meminfo", t.number AS "total [bytes] @/proc/meminfo",
       (SELECT number FROM fact WHERE kind = 'memory' AND name = 'page_cache') AS "page cache [bytes] @/proc/meminfo",
       (SELECT number FROM fact WHERE kind = 'memory' AND name = 'shared') AS "shared [bytes] @/proc/meminfo"
FROM fact t JOIN fact a ON a.kind = 'memory' AND a.name = 'lowest_available'
WHERE t.kind = 'memory' AND t.name = 'total' AND a.number < 0.05 * t.number
  AND a.number < 34359738368; -- of terabytes 5 % are room enough
