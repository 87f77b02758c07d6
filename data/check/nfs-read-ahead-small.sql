-- SPDX-License-Identifier: MIT
-- id: nfs-read-ahead-small
-- for: check
-- severity: warning
-- title: The read-ahead of {resource} is only {read_ahead}, less than one request of {rsize}
-- why: Since Linux 5.4 an NFS mount reads ahead 128 KiB, so a sequential reader waits for nearly
--   each request; 15 MiB keeps the server busy.
-- fix: echo 15380 > /sys/class/bdi/{device}/read_ahead_kb; for good in the section nfsrahead of
--   /etc/nfs.conf (nfs-utils 2.6 and later) or by a udev rule for bdi devices.
-- needs: data/named mount/read_ahead mount/rsize
-- apply: sysfs /sys/class/bdi/{device}/read_ahead_kb 15380
-- source: learn.microsoft.com/azure/azure-netapp-files/performance-linux-nfs-read-ahead; Linux
--   commit c128e575514c (NFS readahead)
SELECT p.resource AS "resource", p.read_ahead AS "read ahead [bytes] @/sys/class/bdi",
       p.rsize AS "rsize [bytes] @/proc/PID/mountinfo", p.point AS "mount point", p.device AS "device @/proc/PID/mountinfo"
FROM data_place p
WHERE p.fstype IN ('nfs', 'nfs4') AND p.read_ahead <= 131072 AND p.rsize > p.read_ahead;
