-- SPDX-License-Identifier: MIT
-- id: nvme-scheduler
-- for: check
-- severity: info
-- title: The NVMe disk {disk} uses the I/O scheduler {_name}
-- why: BFQ and Kyber cost CPU time for each request, and NVMe disks sort requests themselves.
-- fix: echo none > /sys/block/{disk}/queue/scheduler; for good by a udev rule that sets
--   queue/scheduler to none.
-- needs: disk/scheduler disk/nvme
-- apply: sysfs /sys/block/{disk}/queue/scheduler none
-- source: Linux Documentation/block/bfq-iosched.rst (throughput on fast devices)
SELECT s.subject AS "disk", s.text AS "scheduler @/sys/block", CASE WHEN s.text LIKE '%[bfq]%' THEN 'bfq' ELSE 'kyber' END AS "_name"
FROM fact s JOIN fact n ON n.kind = 'disk' AND n.subject = s.subject AND n.name = 'nvme' AND n.number = 1
WHERE s.kind = 'disk' AND s.name = 'scheduler' AND (s.text LIKE '%[bfq]%' OR s.text LIKE '%[kyber]%');
