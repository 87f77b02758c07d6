-- SPDX-License-Identifier: MIT
-- id: nccl-p2p-disabled
-- for: check report
-- severity: warning
-- title: GPUs on one host communicate through host memory: {variable}={value}
-- why: {channels} channels go "via SHM" because the environment forbids direct access between
--   GPUs. Over NVLink or PCIe they would be several times as fast.
-- fix: unset {variable}; if a hang was the reason, look at PCIe ACS and the IOMMU first
-- first: Allow P2P between GPUs
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-p2p-disabled
SELECT e.subject AS "variable",
       e.text AS "value @NCCL log",
       s.number AS "channels [count] @NCCL log",
       s.source AS "said in"
FROM fact s JOIN fact e ON e.kind = 'nccl/env' AND e.name = 'value'
     AND ((e.subject = 'NCCL_P2P_DISABLE' AND e.text NOT IN ('0', ' '))
          OR (e.subject = 'NCCL_P2P_LEVEL' AND e.text IN ('LOC', '0')))
WHERE s.kind = 'nccl' AND s.subject = '' AND s.name = 'channels_shm' AND s.number > 0
  AND NOT EXISTS (SELECT 1 FROM fact p WHERE p.kind = 'nccl' AND p.subject = ''
                  AND p.name = 'channels_p2p' AND p.number > 0)
ORDER BY e.subject LIMIT 1;
