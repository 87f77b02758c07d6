-- SPDX-License-Identifier: MIT
-- id: rdma-interface-down
-- for: check
-- severity: warning
-- title: {interface}, the interface of {device}, is switched off while its port is active
-- why: Without it the port has no IP address: programs that find each other by RDMA CM cannot use it,
--   and RoCE has no address at all.
-- fix: ip link set {interface} up, and an address by netplan or NetworkManager so that it stays.
-- apply: link {interface} up
-- needs: nic/up nic/rdma ib_port/active
-- source: Linux Documentation/networking; Azure/azhpc-images
SELECT r.subject AS "interface @/sys/class/net", r.text AS "device @/sys/class/infiniband", u.number AS "up [1]", p.link_layer AS "link layer",
       CASE WHEN p.link_layer = 'InfiniBand' THEN 'info' END AS "severity"
FROM fact r JOIN fact u ON u.kind = 'nic' AND u.subject = r.subject AND u.name = 'up' AND u.number = 0
JOIN ib_port p ON p.device = r.text AND p.active = 1 WHERE r.kind = 'nic' AND r.name = 'rdma' GROUP BY r.subject;
