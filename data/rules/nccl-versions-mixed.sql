-- SPDX-License-Identifier: MIT
-- id: nccl-versions-mixed
-- for: check report
-- severity: warning
-- title: The ranks run different versions of {_library}
-- why: The log names {versions}. Ranks of different versions may hang, or choose algorithms that
--   do not fit together.
-- fix: Start all ranks from the same image; gpufeed check shows which library a process has loaded
-- first: Use one version of NCCL on all ranks
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-versions-mixed
SELECT t.text AS "versions @NCCL log",
       n.number AS "different [count] @NCCL log",
       t.source AS "said in",
       coalesce(l.text, 'NCCL') AS "_library"
FROM fact n JOIN fact t ON t.kind = 'nccl' AND t.subject = '' AND t.name = 'version'
LEFT JOIN fact l ON l.kind = 'nccl' AND l.subject = '' AND l.name = 'library'
WHERE n.kind = 'nccl' AND n.subject = '' AND n.name = 'versions' AND n.number > 1;
