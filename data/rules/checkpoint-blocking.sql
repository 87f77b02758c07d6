-- SPDX-License-Identifier: MIT
-- id: checkpoint-blocking
-- severity: warning
-- title: Training stops while checkpoints are written{_where}
-- why: {_who}; the GPU waited for that {share} of the time.
-- fix: {_how}.
-- first: Fix checkpoint writing
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
       CASE WHEN w.other THEN 'Another thread writes and syncs the files, and the one that launches kernels '
            || 'waits until it is done' ELSE 'The thread that launches kernels writes and syncs the '
            || 'files itself' END AS "_who",
       CASE WHEN w.other THEN 'Let the training thread wait for a save only before it begins the next '
            || 'one; where it does so already, writing takes longer than the time between two saves: '
            || 'save less often, write less (each rank its own part), or write to a faster disk first'
            ELSE 'Copy the state to host memory and write it in the background '
            || CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN '(torch.distributed.checkpoint.async_save, or a thread)'
                    ELSE '(a thread)' END || ', write to a local disk first, and save less often; for logs and '
            || 'databases, collect entries and commit them from a thread' END AS "_how",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run,
     -- One thread may launch on several devices: what the one that waited longest lost is compared.
     (SELECT coalesce(sum(number) < 0.5 * (SELECT max(s) FROM (SELECT sum(seconds) AS s FROM ledger
                                           WHERE cause = 'checkpoint' GROUP BY accelerator)), 0) AS other FROM fact WHERE kind = 'checkpoint' AND name = 'own_seconds') w
WHERE c.cause = 'checkpoint' AND c.share >= 0.05;
