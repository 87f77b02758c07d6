-- SPDX-License-Identifier: MIT
-- id: efa-plugin
-- for: check
-- severity: warning
-- title: {devices} EFA devices, but NCCL {_what}
-- why: NCCL uses EFA only through the plugin aws-ofi-nccl and libfabric's provider efa; without
--   them it goes over TCP.
-- fix: Install the EFA installer and aws-ofi-nccl in the image (libnccl-net.so in
--   LD_LIBRARY_PATH), and unset FI_PROVIDER or set it to efa. The log then says "NET/OFI Selected
--   provider is efa".
-- needs: ib/driver library/loaded|env/value|nccl/host/network
-- source: aws-ofi-nccl documentation
SELECT count(DISTINCT d.subject) AS "devices [count] @/sys/class/infiniband", n.text AS "NCCL @/proc/PID/maps", f.value AS "FI_PROVIDER @environment",
       (SELECT max(network) FROM nccl_host) AS "network @log",
       CASE WHEN f.value IS NOT NULL THEN 'is told to use the provider ' || f.value WHEN n.text IS NOT NULL THEN 'has loaded no plugin for them' ELSE 'uses sockets' END AS "_what",
       CASE WHEN EXISTS (SELECT 1 FROM nccl_host WHERE network_kind = 'socket') THEN 'critical'
            WHEN f.value IS NULL AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'job' AND name = 'tcp_rate' AND number >= 1e8) THEN 'info' END AS "severity"
FROM fact d LEFT JOIN fact n ON n.kind = 'library' AND n.subject = 'nccl' AND n.name = 'path'
LEFT JOIN fact p ON p.kind = 'library' AND p.subject = 'net-plugin' AND p.name = 'loaded'
LEFT JOIN setting f ON f.variable = 'FI_PROVIDER' AND f.value NOT LIKE '%efa%'
WHERE d.kind = 'ib' AND d.name = 'driver' AND d.text = 'efa'
  AND (f.value IS NOT NULL OR n.text IS NOT NULL AND p.number = 0 OR EXISTS (SELECT 1 FROM nccl_host WHERE network_kind = 'socket'))
GROUP BY d.text;
