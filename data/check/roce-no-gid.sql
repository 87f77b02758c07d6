-- SPDX-License-Identifier: MIT
-- id: roce-no-gid
-- for: check
-- severity: warning
-- title: {port} has no RoCE v2 address for IPv4
-- why: RoCE v2 is routed by the IP address of the port's interface {interface}; without one NCCL finds
--   no usable GID, or falls back to RoCE v1, which no router forwards.
-- fix: Give {interface} an IPv4 address (ip addr add, netplan); in a container attach the network of
--   that interface.
-- needs: ib_port/gids_v2_ipv4
-- source: NCCL user guide, NCCL_IB_GID_INDEX; Linux Documentation/ABI/stable/sysfs-class-infiniband:
--   gid_attrs
SELECT p.subject AS "port @/sys/class/infiniband", coalesce(p.netdev, 'of the port') AS "interface", p.gids AS "addresses [count]", p.gid_types AS "types",
       CASE WHEN coalesce((SELECT number FROM fact WHERE kind = 'kernel' AND name = 'hypervisor'), 1) = 1 THEN 'info' END AS "severity"
FROM ib_port p JOIN rdma r WHERE p.link_layer = 'Ethernet' AND p.active = 1 AND p.gids_v2_ipv4 = 0 AND p.gid_types NOT LIKE '%=v2 %=v2%'
  AND NOT EXISTS (SELECT 1 FROM ib_port q WHERE q.active = 1 AND (q.link_layer = 'InfiniBand' OR q.gids_v2_ipv4 > 0));
