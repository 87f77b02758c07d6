-- SPDX-License-Identifier: MIT
-- id: nfs-udp
-- for: check
-- severity: warning
-- title: {resource} is mounted over UDP
-- why: One lost packet loses a whole request of many fragments, which then waits for a time-out.
-- fix: Mount it with proto=tcp.
-- needs: mount/fstype mount/options
-- source: nfs(5) (using NFS over UDP on high-speed links)
SELECT r.text AS "resource", o.subject AS "mount point", o.text AS "options @/proc/PID/mountinfo"
FROM fact o JOIN fact t ON t.kind = 'mount' AND t.subject = o.subject AND t.name = 'fstype' AND t.text IN ('nfs', 'nfs4')
JOIN fact r ON r.kind = 'mount' AND r.subject = o.subject AND r.name = 'resource'
WHERE o.kind = 'mount' AND o.name = 'options' AND ',' || o.text || ',' LIKE '%,proto=udp%';
