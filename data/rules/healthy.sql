-- SPDX-License-Identifier: MIT
-- id: healthy
-- severity: info
-- title: Nothing worth fixing
-- why: The accelerators computed {compute} of the time that the job held them, and no single cause
--   took as much as 8 % of it.
-- fix: None needed. To go faster, speed up the computing itself or use more accelerators.
-- scenario: none
-- source: doc/rules.md#healthy
SELECT a.compute AS "compute [1]"
FROM (SELECT sum(compute_seconds) / sum(seconds) AS compute FROM accelerator WHERE seconds > 0) a
WHERE a.compute >= 0.8
  AND NOT EXISTS (SELECT 1 FROM cause WHERE share >= CASE cause
                      WHEN 'checkpoint' THEN 0.05 WHEN 'memory' THEN 0.05 WHEN 'startup' THEN 0.15
                      ELSE 0.08 END)
  AND NOT EXISTS (SELECT 1 FROM ledger WHERE state = 'unseen' AND share >= 0.08);
