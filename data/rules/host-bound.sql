-- SPDX-License-Identifier: MIT
-- id: host-bound
-- severity: warning
-- title: The GPU waits for host code between kernel launches{_where}
-- why: For {share} of the time {_seen}.
-- fix: Take that work off the path between two launches: {_torch}move CPU work to another thread
--   or to the GPU, and use CUDA graphs{_compile} for the rest{_find}.
-- first: Speed up the host code between launches
-- scenario: away host
-- source: doc/rules.md#host-bound
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT resource FROM cause_resource WHERE cause = 'host' AND resource IS NOT NULL
        ORDER BY seconds DESC, resource LIMIT 1) AS "most of it in",
       coalesce((SELECT ', most of all ' || resource FROM cause_resource
                 WHERE cause = 'host' AND resource IS NOT NULL AND seconds >= 0.33 * c.seconds
                 ORDER BY seconds DESC, resource LIMIT 1), '') AS "_where",
       CASE WHEN t.traces THEN 'the trace shows nothing that ran, and the launching thread in Python '
            || 'or in operators on the CPU for longer than launching takes'
            ELSE 'the launching thread ran code of its own on a core and launched nothing' END AS "_seen",
       CASE WHEN t.traces THEN '' ELSE CASE WHEN (SELECT python FROM program) IS NOT 0 THEN '. py-spy top --pid PID'
            ELSE '. perf top -p PID' END || ' shows which lines those are'
            || CASE WHEN coalesce(j.workers, 0) = 0 THEN '; if they make the batches, let loader workers '
            || CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN '(num_workers) ' ELSE '' END || 'make them' ELSE '' END END AS "_find",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN 'no .item(), .cpu() or print in each step, ' ELSE '' END AS "_torch",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ' or torch.compile' ELSE '' END AS "_compile",
       -- Beside a loader that is waited for, part of it may be loading, too.
       CASE WHEN c.relative >= CASE WHEN t.traces THEN 0.33 ELSE 0.5 END THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run, job j, (SELECT count(*) > 0 AS traces FROM fact WHERE kind = 'trace') t
WHERE c.cause = 'host' AND c.share >= 0.08
  -- Where it loads its own data, loader-no-workers speaks.
  AND (t.traces OR coalesce(j.in_main, 0) = 0 OR coalesce(
       (SELECT sum(share) FROM cause WHERE cause IN ('storage', 'prepare')), 0) < 0.04);
