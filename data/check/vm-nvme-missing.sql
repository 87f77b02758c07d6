-- SPDX-License-Identifier: MIT
-- id: vm-nvme-missing
-- for: check
-- severity: warning
-- title: A {size} has {expected} local NVMe disks, but {found} are here
-- why: A disk that the machine should have is missing, broken or hidden from this system.
-- fix: nvme list and lspci | grep -i nvme; if the disk is missing there too, move to another host:
--   deallocate and start the machine.
-- needs: vm/nvme_expected disk/nvme
-- source: {_source}
SELECT v.text AS "size", e.number AS "expected [count] @size of the machine", count(l.subject) AS "found [count] @/sys/block", e.source AS "_source"
FROM fact v JOIN fact e ON e.kind = 'vm' AND e.name = 'nvme_expected'
LEFT JOIN fact l ON l.kind = 'disk' AND l.name = 'local' AND l.number = 1
WHERE v.kind = 'vm' AND v.name = 'size' GROUP BY v.text HAVING count(l.subject) < e.number;
