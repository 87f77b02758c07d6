-- SPDX-License-Identifier: MIT
-- id: vm-network-slow
-- for: check
-- severity: warning
-- title: A {size} has a network of {_expected} Gb/s, but the fastest interface here has {_found}
--   Gb/s
-- why: The interface runs slower than the machine's size allows; accelerated networking may be off.
-- fix: Turn on accelerated networking of the network interface (Azure: az network nic update
--   --accelerated-networking true), then look at ethtool eth0.
-- needs: vm/network_expected nic/speed nic/virtual
-- source: {_source}
SELECT v.text AS "size", e.number AS "expected [bit/s] @size of the machine", max(s.number) AS "found [bit/s] @/sys/class/net",
       CAST(e.number / 1e9 AS INTEGER) AS "_expected", CAST(max(s.number) / 1e9 AS INTEGER) AS "_found", e.source AS "_source"
FROM fact v JOIN fact e ON e.kind = 'vm' AND e.name = 'network_expected'
JOIN fact s ON s.kind = 'nic' AND s.name = 'speed'
JOIN fact p ON p.kind = 'nic' AND p.name = 'virtual' AND p.subject = s.subject AND p.number = 0
WHERE v.kind = 'vm' AND v.name = 'size' GROUP BY v.text HAVING max(s.number) < 0.5 * e.number;
