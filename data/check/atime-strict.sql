-- SPDX-License-Identifier: MIT
-- id: atime-strict
-- for: check
-- severity: warning
-- title: {resource} updates the access time of every file that is read ({flags})
-- why: Every read of a file becomes a write too: a data set of many small files becomes as many
--   small writes.
-- fix: mount -o remount,noatime {point}, and noatime in /etc/fstab.
-- needs: data/named mount/flags
-- apply: atime {point} noatime
-- source: mount(8) (noatime, strictatime)
SELECT p.resource AS "resource", p.point AS "point", p.flags AS "flags @/proc/PID/mountinfo", p.example AS "example @job"
FROM data_place p
WHERE p.fstype IN ('ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs') AND ',' || p.flags || ',' LIKE '%,rw,%'
AND p.flags NOT LIKE '%noatime%' AND p.flags NOT LIKE '%relatime%' AND ',' || p.options || ',' NOT LIKE '%,lazytime,%';
