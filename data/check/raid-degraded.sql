-- SPDX-License-Identifier: MIT
-- id: raid-degraded
-- for: check
-- severity: warning
-- title: The RAID {disk} lacks {missing} of its disks
-- why: It reads slower, and one more failure may lose the data.
-- fix: mdadm --detail /dev/{disk}, then replace the disk: mdadm --manage /dev/{disk} --add /dev/NEW.
-- needs: disk/raid_missing
-- source: Linux Documentation/admin-guide/md.rst (degraded)
SELECT subject AS "disk", number AS "missing [count] @/sys/block" FROM fact WHERE kind = 'disk' AND name = 'raid_missing' AND number > 0;
