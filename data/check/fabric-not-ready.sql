-- SPDX-License-Identifier: MIT
-- id: fabric-not-ready
-- for: check
-- severity: critical
-- title: GPU {index} has not joined the NVLink fabric: {_state}
-- why: On machines with NVSwitch CUDA does not start (error 802) or has no NVLink until the fabric
--   manager has set up each GPU.
-- fix: systemctl restart nvidia-fabricmanager (its version must be the driver's), then nvidia-smi -q
--   -i {index} | grep -A3 Fabric.
-- needs: gpu/fabric
-- source: NVIDIA Fabric Manager user guide; NVML API: nvmlGpuFabricInfo
SELECT coalesce(number, 0) AS "index [count]", uuid AS "GPU @nvml", fabric AS "fabric", fabric_status AS "status [count]", fabric_fault AS "fault",
       CASE WHEN fabric_fault IS NOT NULL AND fabric = 'completed' AND coalesce(fabric_status, 0) = 0 THEN fabric_fault
            WHEN fabric = 'completed' THEN 'it ended with status ' || CAST(fabric_status AS INTEGER) ELSE fabric END AS "_state",
       CASE WHEN fabric = 'completed' AND coalesce(fabric_status, 0) = 0 OR fabric = 'in progress' THEN 'warning' END AS "severity"
FROM gpu WHERE fabric IN ('not started', 'in progress') AND (fabric_status IS NULL)
   OR fabric = 'completed' AND (fabric_status <> 0 OR fabric_fault IS NOT NULL);
