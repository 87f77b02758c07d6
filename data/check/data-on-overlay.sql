-- SPDX-License-Identifier: MIT
-- id: data-on-overlay
-- for: check
-- severity: info
-- title: The data lies in the container's own layers (overlay at {point})
-- why: The layers lie on the disk of the container engine, often a small network disk, and a file
--   that is changed is copied as a whole first.
-- fix: Mount a folder of a local NVMe disk into the container (docker -v /mnt/nvme/data:/data) and
--   read the data there.
-- needs: data/named mount/fstype
-- source: docs.docker.com/engine/storage/drivers/overlayfs-driver
SELECT p.point AS "point", p.example AS "example @job", p.resource AS "file system"
FROM data_place p
WHERE p.fstype = 'overlay';
