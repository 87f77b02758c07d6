-- SPDX-License-Identifier: MIT
-- id: nccl-warned
-- for: check report
-- severity: info
-- title: NCCL warned {_times} of something that no rule knows: {_first}
-- why: The cause is not known here. The first different texts: {_texts}
-- fix: Read the lines around it in the log; the first warning is closest to the cause.
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-warned
SELECT c.number AS "times [count] @NCCL log",
       t.text AS "NCCL says @NCCL log",
       u.text AS "and @NCCL log",
       v.text AS "and then @NCCL log",
       c.source AS "said in",
       CASE c.number WHEN 1 THEN 'once' ELSE printf('%d times', c.number) END AS "_times",
       substr(t.text, 1, 120) AS "_first",
       t.text || coalesce('; ' || u.text, '') || coalesce('; ' || v.text, '') AS "_texts"
FROM fact c
JOIN fact t ON t.kind = c.kind AND t.subject = c.subject AND t.name = 'text'
LEFT JOIN fact u ON u.kind = c.kind AND u.subject = c.subject AND u.name = 'text2'
LEFT JOIN fact v ON v.kind = c.kind AND v.subject = c.subject AND v.name = 'text3'
WHERE c.kind = 'nccl/warning' AND c.subject = 'other' AND c.name = 'count' AND c.number > 0;
