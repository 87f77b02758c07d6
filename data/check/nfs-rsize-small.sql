-- SPDX-License-Identifier: MIT
-- id: nfs-rsize-small
-- for: check
-- severity: warning
-- title: {resource} reads at most {rsize} a request
-- why: Each request costs a round trip; the kernel and most servers do 1 MiB.
-- fix: Mount it anew with rsize=1048576,wsize=1048576 (Azure NetApp Files: 262144), or take rsize out of
--   /etc/fstab so that client and server agree on the most.
-- needs: data/named mount/rsize
-- source: nfs(5) (rsize)
SELECT m.resource AS "resource", m.rsize AS "rsize [bytes] @/proc/PID/mountinfo", d.point AS "mount point"
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
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.fstype IN ('nfs', 'nfs4') AND m.rsize < 131072;
