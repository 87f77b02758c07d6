-- SPDX-License-Identifier: MIT
-- id: azure-rdma-off
-- for: check
-- severity: warning
-- title: /etc/waagent.conf does not let Azure's agent set up RDMA
-- why: The agent then gives the InfiniBand interfaces no IP address, and programs that find each other
--   by it (RDMA CM, some MPIs) fail or use Ethernet.
-- fix: Set OS.EnableRDMA=y in /etc/waagent.conf and restart it: systemctl restart walinuxagent
--   (waagent on RHEL).
-- needs: waagent/enable_rdma rdma/ports_ib
-- source: Azure/azhpc-images; WALinuxAgent README: OS.EnableRDMA
SELECT w.number AS "OS.EnableRDMA [1] @/etc/waagent.conf", r.ports_ib AS "InfiniBand ports [count]",
       (SELECT group_concat(t.subject, ' ') FROM fact t JOIN fact i ON i.kind = 'nic' AND i.subject = t.subject AND i.name = 'ipv4' AND i.number = 0
        WHERE t.kind = 'nic' AND t.name = 'type' AND t.text = 'infiniband') AS "without an IPv4 address",
       CASE WHEN NOT EXISTS (SELECT 1 FROM fact t JOIN fact i ON i.kind = 'nic' AND i.subject = t.subject AND i.name = 'ipv4' AND i.number = 0
        WHERE t.kind = 'nic' AND t.name = 'type' AND t.text = 'infiniband') THEN 'info' END AS "severity"
FROM fact w JOIN rdma r WHERE w.kind = 'waagent' AND w.name = 'enable_rdma' AND w.number = 0 AND r.ports_ib >= 1;
