-- SPDX-License-Identifier: MIT
-- id: cpu-governor
-- for: check
-- severity: warning
-- title: The CPU governor is {governor}: the cores stay at low clocks
-- why: Decoding, augmentation and kernel launches run on cores that speed up slowly, or never.
-- fix: cpupower frequency-set -g performance (or: echo performance | tee
--   /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor).
-- needs: cpu/governor cpu/scaling_driver
-- apply: governor all performance
-- source: Linux Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst (there powersave is
--   the usual one, and no fault)
SELECT g.text AS "governor", d.text AS "driver @/sys/devices/system/cpu", p.text AS "preference @/sys/devices/system/cpu"
FROM fact g JOIN fact d ON d.kind = 'cpu' AND d.name = 'scaling_driver'
LEFT JOIN fact p ON p.kind = 'cpu' AND p.name = 'energy_preference'
WHERE g.kind = 'cpu' AND g.name = 'governor' AND (g.text IN ('powersave', 'conservative')
  AND d.text NOT IN ('intel_pstate', 'amd-pstate-epp', 'amd-pstate')
  OR p.text = 'power');
