-- SPDX-License-Identifier: MIT
-- id: nfs-no-cache
-- for: check
-- severity: warning
-- title: {resource} is mounted with {option}: every look at a file asks the server
-- why: Attributes or names are not kept, so that opening a file costs several round trips, each epoch anew.
-- fix: Mount the data without {option}; data that does not change may have actimeo=600,nocto.
-- needs: data/named mount/options
-- source: nfs(5) (noac, actimeo, lookupcache)
SELECT m.resource AS "resource", d.point AS "mount point", m.options AS "options @/proc/PID/mountinfo",
       CASE WHEN ',' || m.options || ',' LIKE '%,noac,%' THEN 'noac' WHEN ',' || m.options || ',' LIKE '%,lookupcache=none,%' THEN 'lookupcache=none'
            ELSE 'actimeo=0' END AS "option @/proc/PID/mountinfo"
FROM (SELECT subject AS point, max(number) FILTER (WHERE name = 'named') AS named,
             max(number) FILTER (WHERE name = 'open_files') AS files,
             max(number) FILTER (WHERE name = 'mapped') AS mapped,
             max(text) FILTER (WHERE name = 'example') AS example
      FROM fact WHERE kind = 'data' GROUP BY subject) d
JOIN (SELECT subject AS point, max(text) FILTER (WHERE name = 'fstype') AS fstype,
             max(text) FILTER (WHERE name = 'resource') AS resource,
             max(text) FILTER (WHERE name = 'options') AS options,
             max(text) FILTER (WHERE name = 'flags') AS flags,
             max(text) FILTER (WHERE name = 'device') AS device,
             max(number) FILTER (WHERE name = 'remote') AS remote,
             max(number) FILTER (WHERE name = 'rsize') AS rsize,
             max(number) FILTER (WHERE name = 'size') AS size,
             max(number) FILTER (WHERE name = 'free') AS free,
             max(number) FILTER (WHERE name = 'read_ahead') AS read_ahead
      FROM fact WHERE kind = 'mount' GROUP BY subject) m ON m.point = d.point
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.fstype IN ('nfs', 'nfs4') AND (',' || m.options || ',' LIKE '%,noac,%' OR ',' || m.options || ',' LIKE '%,lookupcache=none,%'
  OR ',' || m.options || ',' LIKE '%,acregmax=0,%' OR ',' || m.options || ',' LIKE '%,actimeo=0,%');
