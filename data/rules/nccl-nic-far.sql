-- SPDX-License-Identifier: MIT
-- id: nccl-nic-far
-- for: check report
-- severity: warning
-- title: GPUs reach their NIC through the CPU on {host}
-- why: NCCL's path from GPU to NIC there is {path}: over the host bridge{_socket}, not below one
--   PCIe switch. GPUDirect RDMA is then slow or off.
-- fix: Check the topology that NCCL sees: in a virtual machine it needs NCCL_TOPO_FILE (see
--   /etc/nccl.conf of the provider's image, also inside the container); else put GPU and NIC below
--   the same switch
-- first: Fix the path between GPU and NIC
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-nic-far
SELECT p.subject AS "host",
       p.text AS "path @NCCL log",
       count(*) OVER () AS "hosts [count] @NCCL log",
       p.source AS "said in",
       CASE p.text WHEN 'SYS' THEN ' and between sockets' ELSE '' END AS "_socket"
FROM fact p JOIN fact n ON n.kind = 'nccl' AND n.subject = '' AND n.name = 'channels_net'
     AND n.number > 0
WHERE p.kind = 'nccl/host' AND p.name = 'path_net' AND p.text IN ('PHB', 'SYS')
  AND NOT EXISTS (SELECT 1 FROM fact k WHERE k.kind = 'nccl/host' AND k.subject = p.subject
                  AND k.name = 'network_kind' AND k.text = 'socket')
ORDER BY p.text = 'SYS' DESC, p.subject LIMIT 1;
