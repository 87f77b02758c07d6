-- SPDX-License-Identifier: MIT
-- id: iommu-translates
-- for: check
-- severity: warning
-- title: The IOMMU translates the addresses of {n} GPUs and NICs
-- why: Every transfer between devices goes through the CPU's IOMMU instead of straight across: P2P
--   and GPUDirect RDMA are slow, or fail.
-- fix: Boot with iommu=pt (in GRUB_CMDLINE_LINUX, then update-grub), or turn the IOMMU off in the
--   BIOS where no virtual machines run.
-- needs: pci/iommu kernel/hypervisor
-- source: NCCL user guide, Troubleshooting: PCI access control services, IOMMU; Linux
--   Documentation/admin-guide/kernel-parameters.txt
SELECT count(*) AS "n [count] @/sys/kernel/iommu_groups", max(iommu) AS "type", group_concat(address, ' ') AS "devices",
       (SELECT number FROM fact WHERE kind = 'iommu' AND name = 'passthrough') AS "passthrough asked for [1] @/proc/cmdline"
FROM pci WHERE class IN ('gpu', 'infiniband') AND iommu LIKE 'DMA%'
  AND (SELECT number FROM fact WHERE kind = 'kernel' AND name = 'hypervisor') = 0
  AND (SELECT sum(class = 'infiniband') >= 1 OR sum(class = 'gpu') >= 2 FROM pci) GROUP BY iommu;
