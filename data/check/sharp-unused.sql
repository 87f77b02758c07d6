-- SPDX-License-Identifier: MIT
-- id: sharp-unused
-- for: check
-- severity: info
-- title: NCCL_COLLNET_ENABLE={value}, and no channel goes through the switches (SHARP)
-- why: With SHARP the InfiniBand switches add up gradients on their way. It needs the sharp plugin in
--   the job, an aggregation manager in the fabric and enough free trees.
-- fix: See that sharp_am runs on the subnet manager's host and that libnccl-net.so of
--   nccl_rdma_sharp_plugin is loaded; or unset the variable.
-- needs: nccl/channels_net env/value|nccl/env/value|nccl_conf/files
-- source: NCCL user guide, Environment variables: NCCL_COLLNET_ENABLE; Azure ND H100 v5 benchmarks
SELECT s.value AS "value", s.origin AS "set in", n.number AS "network channels [count] @log", coalesce(c.number, 0) AS "through switches [count] @log"
FROM setting s JOIN fact n ON n.kind = 'nccl' AND n.name = 'channels_net' AND n.number > 0
LEFT JOIN fact c ON c.kind = 'nccl' AND c.name = 'channels_collnet'
WHERE s.variable = 'NCCL_COLLNET_ENABLE' AND s.value = '1' AND coalesce(c.number, 0) = 0;
