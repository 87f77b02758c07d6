-- SPDX-License-Identifier: MIT
-- id: rank-late
-- severity: warning
-- title: {_who} comes late to what the other ranks wait for{_did}
-- why: {share} of the accelerators' time went into waiting for a rank that had not come yet; its bytes were
--   not on the way. All ranks are as slow as the last one.
-- fix: Look at what {_whom} does between two collectives{_instead}: take that off the path, give all ranks
--   the same amount of work (batches of like size, even shards), cores and storage of the same speed.
-- scenario: none
-- source: doc/rules.md#rank-late
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       d.gpu AS "accelerator of the late rank",
       d.name AS "meanwhile it was in",
       d.number AS "in that [s] @wait chain",
       r.resource AS "peer",
       coalesce('The rank on GPU ' || d.gpu, 'A rank (' || r.resource || ')', 'A rank') AS "_who",
       coalesce('the rank on GPU ' || d.gpu, r.resource, 'that rank') AS "_whom",
       coalesce(': it ' || d.did, '') AS "_did",
       coalesce(' (now: it ' || d.did || ')', '') AS "_instead",
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
     LEFT JOIN (SELECT f.subject, f.name, f.number,
                       -- what follows the last colon of its id
                       replace(v.id, rtrim(v.id, replace(v.id, ':', '')), '') AS gpu,
                       CASE f.name WHEN 'compute' THEN 'computed' WHEN 'sleep' THEN 'slept'
                       WHEN 'host' THEN 'ran other code on a core' WHEN 'storage' THEN 'read its data'
                       WHEN 'prepare' THEN 'prepared its data' WHEN 'cpu-starved' THEN 'had no core'
                       WHEN 'checkpoint' THEN 'wrote a checkpoint' WHEN 'startup' THEN 'was starting'
                       WHEN 'launch' THEN 'launched kernels' WHEN 'memory' THEN 'waited for memory'
                       WHEN 'lock' THEN 'waited for a lock' ELSE 'was busy with ' || f.name END AS did
                FROM fact f JOIN device v ON f.subject = CAST(v.number AS TEXT)
                WHERE f.kind = 'late'
                ORDER BY sum(f.number) OVER (PARTITION BY f.subject) DESC, f.number DESC, f.subject, f.name LIMIT 1) d
WHERE c.share >= 0.08 AND (SELECT several FROM ranks) = 1
  -- A client that has not asked is no rank: service-idle speaks of it.
  AND ((SELECT launched FROM ranks) = 1
       OR coalesce((SELECT sum(share) FROM cause_resource WHERE cause = 'late-peer'
                    AND resource LIKE '% to port %'), 0) < 0.08);
