-- SPDX-License-Identifier: MIT
-- id: disk-sync
-- for: check
-- severity: warning
-- title: {point} is mounted with {option}: each write waits for the disk
-- why: Checkpoints and caches are written piece by piece.
-- fix: mount -o remount,async {point}, and take the option out of /etc/fstab.
-- needs: mount/flags mount/fstype
-- source: mount(8) (sync, dirsync)
SELECT f.subject AS "point", CASE WHEN ',' || f.text || ',' LIKE '%,sync,%' OR ',' || o.text || ',' LIKE '%,sync,%' THEN 'sync' ELSE 'dirsync' END AS "option @/proc/PID/mountinfo",
       t.text AS "file system"
FROM fact f JOIN fact t ON t.kind = 'mount' AND t.subject = f.subject AND t.name = 'fstype'
JOIN fact o ON o.kind = 'mount' AND o.subject = f.subject AND o.name = 'options'
WHERE f.kind = 'mount' AND f.name = 'flags' AND t.text IN ('ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs')
AND (',' || f.text || ',' || o.text || ',' LIKE '%,sync,%' OR ',' || f.text || ',' || o.text || ',' LIKE '%,dirsync,%');
