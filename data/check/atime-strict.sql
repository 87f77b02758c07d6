-- SPDX-License-Identifier: MIT
-- id: atime-strict
-- for: check
-- severity: warning
-- title: {resource} writes the time of each read ({flags})
-- why: Each file that is read is written too: a data set of many small files becomes as many small writes.
-- fix: mount -o remount,noatime {point}, and noatime in /etc/fstab.
-- needs: data/named mount/flags
-- apply: atime {point} noatime
-- source: mount(8) (noatime, strictatime)
SELECT m.resource AS "resource", d.point AS "point", m.flags AS "flags @/proc/PID/mountinfo", d.example AS "example @job"
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
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.fstype IN ('ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs') AND ',' || m.flags || ',' LIKE '%,rw,%'
AND m.flags NOT LIKE '%noatime%' AND m.flags NOT LIKE '%relatime%' AND ',' || m.options || ',' NOT LIKE '%,lazytime,%';
