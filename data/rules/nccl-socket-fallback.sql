-- SPDX-License-Identifier: MIT
-- id: nccl-socket-fallback
-- for: check report
-- severity: warning
-- title: The ranks communicate over TCP ({network}){_why}
-- why: NCCL's log proves it: {_proof}. TCP moves about a tenth of what InfiniBand or RoCE does,
--   and costs CPU time. {_reason}.
-- fix: {_fix}
-- first: Get NCCL off TCP
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-socket-fallback
SELECT n.text AS "network",
       s.number AS "channels over TCP [count] @NCCL log",
       h.hosts AS "hosts [count] @NCCL log",
       coalesce(s.source, n.source) AS "said in",
       e.name AS "_env", e.value AS "value @NCCL log",
       CASE WHEN s.number > 0 THEN printf('%d channels "via NET/Socket"', s.number)
            ELSE '"Using network ' || n.text || '"' END AS "_proof",
       CASE w.word WHEN 'env' THEN ': ' || e.name || '=' || e.value
                   WHEN 'verbs' THEN ': libibverbs is missing'
                   WHEN 'denied' THEN ': the RDMA devices could not be opened'
                   WHEN 'failed' THEN ': no RDMA device could be used'
                   WHEN 'none' THEN ': no RDMA device was found' ELSE '' END AS "_why",
       CASE w.word
            WHEN 'env' THEN 'The environment asks for it'
            WHEN 'verbs' THEN 'The process could not load libibverbs, so no RDMA device was looked for'
            WHEN 'denied' THEN 'The host has RDMA devices, but the process may not open them'
            WHEN 'failed' THEN 'NCCL looked for InfiniBand and RoCE and could not use what it found'
            WHEN 'none' THEN 'NCCL saw no active port; if these hosts have InfiniBand, RoCE or EFA, this '
                 || 'is a fallback' ELSE 'The log does not say why' END AS "_reason",
       CASE w.word
            WHEN 'env' THEN 'unset ' || e.name
            WHEN 'verbs' THEN 'Install rdma-core (libibverbs1, ibverbs-providers) in the image and start '
                 || 'the container with --device=/dev/infiniband'
            WHEN 'denied' THEN 'Give the container the devices: docker run --device=/dev/infiniband '
                 || '--ulimit memlock=-1; in Kubernetes a pod needs the RDMA device plugin''s resource'
            ELSE 'Run gpufeed check on a host: it tells whether ports are down (ibstat), devices are '
                 || 'missing (/dev/infiniband) or filtered (NCCL_IB_HCA)'
                 || CASE WHEN h.plugin_missing > 0 THEN '; on AWS or Google Cloud install the net plugin '
                    || '(aws-ofi-nccl, libnccl-net.so)' ELSE '' END END AS "_fix",
       CASE WHEN w.word = 'none' THEN 'info' ELSE 'warning' END AS "severity"
FROM fact n
LEFT JOIN fact s ON s.kind = 'nccl' AND s.subject = '' AND s.name = 'channels_socket' AND s.number > 0
LEFT JOIN (SELECT subject AS name, text AS value FROM fact
           WHERE kind = 'nccl/env' AND name = 'value'
           AND ((subject = 'NCCL_IB_DISABLE' AND text NOT IN ('0', ' '))
                OR (subject = 'NCCL_NET' AND text LIKE '%socket%')
                OR (subject = 'NCCL_NET_PLUGIN' AND text = 'none'))
           ORDER BY subject LIMIT 1) e ON 1
JOIN (SELECT count(DISTINCT subject) AS hosts,
             sum(name = 'verbs_missing') AS verbs, sum(name = 'open_denied') AS denied,
             sum(name = 'ib_failed') AS failed, sum(name = 'no_device') AS none,
             sum(name = 'plugin_missing') AS plugin_missing,
             sum(name IN ('ib_devices', 'roce_devices') AND number > 0) AS devices
      FROM fact WHERE kind = 'nccl/host') h
JOIN (SELECT 'env' AS word UNION ALL SELECT 'verbs' UNION ALL SELECT 'denied'
      UNION ALL SELECT 'failed' UNION ALL SELECT 'none' UNION ALL SELECT 'unsaid') w
  ON w.word = CASE WHEN e.name IS NOT NULL THEN 'env' WHEN h.verbs > 0 THEN 'verbs'
                   WHEN h.denied > 0 THEN 'denied' WHEN h.devices > 0 THEN 'failed'
                   WHEN h.none > 0 OR h.failed > 0 THEN 'none' ELSE 'unsaid' END
WHERE n.kind = 'nccl' AND n.subject = '' AND n.name = 'network'
  AND (s.number > 0 OR (h.hosts > 1 AND EXISTS (SELECT 1 FROM fact k WHERE k.kind = 'nccl'
       AND k.subject = '' AND k.name = 'network_kind' AND k.text = 'socket')));
