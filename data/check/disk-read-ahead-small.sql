-- SPDX-License-Identifier: MIT
-- id: disk-read-ahead-small
-- for: check
-- severity: warning
-- title: The read-ahead of disk {disk}, where the data lies, is only {read_ahead}
-- why: A sequential reader waits for the disk at each step; 128 KiB is what the kernel sets, and
--   large files read from RAIDs and network disks gain from 4 MiB.
-- fix: blockdev --setra 8192 /dev/{disk} (sectors of 512 bytes: 4 MiB); for good by a udev rule
--   that sets queue/read_ahead_kb to 4096.
-- needs: data/named mount/resource disk/read_ahead
-- apply: sysfs /sys/block/{disk}/queue/read_ahead_kb 4096
-- source: Linux Documentation/ABI/stable/sysfs-block (queue/read_ahead_kb); blockdev(8)
SELECT p.disk AS "disk", r.number AS "read ahead [bytes] @/sys/block", p.point AS "mount point",
       p.example AS "example @job"
FROM data_place p
JOIN fact r ON r.kind = 'disk' AND r.name = 'read_ahead' AND r.subject = p.disk
WHERE r.number < 131072;
