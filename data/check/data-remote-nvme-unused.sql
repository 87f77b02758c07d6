-- SPDX-License-Identifier: MIT
-- id: data-remote-nvme-unused
-- for: check
-- severity: warning
-- title: The data lies on {resource} while {disks} local NVMe disks ({size}) are not in use
-- why: Every epoch reads over the network what these disks could hold: local NVMe answers in 0.1 ms and
--   gives several GB/s each.
-- fix: Make a file system of the disks (mdadm --create /dev/md0 --level=0 --raid-devices=N /dev/nvmeXn1
--   ...; mkfs.xfs; mount) and copy the data there; its content is lost when a cloud machine is deallocated.
-- needs: data/named mount/remote disk/in_use disk/nvme
-- source: Azure azhpc setup_nvme.sh; learn.microsoft.com/azure/virtual-machines/nvme-overview
SELECT m.resource AS "resource", d.point AS "mount point", d.example AS "example @job",
       n.disks AS "disks [count] @/sys/block", n.size AS "size [bytes] @/sys/block"
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
JOIN (SELECT count(*) AS disks, sum(size) AS size FROM (SELECT subject AS disk, max(number) FILTER (WHERE name = 'size') AS size
      FROM fact WHERE kind = 'disk' GROUP BY subject
      HAVING max(number) FILTER (WHERE name = 'nvme') = 1 AND max(number) FILTER (WHERE name = 'local') = 1
      AND max(number) FILTER (WHERE name = 'in_use') = 0)) n
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.remote = 1 AND n.disks > 0;
