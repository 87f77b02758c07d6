-- SPDX-License-Identifier: MIT
-- id: disk-busy
-- for: check
-- severity: warning
-- title: The disk {disk} was busy {busy} of the time before the job reads from it
-- why: Something else uses the disk, and the job gets what is left.
-- fix: Find it: iotop -oPa, or pidstat -d 1.
-- needs: disk/busy_share
-- source: Linux Documentation/admin-guide/iostats.rst
SELECT b.subject AS "disk", b.number AS "busy [1] @/proc/diskstats", l.number AS "mean read [s] @/proc/diskstats", r.number AS "read [bytes/s] @/proc/diskstats",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fact b JOIN fact l ON l.kind = 'disk' AND l.subject = b.subject AND l.name = 'read_latency'
LEFT JOIN fact r ON r.kind = 'disk' AND r.subject = b.subject AND r.name = 'read_rate'
WHERE b.kind = 'disk' AND b.name = 'busy_share' AND b.number >= 0.9 AND l.number >= 0.005
AND NOT EXISTS (SELECT 1 FROM fact j WHERE j.kind = 'job' AND j.name = 'command');
