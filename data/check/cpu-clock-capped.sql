-- SPDX-License-Identifier: MIT
-- id: cpu-clock-capped
-- for: check
-- severity: warning
-- title: The cores are capped at {_now} MHz and could run at {_could} MHz
-- why: The maximum clock has been lowered; all work on the CPU is that much slower.
-- fix: cpupower frequency-set -u {_could}MHz; look for what lowers it (tuned profile, power
--   capping in the firmware).
-- needs: cpu/clock_allowed cpu/clock_max
-- source: Linux Documentation/admin-guide/pm/cpufreq.rst (scaling_max_freq)
SELECT a.number AS "clock allowed [Hz] @/sys/devices/system/cpu", m.number AS "clock possible [Hz] @/sys/devices/system/cpu",
       CAST(a.number / 1e6 AS INTEGER) AS "_now", CAST(m.number / 1e6 AS INTEGER) AS "_could"
FROM fact a JOIN fact m ON m.kind = 'cpu' AND m.name = 'clock_max'
WHERE a.kind = 'cpu' AND a.name = 'clock_allowed' AND a.number < 0.8 * m.number;
