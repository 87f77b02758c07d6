-- SPDX-License-Identifier: MIT
-- id: nvme-not-mounted
-- for: check
-- severity: info
-- title: {disks} local NVMe disks ({size}) are not in use
-- why: They are the fastest place for data, caches and checkpoints of this machine.
-- fix: Where they are empty (lsblk -f, wipefs -n), make a file system of them (mdadm --create /dev/md0 --level=0 --raid-devices=N /dev/nvmeXn1 ...;
--   mkfs.xfs; mount), or let gpufeed do it for disks that are empty: gpufeed check --fix --apply --scratch
--   /dev/nvmeXn1:/mnt/nvme.
-- needs: disk/in_use disk/nvme gpu/name
-- source: Azure azhpc-images (setup_nvme.sh); learn.microsoft.com/azure/virtual-machines/nvme-overview
SELECT count(*) AS "disks [count] @/sys/block", sum(size) AS "size [bytes] @/sys/block", group_concat(disk, ' ') AS "names @/sys/block"
FROM nvme_idle
WHERE EXISTS (SELECT 1 FROM fact g WHERE g.kind = 'gpu' AND g.name = 'name')
AND NOT EXISTS (SELECT 1 FROM fact k WHERE k.kind = 'data' AND k.name = 'named')
GROUP BY 1 = 1 HAVING count(*) > 0;
