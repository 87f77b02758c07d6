-- SPDX-License-Identifier: MIT
-- id: disk-read-ahead-small
-- for: check
-- severity: warning
-- title: The disk {disk}, where the data lies, is read ahead by only {read_ahead}
-- why: A sequential reader waits for the disk at each step; 128 KiB is what the kernel sets, and large
--   files read from RAIDs and network disks gain from 4 MiB.
-- fix: blockdev --setra 8192 /dev/{disk} (sectors of 512 bytes: 4 MiB).
-- needs: data/named mount/resource disk/read_ahead
-- apply: sysfs /sys/block/{disk}/queue/read_ahead_kb 4096
-- source: Linux Documentation/ABI/stable/sysfs-block (queue/read_ahead_kb); blockdev(8)
SELECT substr(m.resource, 6, instr(m.resource || ' (', ' (') - 6) AS "disk", r.number AS "read ahead [bytes] @/sys/block", d.point AS "mount point",
       d.example AS "example @job"
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
JOIN fact r ON r.kind = 'disk' AND r.name = 'read_ahead' AND r.subject = substr(m.resource, 6, instr(m.resource || ' (', ' (') - 6)
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.resource LIKE 'disk %' AND r.number < 131072;
