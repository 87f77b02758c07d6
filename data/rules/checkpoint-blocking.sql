-- SPDX-License-Identifier: MIT
-- id: checkpoint-blocking
-- severity: warning
-- title: Training stands still while checkpoints are written{_where}
-- why: The thread that launches kernels writes and syncs the files itself; {share} of the
--   accelerator's time it waited for that.
-- fix: Copy the state to host memory and write it in the background
--   (torch.distributed.checkpoint.async_save, or a thread), write to a local disk first, and save
--   less often.
-- scenario: away checkpoint
-- source: doc/rules.md#checkpoint-blocking
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT resource FROM cause_resource WHERE cause = 'checkpoint' AND resource IS NOT NULL
        ORDER BY seconds DESC, resource LIMIT 1) AS "resource",
       (SELECT sum(number) FROM fact WHERE kind = 'checkpoint' AND name = 'count')
           AS "waits for writes [count] @wait chain",
       coalesce((SELECT ' to ' || resource FROM cause_resource
                 WHERE cause = 'checkpoint' AND resource IS NOT NULL
                 ORDER BY seconds DESC, resource LIMIT 1), '') AS "_where",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'checkpoint' AND c.share >= 0.05;
