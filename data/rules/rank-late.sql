-- SPDX-License-Identifier: MIT
-- id: rank-late
-- severity: warning
-- title: {_who} is late, and the other ranks wait for it{_did}
-- why: {share} of the GPUs' time was spent waiting for a rank that had not come yet; its bytes
--   were not on the way. All ranks are as slow as the slowest.
-- fix: Look at what {_whom} does between two collectives{_instead}: take that off the critical
--   path, and give all ranks the same amount of work (batches of similar size, even shards) and
--   cores and storage of the same speed.
-- first: Fix the late rank
-- scenario: none
-- source: doc/rules.md#rank-late
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       d.gpu AS "accelerator of the late rank",
       d.name AS "meanwhile it was in",
       d.number AS "in that [s] @wait chain",
       e.name AS "more than the others it was in",
       e.excess AS "by [s] @wait chain",
       r.resource AS "peer",
       coalesce('The rank on GPU ' || d.gpu, 'A rank (' || r.resource || ')', 'A rank') AS "_who",
       coalesce('the rank on GPU ' || d.gpu, r.resource, 'that rank') AS "_whom",
       -- What it did meanwhile need not be what made it late.
       coalesce(CASE WHEN e.name IS NULL THEN '; meanwhile it ' ELSE ': it ' END || w.did
                || CASE WHEN e.name IS NULL THEN '' ELSE ' for longer than the others' END, '') AS "_did",
       coalesce(' (it ' || w.did || CASE WHEN e.name IS NULL THEN ' while they waited' ELSE ' for longer than the others' END
                || ')', '') AS "_instead",
       CASE WHEN c.relative >= 0.33 THEN 'warning' ELSE 'info' END AS "severity",
       -- What the device that waited longest would save.
       (SELECT max(s) FROM (SELECT sum(seconds) AS s FROM ledger WHERE cause = 'late-peer'
                            GROUP BY accelerator)) AS "gain_seconds"
FROM run,
     (SELECT sum(seconds) AS seconds, sum(share) AS share,
             sum(share) / (SELECT max(share) FROM cause) AS relative
      FROM cause_resource WHERE cause = 'late-peer') c
     LEFT JOIN (SELECT resource FROM cause_resource
                WHERE cause = 'late-peer' AND resource IS NOT NULL
                ORDER BY seconds DESC, resource LIMIT 1) r
     LEFT JOIN (SELECT f.name, f.number, v.number AS device,
                       -- what follows the last colon of its id
                       replace(v.id, rtrim(v.id, replace(v.id, ':', '')), '') AS gpu
                FROM fact f JOIN device v ON f.subject = CAST(v.number AS TEXT)
                WHERE f.kind = 'late'
                ORDER BY sum(f.number) OVER (PARTITION BY f.subject) DESC, f.number DESC, f.subject, f.name LIMIT 1) d
     -- What it did while the others waited need not be what made it late: they all compute. What it spent
     -- more on than they did is, where that explains most of their waiting.
     LEFT JOIN (SELECT accelerator, name, excess, longest,
                       row_number() OVER (PARTITION BY accelerator ORDER BY excess DESC, name) AS place
                FROM (SELECT accelerator, name, longest,
                             s - (sum(s) OVER (PARTITION BY name) - s) / (run.accelerators - 1) AS excess
                      FROM (SELECT accelerator, coalesce(cause, state) AS name, sum(seconds) AS s FROM ledger
                            WHERE state = 'compute' OR cause NOT IN ('network', 'collective', 'late-peer', 'unknown')
                            GROUP BY 1, 2), run,
                           (SELECT max(s) AS longest
                            FROM (SELECT sum(seconds) AS s FROM ledger WHERE cause = 'late-peer'
                                  GROUP BY accelerator)))) e
     ON e.place = 1 AND e.accelerator = d.device AND e.excess >= 0.5 * e.longest
     LEFT JOIN (SELECT 'compute' AS name, 'computed' AS did
                UNION ALL VALUES ('sleep', 'slept'), ('host', 'ran other code on a core'), ('storage', 'read its data'),
                       ('prepare', 'prepared its data'), ('cpu-starved', 'had no core'), ('checkpoint', 'wrote a checkpoint'),
                       ('startup', 'was starting'), ('launch', 'launched kernels'), ('memory', 'waited for memory'),
                       ('lock', 'waited for a lock')) w
     ON w.name = coalesce(e.name, d.name)
WHERE c.share >= 0.08 AND (SELECT several FROM ranks) = 1
  -- A client that has not asked is no rank: service-idle speaks of it.
  AND ((SELECT launched FROM ranks) = 1
       OR coalesce((SELECT sum(share) FROM cause_resource WHERE cause = 'late-peer'
                    AND resource LIKE '% to port %'), 0) < 0.08);
