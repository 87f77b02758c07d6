-- SPDX-License-Identifier: MIT
-- id: nvlink-down
-- for: check
-- severity: warning
-- title: GPU {index}: {down} of {links} NVLinks are down
-- why: Traffic to the other GPUs of this machine goes over fewer links, and a collective is as slow as
--   its slowest GPU.
-- fix: Reset the GPU (nvidia-smi --gpu-reset -i {index}) when it is idle; if the links stay down, have
--   the board or bridge replaced. nvidia-smi nvlink -s lists them.
-- needs: gpu/nvlinks_active
-- source: NVIDIA NVML API: nvmlDeviceGetNvLinkState; Azure/azurehpc-health-checks
SELECT coalesce(g.number, 0) AS "index [count]", g.uuid AS "GPU @nvml", g.nvlinks - g.nvlinks_active AS "down [count]", g.nvlinks AS "links [count]", t.most AS "up on others [count]"
FROM gpu g JOIN (SELECT max(nvlinks_active) AS most FROM gpu) t
WHERE g.nvlinks_active < g.nvlinks AND (g.nvlinks_active > 0 OR t.most > 0);
