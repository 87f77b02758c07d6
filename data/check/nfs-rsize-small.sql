-- SPDX-License-Identifier: MIT
-- id: nfs-rsize-small
-- for: check
-- severity: warning
-- title: {resource} reads at most {rsize} per request
-- why: Each request costs a round trip; the kernel and most servers do 1 MiB.
-- fix: Mount it anew with rsize=1048576,wsize=1048576 (Azure NetApp Files: 262144), or take rsize
--   out of /etc/fstab so that client and server agree on the most; where the server grants no more,
--   raise it there (ONTAP: vserver nfs modify -tcp-max-xfer-size).
-- needs: data/named mount/rsize
-- source: nfs(5) (rsize)
SELECT p.resource AS "resource", p.rsize AS "rsize [bytes] @/proc/PID/mountinfo", p.point AS "mount point"
FROM data_place p
WHERE p.fstype IN ('nfs', 'nfs4') AND p.rsize < 131072;
