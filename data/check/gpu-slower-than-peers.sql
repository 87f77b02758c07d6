-- SPDX-License-Identifier: MIT
-- id: gpu-slower-than-peers
-- for: check
-- severity: warning
-- title: GPU {index} runs at {clock}, the others at {others}
-- why: All of them are busy, and this one is slower: in a collective the others wait for it.
-- fix: Compare nvidia-smi -q -d CLOCK,PERFORMANCE -i {index} with another one: application clocks
--   (nvidia-smi -rac), a power limit (nvidia-smi -pl), heat.
-- needs: gpu/sm_clock_mean gpu/utilisation_nvml
-- source: NVIDIA NVML API: nvmlDeviceGetClockInfo
SELECT coalesce(g.number, 0) AS "index [count]", g.uuid AS "GPU @nvml", g.sm_clock_mean AS "clock [Hz]", o.clock AS "others [Hz]", g.power_limit_w AS "power limit [W]", g.temperature_max AS "temperature [C]",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM gpu g JOIN (SELECT a.uuid AS uuid, avg(b.sm_clock_mean) AS clock, min(b.sm_clock_mean) AS least, count(*) AS n FROM gpu a JOIN gpu b ON b.uuid <> a.uuid AND b.name IS a.name AND b.utilisation_nvml >= 0.5 GROUP BY a.uuid) o ON o.uuid = g.uuid
WHERE g.utilisation_nvml >= 0.5 AND o.n >= 1 AND g.sm_clock_mean < 0.85 * o.least;
