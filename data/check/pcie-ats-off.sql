-- SPDX-License-Identifier: MIT
-- id: pcie-ats-off
-- for: check
-- severity: warning
-- title: Address translation (ATS) is off on {n} InfiniBand devices of this virtual machine
-- why: In a virtual machine each transfer between NIC and GPU must be translated; without ATS the
--   CPU's IOMMU does it for every packet.
-- fix: On the host: mlxconfig -d DEVICE set ATS_ENABLED=1 and a reset; in a cloud report the machine.
-- needs: pci/ats kernel/hypervisor gpu/devices
-- source: NCCL user guide, Troubleshooting: ATS; Azure/azhpc-images
SELECT count(*) AS "n [count] @config", group_concat(address, ' ') AS "devices" FROM pci
WHERE class = 'infiniband' AND ats = 0 AND (SELECT number FROM fact WHERE kind = 'kernel' AND name = 'hypervisor') = 1
  AND (SELECT number FROM fact WHERE kind = 'gpu' AND subject = '' AND name = 'devices') >= 1 GROUP BY class;
