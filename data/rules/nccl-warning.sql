-- SPDX-License-Identifier: MIT
-- id: nccl-warning
-- for: check report
-- severity: warning
-- title: {_title}{_where}{_more}
-- why: {_why}. NCCL says: {text}
-- fix: {_fix}
-- first: Fix what NCCL warns of
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-warning
SELECT t.text AS "text @NCCL log",
       c.number AS "times [count] @NCCL log",
       c.source AS "said in",
       nullif(count(*) OVER () - 1, 0) AS "other kinds of warnings [count] @NCCL log",
       CASE WHEN count(*) OVER () > 1 THEN printf(', and %d other warnings', count(*) OVER () - 1) ELSE '' END
       AS "_more",
       coalesce(' on ' || h.text, '') AS "_where",
       w.column2 AS "severity",
       w.column3 AS "_title",
       w.column4 AS "_why",
       w.column5 AS "_fix"
FROM (VALUES
('memlock', 'critical', 'Memory cannot be registered for RDMA',
 'The limit on locked memory is too small, so pinning buffers fails',
 'ulimit -l unlimited; docker run --ulimit memlock=-1; Slurm: PropagateResourceLimitsExcept=MEMLOCK'),
('qp-timeout', 'critical', 'A peer cannot be reached over RDMA',
 'The queue pair got no answer: rails that are not connected, RoCE routing, or a wrong GID',
 'Check the route between the two addresses (rails, GID index, VLAN); NCCL_IB_HCA can leave a rail out'),
('qp-invalid', 'critical', 'A queue pair was refused', 'The GID index is wrong, or the links differ in type',
 'unset NCCL_IB_GID_INDEX (2.21 and later find it); compare show_gids on both hosts'),
('retry-exceeded', 'critical', 'A peer stopped answering over RDMA',
 'Retries were used up: link down, peer died, loss by congestion (PFC, ECN), or PCIe ACS',
 'Look at the peer named in the line first; then at port counters and link_downed (gpufeed check on both hosts)'),
('receiver-not-ready', 'warning', 'A receiver was not ready over RDMA', 'Its CPU or GPU posted too late',
 'Look at the load of the peer named in the line'),
('access', 'critical', 'RDMA access was refused', 'A memory registration does not hold',
 'Check IOMMU and ACS, and that all ranks run the same version of NCCL'),
('completion', 'critical', 'An RDMA operation failed', 'The line names status and device',
 'Look at the peer and device named in the line'),
('link-event', 'warning', 'An RDMA port changed its state', 'A link went down or came up while the job ran',
 'Check cable and switch port of the device named in the line'),
('link-speed', 'warning', 'An RDMA port changed its speed', 'The link fell back to a lower rate',
 'Check cable and switch port of the device named in the line'),
('link-mixed', 'critical', 'InfiniBand and RoCE devices are mixed', 'Two hosts chose devices that cannot talk',
 'Choose NICs of one link type on all hosts: NCCL_IB_HCA'),
('nic-count-differs', 'warning', 'Hosts see different numbers of NICs', 'One of them may have a dead NIC',
 'Compare the lists of "NET/IB : Using" of the hosts'),
('acs', 'warning', 'PCIe ACS or the IOMMU is in the way', 'They turn peer-to-peer traffic round over the CPU',
 'Disable ACS on the bridges above GPUs and NICs; iommu=pt on bare metal'),
('iommu', 'info', 'The kernel runs without iommu=pt', 'RCCL wants the IOMMU in pass-through mode',
 'Add iommu=pt to the kernel''s command line'),
('numa-balancing', 'info', 'NUMA balancing is on', 'The kernel moves pages while the job runs',
 'sysctl kernel.numa_balancing=0'),
('shm-small', 'critical', '/dev/shm is too small', 'NCCL could not enlarge its shared memory',
 'docker run --shm-size=8g, or --ipc=host; in Kubernetes an emptyDir of medium Memory at /dev/shm'),
('imex', 'critical', 'Multi-node NVLink is not permitted', 'CUDA error 800: the IMEX channel cannot be used',
 'Check the IMEX service and its channels, or set NCCL_MNNVL_ENABLE=0'),
('fabric-manager', 'critical', 'The NVLink fabric is not ready', 'CUDA error 802: system not yet initialised',
 'systemctl start nvidia-fabricmanager, of the same version as the driver'),
('peer-closed', 'critical', 'A rank closed its connection', 'The process at the other end died first',
 'Look at the log of the host named in the line'),
('connection', 'critical', 'A rank cannot be reached over TCP', 'A connection was refused or ran into its time-out',
 'Check that the address in the line is the right interface (NCCL_SOCKET_IFNAME) and no firewall is between'),
('no-interface', 'critical', 'No network interface fits', 'NCCL_SOCKET_IFNAME matches nothing',
 'unset NCCL_SOCKET_IFNAME, or name one of ip -br address'),
('open-denied', 'warning', 'An RDMA device cannot be opened', '/dev/infiniband is missing or denied by the cgroup',
 'docker run --device=/dev/infiniband; in Kubernetes ask for the RDMA device plugin''s resource'),
('plugin-missing', 'critical', 'The net plugin that was asked for does not exist', 'NCCL_NET names it',
 'unset NCCL_NET, or install the plugin'),
('same-gpu', 'critical', 'Two ranks use the same GPU', 'NCCL refuses that',
 'Set the device by the local rank (torch.cuda.set_device) before the first collective'),
('version-differs', 'critical', 'Ranks run different versions of NCCL', 'They cannot form a communicator',
 'Start all ranks from the same image'),
('cuda', 'critical', 'A CUDA call failed inside NCCL', 'Often an earlier failure of the same process',
 'Look for the first error of that process')
) w
JOIN fact c ON c.kind = 'nccl/warning' AND c.subject = w.column1 AND c.name = 'count' AND c.number > 0
LEFT JOIN fact t ON t.kind = c.kind AND t.subject = c.subject AND t.name = 'text'
LEFT JOIN fact h ON h.kind = c.kind AND h.subject = c.subject AND h.name = 'host'
ORDER BY w.column2 = 'critical' DESC, c.source LIMIT 1;
