-- SPDX-License-Identifier: MIT
-- id: cpu-cores-offline
-- for: check
-- severity: warning
-- title: Only {online} of {present} cores are online
-- why: Cores that are offline do no work for the loaders.
-- fix: echo 1 | tee /sys/devices/system/cpu/cpu*/online; if they were turned off to switch off
--   hyper-threading, do that by /sys/devices/system/cpu/smt/control.
-- needs: cpu/cores_online cpu/cores_present
-- source: Linux Documentation/core-api/cpu_hotplug.rst
SELECT o.number AS "online [count] @/sys/devices/system/cpu", p.number AS "present [count] @/sys/devices/system/cpu"
FROM fact o JOIN fact p ON p.kind = 'cpu' AND p.name = 'cores_present'
WHERE o.kind = 'cpu' AND o.name = 'cores_online' AND o.number < p.number
AND NOT EXISTS (SELECT 1 FROM fact s WHERE s.kind = 'cpu' AND s.name = 'smt' AND s.text IN ('off', 'forceoff'));
