-- SPDX-License-Identifier: MIT
-- id: data-on-tmpfs
-- for: check
-- severity: warning
-- title: The data lies in memory (tmpfs at {point}), and only {available} of memory are left
-- why: What a tmpfs holds cannot be page cache nor memory of the loader workers, and it is written to swap
--   when memory runs short.
-- fix: Put the data on a local disk: read once, it stays in the page cache where there is room.
-- needs: data/named mount/fstype memory/available
-- source: Linux Documentation/filesystems/tmpfs.rst
SELECT d.point AS "point", d.example AS "example @job", m.size - m.free AS "held [bytes] @statfs",
       a.number AS "available [bytes] @/proc/meminfo"
FROM (SELECT subject AS point, max(number) FILTER (WHERE name = 'named') AS named,
             max(number) FILTER (WHERE name = 'open_files') AS files,
             max(number) FILTER (WHERE name = 'mapped') AS mapped,
             max(text) FILTER (WHERE name = 'example') AS example
      FROM fact WHERE kind = 'data' GROUP BY subject) d
JOIN (SELECT subject AS point, max(text) FILTER (WHERE name = 'fstype') AS fstype,
             max(text) FILTER (WHERE name = 'resource') AS resource,
             max(text) FILTER (WHERE name = 'options') AS options,
             max(text) FILTER (WHERE name = 'flags') AS flags,
             max(text) FILTER (WHERE name = 'device') AS device,
             max(number) FILTER (WHERE name = 'remote') AS remote,
             max(number) FILTER (WHERE name = 'rsize') AS rsize,
             max(number) FILTER (WHERE name = 'size') AS size,
             max(number) FILTER (WHERE name = 'free') AS free,
             max(number) FILTER (WHERE name = 'read_ahead') AS read_ahead
      FROM fact WHERE kind = 'mount' GROUP BY subject) m ON m.point = d.point
JOIN fact a ON a.kind = 'memory' AND a.name = 'available' JOIN fact t ON t.kind = 'memory' AND t.name = 'total'
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.fstype = 'tmpfs' AND d.point <> '/dev/shm' AND a.number < 0.25 * t.number;
