-- SPDX-License-Identifier: MIT
-- id: host-bound
-- severity: warning
-- title: The GPU waits for other code of the thread that launches its work{_where}
-- why: In {share} of the accelerator's time the trace shows nothing that ran, and the launching
--   thread in Python or in operators on the CPU for longer than launching takes.
-- fix: Take that work off the path between two launches: no .item(), .cpu() or print per step, no
--   work on the CPU that a thread or the GPU can do, CUDA graphs or torch.compile for the rest.
-- scenario: away host
-- source: doc/rules.md#host-bound
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT resource FROM cause_resource WHERE cause = 'host' AND resource IS NOT NULL
        ORDER BY seconds DESC, resource LIMIT 1) AS "most of it in",
       coalesce((SELECT ', most of all ' || resource FROM cause_resource
                 WHERE cause = 'host' AND resource IS NOT NULL AND seconds >= 0.33 * c.seconds
                 ORDER BY seconds DESC, resource LIMIT 1), '') AS "_where",
       CASE WHEN c.relative >= 0.33 THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'host' AND c.share >= 0.08
  AND EXISTS (SELECT 1 FROM fact WHERE kind = 'trace');
