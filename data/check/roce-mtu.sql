-- SPDX-License-Identifier: MIT
-- id: roce-mtu
-- for: check
-- severity: warning
-- title: {interface}, over which RDMA runs, has an MTU of {mtu}
-- why: RoCE packets hold at most 1024 bytes of data then, instead of 4096: more packets, more work per
--   byte, less bandwidth.
-- fix: ip link set {interface} mtu 9000, on all hosts and on the switch ports between them; 4200 is
--   enough.
-- needs: ib_port/mtu
-- source: NVIDIA/nccl and MLNX_OFED documentation: RoCE MTU; NCCL user guide, Troubleshooting
SELECT p.subject AS "port @/sys/class/infiniband", p.netdev AS "interface", p.mtu AS "mtu [bytes] @/sys/class/net",
       p.rcv_rate + p.xmit_rate AS "rate [bytes/s] @counters",
       CASE WHEN coalesce(p.rcv_rate + p.xmit_rate, 0) < 1e8 AND NOT EXISTS (SELECT 1 FROM nccl_host WHERE network_kind LIKE '%roce%')
            THEN 'info' END AS "severity"
FROM ib_port p WHERE p.link_layer = 'Ethernet' AND p.active = 1 AND p.mtu < 4200 AND p.gids_v2_ipv4 > 0
  AND NOT EXISTS (SELECT 1 FROM ib_port q WHERE q.link_layer = 'InfiniBand' AND q.active = 1);
