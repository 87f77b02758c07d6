-- SPDX-License-Identifier: MIT
-- id: nccl-plugin-missing
-- for: check
-- severity: warning
-- title: {variable}={value}, but the job has loaded no net plugin
-- why: NCCL is told to use an external network plugin and has not loaded one so far: when it
--   initialises it ends, or goes over what it has built in.
-- fix: Install the plugin in the image and see that its folder is in LD_LIBRARY_PATH, or unset
--   {variable} ({set_in}).
-- needs: library/loaded env/value|nccl_conf/files
-- source: NCCL user guide, Environment variables: NCCL_NET_PLUGIN, NCCL_NET
SELECT s.variable AS "variable", s.value AS "value", s.origin AS "set in", n.text AS "NCCL @/proc/PID/maps",
       CASE WHEN NOT EXISTS (SELECT 1 FROM nccl_host) AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'job' AND name = 'tcp_rate' AND number >= 1e8)
            THEN 'info' END AS "severity"
FROM setting s JOIN fact n ON n.kind = 'library' AND n.subject IN ('nccl', 'rccl') AND n.name = 'path'
JOIN fact p ON p.kind = 'library' AND p.subject = 'net-plugin' AND p.name = 'loaded'
WHERE p.number = 0 AND (s.variable = 'NCCL_NET_PLUGIN' AND lower(s.value) NOT IN ('', 'none')
  OR s.variable = 'NCCL_NET' AND lower(s.value) NOT IN ('', 'ib', 'socket'));
