-- SPDX-License-Identifier: MIT
-- id: nfs-read-ahead-small
-- for: check
-- severity: warning
-- title: {resource} is read ahead by only {read_ahead}, less than one request of {rsize}
-- why: Since Linux 5.4 an NFS mount reads ahead 128 KiB, so a sequential reader waits for nearly each
--   request; 15 MiB keeps the server busy.
-- fix: echo 15380 > /sys/class/bdi/{device}/read_ahead_kb; for good in the section nfsrahead of
--   /etc/nfs.conf (nfs-utils 2.6 and later) or by a udev rule for bdi devices.
-- needs: data/named mount/read_ahead mount/rsize
-- apply: sysfs /sys/class/bdi/{device}/read_ahead_kb 15380
-- source: learn.microsoft.com/azure/azure-netapp-files/performance-linux-nfs-read-ahead; Linux commit
--   c128e575514c (NFS readahead)
SELECT m.resource AS "resource", m.read_ahead AS "read ahead [bytes] @/sys/class/bdi",
       m.rsize AS "rsize [bytes] @/proc/PID/mountinfo", d.point AS "mount point", m.device AS "device @/proc/PID/mountinfo"
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
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.fstype IN ('nfs', 'nfs4') AND m.read_ahead <= 131072 AND m.rsize > m.read_ahead;
