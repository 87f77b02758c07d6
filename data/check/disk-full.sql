-- SPDX-License-Identifier: MIT
-- id: disk-full
-- for: check
-- severity: warning
-- title: {point} has only {free} free of {size}
-- why: Checkpoints, caches and copies of data will fail there; file systems slow down before they
--   are full.
-- fix: Remove what is not needed: du -xh -d2 {point} | sort -h | tail.
-- needs: mount/free mount/size
-- source: df(1); ext4 keeps 5 % for root; 3 % of a large file system are room enough, so less than
--   100 GiB, too
SELECT f.subject AS "point", f.number AS "free [bytes] @statfs", s.number AS "size [bytes] @statfs", t.text AS "file system"
FROM fact f JOIN fact s ON s.kind = 'mount' AND s.subject = f.subject AND s.name = 'size'
JOIN fact t ON t.kind = 'mount' AND t.subject = f.subject AND t.name = 'fstype'
JOIN fact w ON w.kind = 'mount' AND w.subject = f.subject AND w.name = 'flags'
WHERE f.kind = 'mount' AND f.name = 'free' AND s.number >= 1073741824 AND f.number < 0.03 * s.number AND f.number < 107374182400
AND t.text NOT IN ('iso9660', 'erofs', 'tmpfs', 'overlay') AND ',' || w.text || ',' LIKE '%,rw,%'
AND f.subject NOT LIKE '/boot%' AND f.subject NOT LIKE '/snap/%';
