-- SPDX-License-Identifier: MIT
-- id: hugepages-idle
-- for: check
-- severity: warning
-- title: {free} of memory is reserved for huge pages that nobody uses
-- why: Neither programs nor the page cache can use this memory.
-- fix: Lower vm.nr_hugepages to what is used, or to 0: sysctl vm.nr_hugepages=0.
-- needs: memory/hugepages_total memory/total
-- source: Linux Documentation/admin-guide/mm/hugetlbpage.rst
SELECT f.number AS "free [bytes] @/proc/meminfo", h.number AS "set aside [bytes] @/proc/meminfo", t.number AS "memory [bytes] @/proc/meminfo"
FROM fact h JOIN fact f ON f.kind = 'memory' AND f.name = 'hugepages_free' JOIN fact t ON t.kind = 'memory' AND t.name = 'total'
WHERE h.kind = 'memory' AND h.name = 'hugepages_total' AND f.number >= 0.2 * t.number;
