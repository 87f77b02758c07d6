-- SPDX-License-Identifier: MIT
-- id: nfs-sync
-- for: check
-- severity: warning
-- title: {resource} is mounted with sync: each write waits for the server
-- why: A checkpoint is written request by request.
-- fix: Mount it without sync; close() and fsync() make data safe all the same.
-- needs: mount/flags mount/fstype
-- source: nfs(5) (the sync mount option)
SELECT r.text AS "resource", f.subject AS "mount point", f.text AS "flags @/proc/PID/mountinfo"
FROM fact f JOIN fact t ON t.kind = 'mount' AND t.subject = f.subject AND t.name = 'fstype' AND t.text IN ('nfs', 'nfs4')
JOIN fact r ON r.kind = 'mount' AND r.subject = f.subject AND r.name = 'resource'
LEFT JOIN fact o ON o.kind = 'mount' AND o.subject = f.subject AND o.name = 'options'
WHERE f.kind = 'mount' AND f.name = 'flags' AND (',' || f.text || ',' LIKE '%,sync,%' OR ',' || o.text || ',' LIKE '%,sync,%');
