-- SPDX-License-Identifier: MIT
-- id: nccl-socket-ifname
-- for: check
-- severity: warning
-- title: NCCL_SOCKET_IFNAME={value} leaves no interface that reaches another node
-- why: NCCL starts its connections, and without RDMA sends all data, over the interfaces that this
--   names: {_what}.
-- fix: Name the interface of the cluster's network, NCCL_SOCKET_IFNAME=eth0 (ip -br addr lists them),
--   or exclude: ^docker,lo.
-- needs: job_nic/present|nic/mtu env/value|nccl_conf/files
-- source: NCCL user guide, Environment variables: NCCL_SOCKET_IFNAME
WITH kept AS (SELECT n.name, s.value, s.origin FROM setting s JOIN interface n
    WHERE s.variable = 'NCCL_SOCKET_IFNAME' AND s.value <> ''
      AND (substr(s.value, 1, 1) = '^') = NOT EXISTS (SELECT 1 FROM setting_item i
          WHERE i.variable = s.variable AND CASE WHEN i.exact THEN i.name = n.name
              ELSE substr(n.name, 1, length(i.name)) = i.name END))
SELECT s.value AS "value", s.origin AS "set in", k.names AS "interfaces it names",
       (SELECT group_concat(name, ' ') FROM interface) AS "interfaces there are",
       CASE WHEN k.names IS NULL THEN 'no interface has such a name'
            ELSE k.names || ', which stays within the host' END AS "_what"
FROM setting s LEFT JOIN (SELECT group_concat(name, ' ') AS names,
    count(*) FILTER (WHERE name NOT GLOB 'lo' AND name NOT GLOB 'docker*' AND name NOT GLOB 'virbr*'
        AND name NOT GLOB 'veth*' AND name NOT GLOB 'br-*') AS outside FROM kept) k ON 1
WHERE s.variable = 'NCCL_SOCKET_IFNAME' AND s.value <> '' AND EXISTS (SELECT 1 FROM interface)
  AND coalesce(k.outside, 0) = 0;
