-- SPDX-License-Identifier: MIT
-- id: data-on-tmpfs
-- for: check
-- severity: warning
-- title: The data lies in memory (tmpfs at {point}), and only {available} of memory is left
-- why: What a tmpfs holds is lost to the page cache and to the loader workers, and is written to
--   swap when memory runs short.
-- fix: Put the data on a local disk: read once, it stays in the page cache where there is room.
-- needs: data/named mount/fstype memory/available
-- source: Linux Documentation/filesystems/tmpfs.rst
SELECT p.point AS "point", p.example AS "example @job", p.size - p.free AS "held [bytes] @statfs",
       a.number AS "available [bytes] @/proc/meminfo"
FROM data_place p
JOIN fact a ON a.kind = 'memory' AND a.name = 'available' JOIN fact t ON t.kind = 'memory' AND t.name = 'total'
WHERE p.fstype = 'tmpfs' AND p.point <> '/dev/shm' AND a.number < 0.25 * t.number;
