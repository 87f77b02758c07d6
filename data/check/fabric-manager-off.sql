-- SPDX-License-Identifier: MIT
-- id: fabric-manager-off
-- for: check
-- severity: critical
-- title: {nvswitches} NVSwitches, but nvidia-fabricmanager is not running
-- why: Without it the switches route nothing: CUDA fails with error 802, or GPUs talk over PCIe.
-- fix: systemctl enable --now nvidia-fabricmanager; it must have the driver's version, {driver}.
-- needs: service/running gpu/nvswitches|pci/class
-- source: NVIDIA Fabric Manager user guide; Azure/azurehpc-health-checks
SELECT s.n AS "nvswitches [count] @/sys/bus/pci", f.number AS "running [1] @/proc", coalesce(d.text, 'see nvidia-smi') AS "driver"
FROM fact f JOIN (SELECT max(n) AS n FROM (SELECT number AS n FROM fact WHERE kind = 'gpu' AND subject = '' AND name = 'nvswitches'
    UNION ALL SELECT count(*) FROM pci WHERE class = 'nvswitch')) s
LEFT JOIN fact d ON d.kind = 'gpu' AND d.subject = '' AND d.name = 'driver'
WHERE f.kind = 'service' AND f.subject = 'nvidia-fabricmanager' AND f.name = 'running' AND f.number = 0 AND s.n >= 1
  AND NOT EXISTS (SELECT 1 FROM gpu WHERE fabric = 'completed');
