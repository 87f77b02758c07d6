-- SPDX-License-Identifier: MIT
-- id: data-remote-nvme-unused
-- for: check
-- severity: warning
-- title: The data lies on {resource} while {disks} local NVMe disks ({size}) are not in use
-- why: Every epoch reads over the network what these disks could hold: local NVMe answers in 0.1 ms and
--   gives several GB/s each.
-- fix: Where they are empty (lsblk -f, wipefs -n), make a file system of the disks (mdadm --create /dev/md0 --level=0 --raid-devices=N /dev/nvmeXn1
--   ...; mkfs.xfs; mount) and copy the data there; its content is lost when a cloud machine is deallocated.
-- needs: data/named mount/remote disk/in_use disk/nvme
-- source: Azure azhpc setup_nvme.sh; learn.microsoft.com/azure/virtual-machines/nvme-overview
SELECT p.resource AS "resource", p.point AS "mount point", p.example AS "example @job",
       n.disks AS "disks [count] @/sys/block", n.size AS "size [bytes] @/sys/block"
FROM data_place p
JOIN (SELECT count(*) AS disks, sum(size) AS size FROM nvme_idle) n
WHERE p.remote = 1 AND n.disks > 0;
