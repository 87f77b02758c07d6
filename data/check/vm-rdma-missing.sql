-- SPDX-License-Identifier: MIT
-- id: vm-rdma-missing
-- for: check
-- severity: critical
-- title: A {size} has {expected} InfiniBand ports, but {found} are here
-- why: Collectives over several nodes use as many ports as there are: with one missing they all
--   wait for the slowest, with none they go over TCP, 10 to 50 times slower.
-- fix: ibstat and lspci | grep -i mellanox; if a port is missing there too, move to another host:
--   deallocate and start the machine. In a container give it /dev/infiniband.
-- needs: vm/rdma_ports_expected rdma/ports
-- source: {_source}
SELECT v.text AS "size", e.number AS "expected [count] @size of the machine", r.number AS "found [count] @/sys/class/infiniband", e.source AS "_source"
FROM fact v JOIN fact e ON e.kind = 'vm' AND e.name = 'rdma_ports_expected'
JOIN fact r ON r.kind = 'rdma' AND r.name = 'ports'
WHERE v.kind = 'vm' AND v.name = 'size' AND r.number < e.number;
