-- SPDX-License-Identifier: MIT
-- id: nfs-no-cache
-- for: check
-- severity: warning
-- title: {resource} is mounted with {option}: every file lookup asks the server
-- why: Attributes or names are not cached, so opening a file costs several round trips, again in
--   every epoch.
-- fix: Mount the data without {option}; data that does not change may have actimeo=600,nocto.
-- needs: data/named mount/options
-- source: nfs(5) (noac, actimeo, lookupcache)
SELECT p.resource AS "resource", p.point AS "mount point", p.options AS "options @/proc/PID/mountinfo",
       CASE WHEN ',' || p.options || ',' LIKE '%,noac,%' THEN 'noac' WHEN ',' || p.options || ',' LIKE '%,lookupcache=none,%' THEN 'lookupcache=none'
            ELSE 'actimeo=0' END AS "option @/proc/PID/mountinfo"
FROM data_place p
WHERE p.fstype IN ('nfs', 'nfs4') AND (',' || p.options || ',' LIKE '%,noac,%' OR ',' || p.options || ',' LIKE '%,lookupcache=none,%'
  OR ',' || p.options || ',' LIKE '%,acregmax=0,%' OR ',' || p.options || ',' LIKE '%,actimeo=0,%');
