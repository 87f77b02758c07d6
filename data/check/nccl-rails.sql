-- SPDX-License-Identifier: MIT
-- id: nccl-rails
-- for: check
-- severity: info
-- title: NCCL_CROSS_NIC={value}: {_what}
-- why: In a network with one switch per rail, traffic between rails crosses the spine, which is often
--   oversubscribed: two nodes are fast and many are slow.
-- fix: Unset NCCL_CROSS_NIC, place the job on nodes of few switches (Slurm: topology plugin,
--   --switches), and measure with nccl-tests on 2 and on all nodes.
-- needs: env/value|nccl_conf/files|nccl/env/value
-- source: NCCL user guide, Environment variables: NCCL_CROSS_NIC, NCCL_PXN_DISABLE
SELECT s.value AS "value", s.origin AS "set in", p.value AS "NCCL_PXN_DISABLE",
       CASE WHEN p.value = '1' THEN 'with PXN off every rank uses every rail' ELSE 'rings change rails between nodes' END AS "_what"
FROM setting s LEFT JOIN setting p ON p.variable = 'NCCL_PXN_DISABLE'
WHERE s.variable = 'NCCL_CROSS_NIC' AND s.value = '1';
