-- SPDX-License-Identifier: MIT
-- id: host-bound
-- severity: warning
-- title: The GPU waits for {_what}{_where}
-- why: For {share} of the time {_seen}.
-- fix: Take that work off the path between two launches: {_load}{_torch}move CPU work to another
--   thread or to the GPU, and use CUDA graphs{_compile} for the rest{_find}.
-- first: Speed up {_first}
-- scenario: away {_away}
-- source: doc/rules.md#host-bound
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT resource FROM cause_resource WHERE cause = 'host' AND resource IS NOT NULL
        ORDER BY seconds DESC, resource LIMIT 1) AS "most of it in",
       CASE WHEN o.loads THEN o.rate END AS "reads itself [bytes/s] @/proc/PID/task/PID/io",
       CASE WHEN o.loads THEN 'the launching thread, which reads its data itself: there are no loader workers'
            ELSE 'host code between kernel launches' END AS "_what",
       CASE WHEN o.loads THEN 'the loading of data, by workers,' ELSE 'the host code between launches' END AS "_first",
       CASE WHEN o.loads THEN 'let loader workers ' || CASE WHEN (SELECT torch FROM program) IS NOT 0
            THEN '(DataLoader(..., num_workers=' || o.workers || ')) ' ELSE '' END || 'read and prepare the batches while the GPU computes, '
            ELSE '' END AS "_load",
       coalesce((SELECT ', most of all ' || resource FROM cause_resource
                 WHERE cause = 'host' AND resource IS NOT NULL AND seconds >= 0.33 * c.seconds
                 ORDER BY seconds DESC, resource LIMIT 1), '') AS "_where",
       CASE WHEN t.traces THEN 'the trace shows nothing that ran, and the launching thread in Python '
            || 'or in operators on the CPU for longer than launching takes'
            ELSE 'the launching thread ran code of its own on a core and launched nothing' END AS "_seen",
       CASE WHEN t.traces THEN '' ELSE CASE WHEN (SELECT python FROM program) IS NOT 0 THEN '. py-spy top --pid PID'
            ELSE '. perf top -p PID' END || ' shows which lines those are'
            || CASE WHEN NOT o.loads THEN '; if they make batches, let loader workers '
            || CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN '(num_workers) ' ELSE '' END || 'make them' ELSE '' END END AS "_find",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN 'no .item(), .cpu() or print in each step, ' ELSE '' END AS "_torch",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ' or torch.compile' ELSE '' END AS "_compile",
       -- Beside a loader that is waited for, part of it may be loading, too.
       CASE WHEN c.relative >= CASE WHEN t.traces THEN 0.33 ELSE 0.5 END THEN 'warning' ELSE 'info' END AS "severity",
       -- What the thread's own work is of its batches nobody saw, so that no replay can give it to workers: with as many as it
       -- has cores (4 at most) a step takes as long as it computes, or as its part of that work, at best.
       CASE WHEN o.loads THEN 'loading' ELSE 'host' END AS "_away",
       CASE WHEN o.loads THEN c.share + a.compute - max(a.compute, c.share / o.workers)
            ELSE c.share END * run.seconds AS "gain_seconds"
FROM cause c, run, job j, (SELECT count(*) > 0 AS traces FROM fact WHERE kind = 'trace') t,
     -- It loads by itself: it was seen to wait for its own reads, or its main thread reads a MiB a second and more where no
     -- other process could hand it batches.
     (SELECT r.rate AS rate, max(1, min(4, CAST(coalesce(j.cores_allowed, 4) AS INTEGER))) AS workers, NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'trace')
                 AND (coalesce(j.in_main, 0) = 1 OR coalesce(r.rate >= 1048576 AND coalesce(j.workers, 0) = 0
                      AND (run.mode = 'wait chain' OR r.processes = 1), 0)) AS loads
      FROM job j, run, (SELECT max(number) FILTER (WHERE name = 'own_read_rate') AS rate,
                               max(number) FILTER (WHERE name = 'processes_peak') AS processes
                        FROM fact WHERE kind = 'job') r) o,
     (SELECT sum(compute_seconds) / sum(seconds) AS compute FROM accelerator WHERE seconds > 0) a
WHERE c.cause = 'host' AND c.share >= 0.08
  -- Where it loads its own data, loader-no-workers speaks.
  AND (t.traces OR coalesce(j.in_main, 0) = 0 OR coalesce(
       (SELECT sum(share) FROM cause WHERE cause IN ('storage', 'prepare')), 0) < 0.04);
