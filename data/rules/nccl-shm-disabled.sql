-- SPDX-License-Identifier: MIT
-- id: nccl-shm-disabled
-- for: check report
-- severity: warning
-- title: GPUs on one host communicate over the network
-- why: {pairs} pairs of ranks on the same host are connected "via NET" and not by P2P or shared
--   memory: their bytes leave the host, or cross a NIC, for nothing.
-- fix: unset NCCL_P2P_DISABLE and NCCL_SHM_DISABLE; in containers give all ranks of a host one
--   /dev/shm (--ipc=host, or an emptyDir of medium Memory)
-- first: Let ranks of one host use P2P or shared memory
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-shm-disabled
SELECT f.number AS "pairs [count] @NCCL log",
       f.source AS "said in",
       (SELECT text FROM fact WHERE kind = 'nccl/env' AND subject = 'NCCL_P2P_DISABLE'
        AND name = 'value') AS "NCCL_P2P_DISABLE @NCCL log",
       (SELECT text FROM fact WHERE kind = 'nccl/env' AND subject = 'NCCL_SHM_DISABLE'
        AND name = 'value') AS "NCCL_SHM_DISABLE @NCCL log"
FROM fact f
WHERE f.kind = 'nccl' AND f.subject = '' AND f.name = 'peers_far' AND f.number > 0;
