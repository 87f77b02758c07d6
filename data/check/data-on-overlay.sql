-- SPDX-License-Identifier: MIT
-- id: data-on-overlay
-- for: check
-- severity: info
-- title: The data lies in the container's own layers (overlay at {point})
-- why: The layers lie on the disk of the container engine, often a small network disk, and a file that is
--   changed is copied as a whole first.
-- fix: Mount a folder of a local NVMe disk into the container (docker -v /mnt/nvme/data:/data) and read the
--   data there.
-- needs: data/named mount/fstype
-- source: docs.docker.com/engine/storage/drivers/overlayfs-driver
SELECT d.point AS "point", d.example AS "example @job", m.resource AS "file system"
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
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.fstype = 'overlay';
