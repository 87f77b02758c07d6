-- SPDX-License-Identifier: MIT
-- id: nfs-one-connection
-- for: check
-- severity: info
-- title: {resource} is read over one TCP connection on a network of {_speed} Gb/s
-- why: One connection carries one stream, and cloud networks give a stream 10 to 30 Gb/s and one core's
--   worth of work.
-- fix: Mount it with nconnect=8 (Linux 5.3 and later; umount first).
-- needs: data/named mount/options nic/speed
-- source: nfs(5) (nconnect); learn.microsoft.com/azure/azure-netapp-files/performance-linux-mount-options
SELECT p.resource AS "resource", p.point AS "mount point", s.speed AS "network [bit/s] @/sys/class/net", CAST(s.speed / 1e9 AS INTEGER) AS "_speed"
FROM data_place p
JOIN (SELECT max(number) AS speed FROM fact WHERE kind = 'nic' AND name = 'speed') s
WHERE p.fstype IN ('nfs', 'nfs4') AND p.options LIKE '%vers=%' AND p.options NOT LIKE '%nconnect=%' AND s.speed >= 2e10;
