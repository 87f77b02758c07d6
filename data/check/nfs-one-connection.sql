-- SPDX-License-Identifier: MIT
-- id: nfs-one-connection
-- for: check
-- severity: info
-- title: {resource} is read over one TCP connection on a network of {_speed} Gb/s
-- why: One connection carries one stream, and cloud networks give a stream 10 to 30 Gb/s and one core's
--   worth of work.
-- fix: Mount it with nconnect=8 (Linux 5.3 and later; umount first).
-- needs: data/named mount/options nic/speed
-- source: nfs(5) (nconnect); learn.microsoft.com/azure/azure-netapp-files/performance-linux-mount-options
SELECT m.resource AS "resource", d.point AS "mount point", s.speed AS "network [bit/s] @/sys/class/net", CAST(s.speed / 1e9 AS INTEGER) AS "_speed"
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
JOIN (SELECT max(number) AS speed FROM fact WHERE kind = 'nic' AND name = 'speed') s
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.fstype IN ('nfs', 'nfs4') AND m.options LIKE '%vers=%' AND m.options NOT LIKE '%nconnect=%' AND s.speed >= 2e10;
