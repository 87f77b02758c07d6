-- SPDX-License-Identifier: MIT
-- id: nccl-no-gdr
-- for: check report
-- severity: warning
-- title: Network traffic goes through host memory: GPUDirect RDMA is off{_where}
-- why: {channels_without_it} of {_all} network channels are staged in host memory ("via NET/IB/0"
--   without GDRDMA). Each byte then crosses PCIe twice and takes memory bandwidth.
-- fix: {_fix}
-- first: Turn on GPUDirect RDMA
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-no-gdr
SELECT s.number AS "channels without it [count] @NCCL log",
       coalesce(g.number, 0) AS "channels with it [count] @NCCL log",
       s.source AS "said in",
       e.value AS "NCCL_NET_GDR_LEVEL @NCCL log",
       s.number + coalesce(g.number, 0) AS "_all [count]",
       coalesce(' on ' || h.host || CASE WHEN h.hosts > 1 THEN printf(' and %d more', h.hosts - 1)
                ELSE '' END, '') AS "_where",
       CASE WHEN e.value IS NOT NULL THEN 'unset NCCL_NET_GDR_LEVEL (it is ' || e.value || '): PXB or SYS '
            || 'allows more distance'
            ELSE 'modprobe nvidia_peermem, or use the open kernel module with a kernel that has DMA-BUF '
            || '(5.12 and later)' END || CASE WHEN p.far > 0 THEN '; pair each GPU with a NIC below the '
            || 'same PCIe switch' ELSE '' END AS "_fix",
       CASE WHEN coalesce(g.number, 0) = 0 THEN 'warning' ELSE 'info' END AS "severity"
FROM fact s
LEFT JOIN fact g ON g.kind = 'nccl' AND g.subject = '' AND g.name = 'channels_gdr'
LEFT JOIN (SELECT text AS value FROM fact WHERE kind = 'nccl/env' AND name = 'value'
           AND subject = 'NCCL_NET_GDR_LEVEL') e ON 1
LEFT JOIN (SELECT min(subject) AS host, count(*) AS hosts FROM fact
           WHERE kind = 'nccl/host' AND name = 'channels_staged' AND number > 0) h ON 1
LEFT JOIN (SELECT count(*) AS far FROM fact WHERE kind = 'nccl/host' AND name = 'path_net'
           AND text IN ('PHB', 'SYS')) p ON 1
WHERE s.kind = 'nccl' AND s.subject = '' AND s.name = 'channels_staged' AND s.number > 0;
