-- SPDX-License-Identifier: MIT
-- id: gpu-p2p-off
-- for: check
-- severity: warning
-- title: GPU {index} can directly access only {reachable} of {others} other GPUs
-- why: Without P2P every transfer between two GPUs is copied through host memory.
-- fix: See nvidia-smi topo -p2p r. In a virtual machine P2P must be passed through; on bare metal
--   ACS and the IOMMU are the usual obstacles.
-- needs: gpu/p2p_ok
-- source: NVIDIA NVML API: nvmlDeviceGetP2PStatus
SELECT coalesce(number, 0) AS "index [count]", uuid AS "GPU @nvml", p2p_ok AS "reachable [count]", p2p_peers AS "others [count]", nvlinks_active AS "NVLinks up [count]"
FROM gpu WHERE p2p_ok < p2p_peers AND (nvlinks_active > 0 OR p2p_ok > 0 OR EXISTS (SELECT 1 FROM gpu g WHERE g.p2p_ok > 0));
