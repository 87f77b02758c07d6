-- SPDX-License-Identifier: MIT
-- id: nofile-low
-- for: check
-- severity: warning
-- title: The job may open {soft} files, and {_why}
-- why: A process that has used up its file descriptors fails with "Too many open files"{_torch}.
-- fix: {_fix}
-- needs: limit/soft job/descriptors_peak|job/workers_asked|job/loader_workers
-- apply: limit nofile hard
-- source: getrlimit(2) (soft and hard limits); PyTorch documentation, multiprocessing (sharing
--   strategies); pytorch/pytorch issues 973, 11201
WITH p AS (SELECT *, max(256 + 128 * coalesce(workers, 0), 1.25 * coalesce(open, 0)) AS need FROM
  (SELECT (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'descriptors_peak') AS open,
          coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'workers_asked'), (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers')) AS workers,
          (SELECT number FROM fact WHERE kind = 'limit' AND subject = 'nofile' AND name = 'hard') AS hard))
SELECT s.number AS "soft [count] @/proc/PID/limits", p.hard AS "hard [count] @/proc/PID/limits",
       p.open AS "most open in one process [count] @/proc/PID/fd", p.workers AS "workers [count] @job",
       CASE WHEN p.open >= 0.8 * s.number THEN 'one of its processes has ' || CAST(p.open AS INTEGER) || ' open'
            ELSE CAST(p.workers AS INTEGER) || ' loader workers may need more' END AS "_why",
       CASE WHEN p.hard < p.need THEN 'The hard limit, ' || CAST(p.hard AS INTEGER) || ', is too low as well, so root has to raise it, and the job to be started anew: '
                 || 'docker run --ulimit nofile=65536:65536, LimitNOFILE=65536 in its systemd unit, or "* - nofile 65536" in /etc/security/limits.d/90-nofile.conf and a new login.'
                 || CASE (SELECT number FROM fact WHERE kind = 'job' AND name = 'torch') WHEN 0 THEN '' ELSE ' Without root: torch.multiprocessing.set_sharing_strategy(''file_system'').' END
            WHEN p.hard < 65536 THEN 'ulimit -n ' || CAST(p.hard AS INTEGER) || ' before the job, which is all that its hard limit allows; root can raise that.'
            ELSE 'ulimit -n ' || CAST(CASE WHEN p.need > 65536 THEN p.need ELSE 65536 END AS INTEGER) || ' before the job' || CASE WHEN p.hard IS NULL THEN '' ELSE ' (its hard limit allows it)' END
                 || CASE (SELECT number FROM fact WHERE kind = 'job' AND name = 'torch') WHEN 0 THEN '.' ELSE ', or torch.multiprocessing.set_sharing_strategy(''file_system'').' END END AS "_fix",
       CASE (SELECT number FROM fact WHERE kind = 'job' AND name = 'torch') WHEN 0 THEN '' ELSE '; PyTorch hands each tensor of a batch over as an open descriptor, and its loader '
            || 'then also says "received 0 items of ancdata"' END AS "_torch"
FROM fact s, p
WHERE s.kind = 'limit' AND s.subject = 'nofile' AND s.name = 'soft'
AND (p.open >= 0.8 * s.number OR p.workers >= 4 AND s.number < 256 + 128 * p.workers);
