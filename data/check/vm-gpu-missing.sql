-- SPDX-License-Identifier: MIT
-- id: vm-gpu-missing
-- for: check
-- severity: critical
-- title: A {size} has {expected} GPUs, but the driver shows {found}
-- why: A GPU that has fallen off the bus takes every job down that counts on all of them.
-- fix: dmesg | grep -i xid and nvidia-smi; reset or restart the machine, and if it stays away move
--   to another host.
-- needs: vm/gpus_expected gpu/name
-- source: {_source}
SELECT v.text AS "size", e.number AS "expected [count] @size of the machine", count(DISTINCT g.subject) AS "found [count] @nvml", e.source AS "_source"
FROM fact v JOIN fact e ON e.kind = 'vm' AND e.name = 'gpus_expected'
JOIN fact g ON g.kind = 'gpu' AND g.name = 'name' AND g.subject <> ''
WHERE v.kind = 'vm' AND v.name = 'size'
AND NOT EXISTS (SELECT 1 FROM fact m WHERE m.kind = 'gpu' AND m.name = 'mig' AND m.number = 1)
GROUP BY v.text HAVING count(DISTINCT g.subject) < e.number;
