-- SPDX-License-Identifier: MIT
-- id: gpu-throttled
-- for: check
-- severity: warning
-- title: GPU {index} was slowed down for {share} of the time: {_what}
-- why: In a job of many GPUs all wait for the slowest; a published test lost most of its throughput to
--   one hot GPU of sixteen.
-- fix: Drain the machine and have cooling and power looked at: nvidia-smi -q -d
--   PERFORMANCE,TEMPERATURE -i {index}.
-- needs: gpu/throttled_thermal_share|gpu/throttled_hardware_thermal_share|gpu/throttled_power_brake_share
-- source: NVIDIA NVML API: clocks event reasons; Azure HPC blog
SELECT coalesce(number, 0) AS "index [count]", uuid AS "GPU @nvml", max(coalesce(throttled_thermal_share, 0), coalesce(throttled_hardware_thermal_share, 0), coalesce(throttled_power_brake_share, 0)) AS "share [1]",
       temperature_max AS "temperature [C]", sm_clock_mean AS "SM clock [Hz]", sm_clock_max AS "highest SM clock [Hz]",
       CASE WHEN coalesce(throttled_power_brake_share, 0) >= 0.05 THEN 'power brake' ELSE 'too hot' END AS "_what",
       (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') AS "watched [s]",
       CASE WHEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM gpu WHERE throttled_thermal_share >= 0.05 OR throttled_hardware_thermal_share >= 0.05 OR throttled_power_brake_share >= 0.05;
