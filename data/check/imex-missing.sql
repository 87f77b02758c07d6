-- SPDX-License-Identifier: MIT
-- id: imex-missing
-- for: check
-- severity: warning
-- title: NVLink reaches other machines here, and IMEX is not set up: {_what}
-- why: Across machines of one NVLink domain (GB200, GB300) CUDA shares memory through the IMEX service
--   and its channels; without them NCCL uses the network, or fails with error 800.
-- fix: systemctl enable --now nvidia-imex with all hosts of the domain in
--   /etc/nvidia-imex/nodes_config.cfg; containers need /dev/nvidia-caps-imex-channels/channel0.
-- needs: gpu/fabric_cluster|nccl/warning/count service/running|gpu/imex_channels|nccl/warning/count
-- source: NVIDIA IMEX Service user guide; NCCL user guide, Environment variables: NCCL_MNNVL_ENABLE
SELECT CASE WHEN w.text IS NOT NULL THEN 'NCCL was refused' WHEN s.number = 0 THEN 'the service does not run' ELSE 'no channel in /dev/nvidia-caps-imex-channels' END AS "_what",
       s.number AS "nvidia-imex runs [1] @/proc", c.number AS "channels [count] @/dev", w.text AS "NCCL says @log", CASE WHEN w.text IS NOT NULL THEN 'critical' END AS "severity"
FROM (SELECT 1) LEFT JOIN fact s ON s.kind = 'service' AND s.subject = 'nvidia-imex' AND s.name = 'running'
LEFT JOIN fact c ON c.kind = 'gpu' AND c.subject = '' AND c.name = 'imex_channels'
LEFT JOIN fact w ON w.kind = 'nccl/warning' AND w.subject = 'imex' AND w.name = 'text'
WHERE w.text IS NOT NULL OR EXISTS (SELECT 1 FROM gpu WHERE fabric_cluster = 1 AND (name LIKE '%GB200%' OR name LIKE '%GB300%'))
  AND (s.number = 0 OR c.number = 0);
