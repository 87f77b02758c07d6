-- SPDX-License-Identifier: MIT
-- id: inodes-full
-- for: check
-- severity: warning
-- title: {point} has room for only {files} more files
-- why: A file system without inodes refuses new files while it has bytes to give; data sets of
--   small files need millions.
-- fix: Remove files, or make the file system anew with more inodes (mkfs.ext4 -T small; xfs has no
--   such limit).
-- needs: mount/files mount/files_free
-- source: mkfs.ext4(8) (-i, -T)
SELECT f.subject AS "point", f.number AS "files [count] @statfs", s.number AS "files in all [count] @statfs", t.text AS "file system"
FROM fact f JOIN fact s ON s.kind = 'mount' AND s.subject = f.subject AND s.name = 'files'
JOIN fact t ON t.kind = 'mount' AND t.subject = f.subject AND t.name = 'fstype'
WHERE f.kind = 'mount' AND f.name = 'files_free' AND s.number >= 100000 AND f.number < 0.02 * s.number AND f.number < 1000000 AND t.text IN ('ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs');
