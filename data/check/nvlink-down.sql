-- SPDX-License-Identifier: MIT
-- id: nvlink-down
-- for: check
-- severity: warning
-- title: GPU {index}: {down} of {links} NVLinks are down
-- why: Traffic to the other GPUs of this machine goes over fewer links, and a collective is as slow as
--   its slowest GPU.
-- fix: Reset the GPU (nvidia-smi --gpu-reset -i {index}) when it is idle; if the links stay down, have
--   the board or bridge replaced. nvidia-smi nvlink -s lists them. Cards
--   that bridges join have as many as there are bridges.
-- needs: gpu/nvlinks_active
-- source: NVIDIA NVML API: nvmlDeviceGetNvLinkState; Azure/azurehpc-health-checks
SELECT coalesce(g.number, 0) AS "index [count]", g.uuid AS "GPU @nvml", g.nvlinks - g.nvlinks_active AS "down [count]", g.nvlinks AS "links [count]", t.most AS "up on others [count]",
       CASE WHEN g.name NOT LIKE '%SXM%' AND g.name NOT LIKE '%HGX%'
             AND NOT EXISTS (SELECT 1 FROM fact s WHERE s.kind = 'gpu' AND s.subject = '' AND s.name = 'nvswitches' AND s.number > 0)
             AND NOT EXISTS (SELECT 1 FROM pci WHERE class = 'nvswitch') THEN 'info' END AS "severity" -- cards with fewer bridges than they could have
FROM gpu g JOIN (SELECT max(nvlinks_active) AS most FROM gpu) t
WHERE g.nvlinks_active < g.nvlinks AND (g.nvlinks_active > 0 OR t.most > 0);
