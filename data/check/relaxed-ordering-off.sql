-- SPDX-License-Identifier: MIT
-- id: relaxed-ordering-off
-- for: check
-- severity: warning
-- title: Relaxed ordering is off in this virtual machine: {_where}
-- why: Without it the writes of a NIC to memory wait for each other; in virtual machines that costs up
--   to half of the bandwidth.
-- fix: NCCL_IB_PCI_RELAXED_ORDERING=1 (the default, 2, uses it where the driver says that it can).
-- needs: kernel/hypervisor env/value|nccl_conf/files|nccl/host/relaxed_ordering
-- source: NCCL user guide, Environment variables: NCCL_IB_PCI_RELAXED_ORDERING; Azure/azhpc-images
SELECT s.value AS "value @setting", n.host AS "host @log", n.devices AS "devices @log",
       CASE WHEN s.value IS NOT NULL THEN 'NCCL_IB_PCI_RELAXED_ORDERING=' || s.value || ' in ' || s.origin
            ELSE 'the NCCL log of ' || n.host || ' does not say [RO]' END AS "_where"
FROM fact h LEFT JOIN setting s ON s.variable = 'NCCL_IB_PCI_RELAXED_ORDERING' AND s.value = '0'
LEFT JOIN nccl_host n ON n.relaxed_ordering = 0 AND n.ib_devices >= 1
WHERE h.kind = 'kernel' AND h.name = 'hypervisor' AND h.number = 1 AND (s.value IS NOT NULL OR n.host IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM nccl_host WHERE relaxed_ordering = 1);
