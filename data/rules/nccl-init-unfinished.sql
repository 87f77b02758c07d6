-- SPDX-License-Identifier: MIT
-- id: nccl-init-unfinished
-- for: check report
-- severity: critical
-- title: {_some} began to initialise NCCL and never finished{_absent}
-- why: The log has their "Init START" but no "Init COMPLETE": they wait for ranks that did not
--   come or cannot be reached.
-- fix: {_fix}
-- first: Find the ranks that NCCL waits for
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-init-unfinished
SELECT u.number AS "unfinished [count] @NCCL log",
       r.number AS "ranks [count] @NCCL log",
       a.text AS "ranks without a line @NCCL log",
       u.source AS "said in",
       CASE WHEN s.number > 0 THEN 'warning' END AS "severity",
       printf('%d rank%s', u.number, CASE WHEN u.number = 1 THEN '' ELSE 's' END) AS "_some",
       coalesce('; no line of rank ' || a.text, '')
       || CASE WHEN s.number > 0 THEN ': /dev/shm was too small for them' ELSE '' END AS "_absent",
       CASE WHEN s.number > 0 THEN 'Make /dev/shm larger first; then ' ELSE '' END ||
       CASE WHEN a.text IS NOT NULL THEN 'Look at what rank ' || a.text || ' did: a process that died before, '
            || 'or a log that is not among these files; then '
            ELSE '' END || 'check that each host reaches the others on the interface of the line "Bootstrap: '
            || 'Using" (NCCL_SOCKET_IFNAME, firewall)' AS "_fix"
FROM fact u
LEFT JOIN fact r ON r.kind = 'nccl' AND r.subject = '' AND r.name = 'ranks'
LEFT JOIN fact a ON a.kind = 'nccl' AND a.subject = '' AND a.name = 'ranks_absent'
LEFT JOIN fact s ON s.kind = 'nccl/warning' AND s.subject = 'shm-small' AND s.name = 'count'
WHERE u.kind = 'nccl' AND u.subject = '' AND u.name = 'init_unfinished' AND u.number > 0;
