-- SPDX-License-Identifier: MIT
-- id: vm-rdma-slow
-- for: check
-- severity: critical
-- title: A {size} has InfiniBand ports of {_expected} Gb/s, but {port} runs at {_found} Gb/s
-- why: Each step of a collective waits for the slowest port.
-- fix: Report the port to the provider, and leave this node out until it is repaired.
-- needs: vm/rdma_rate_expected ib_port/rate
-- source: {_source}
SELECT v.text AS "size", p.subject AS "port", e.number AS "expected [bit/s] @size of the machine", p.number AS "found [bit/s] @/sys/class/infiniband",
       CAST(e.number / 1e9 AS INTEGER) AS "_expected", CAST(p.number / 1e9 AS INTEGER) AS "_found", e.source AS "_source"
FROM fact v JOIN fact e ON e.kind = 'vm' AND e.name = 'rdma_rate_expected'
JOIN fact p ON p.kind = 'ib_port' AND p.name = 'rate'
JOIN fact l ON l.kind = 'ib_port' AND l.subject = p.subject AND l.name = 'link_layer' AND l.text = 'InfiniBand'
WHERE v.kind = 'vm' AND v.name = 'size' AND p.number < 0.99 * e.number;
