-- SPDX-License-Identifier: MIT
-- id: nic-far-from-gpu
-- for: check
-- severity: warning
-- title: GPU {gpu} (node {node}) has no RDMA device on its NUMA node: the nearest is {nic}
-- why: Its traffic crosses the link between the CPU sockets, which it shares with everything else;
--   GPUDirect RDMA is off at that distance by default.
-- fix: Move a NIC to a slot of that node. If all is as it must be, NCCL_NET_GDR_LEVEL=SYS may still be
--   faster than staging.
-- needs: pci/nics_local pci/nic_path
-- source: NCCL user guide, Environment variables: NCCL_NET_GDR_LEVEL
SELECT address AS "gpu @/sys/bus/pci", numa AS "node [count]", nic AS "nic", nic_path AS "path",
       CASE WHEN (SELECT count(*) FROM pci WHERE rdma IS NOT NULL) < 2 THEN 'info' END AS "severity"
FROM pci WHERE class = 'gpu' AND nics_local = 0 AND nic_path = 'SYS';
