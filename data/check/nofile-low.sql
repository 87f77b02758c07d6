-- SPDX-License-Identifier: MIT
-- id: nofile-low
-- for: check
-- severity: warning
-- title: The job may open {soft} files, and {_why}
-- why: PyTorch hands each tensor of a batch over as an open file descriptor; when there are none left the
--   loader fails with "Too many open files" or "received 0 items of ancdata".
-- fix: ulimit -n 65536 before the job (docker run --ulimit nofile=65536:65536; LimitNOFILE=65536 in its
--   systemd unit), or torch.multiprocessing.set_sharing_strategy('file_system').
-- needs: limit/soft job/descriptors_peak|job/workers_asked|job/loader_workers
-- apply: limit nofile hard
-- source: PyTorch documentation, multiprocessing (sharing strategies); pytorch/pytorch issues 973, 11201
SELECT s.number AS "soft [count] @/proc/PID/limits", h.number AS "hard [count] @/proc/PID/limits",
       p.open AS "most open in one process [count] @/proc/PID/fd", p.workers AS "workers [count] @job",
       CASE WHEN p.open >= 0.8 * s.number THEN 'one of its processes has ' || CAST(p.open AS INTEGER) || ' open'
            ELSE CAST(p.workers AS INTEGER) || ' loader workers may need more' END AS "_why",
       (SELECT subject FROM fact WHERE kind = 'job' AND name = 'pid') AS "_pid"
FROM fact s LEFT JOIN fact h ON h.kind = 'limit' AND h.subject = 'nofile' AND h.name = 'hard',
     (SELECT (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'descriptors_peak') AS open,
             coalesce((SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'workers_asked'), (SELECT number FROM fact WHERE kind = 'job' AND subject = '' AND name = 'loader_workers')) AS workers) p
WHERE s.kind = 'limit' AND s.subject = 'nofile' AND s.name = 'soft'
AND (p.open >= 0.8 * s.number OR p.workers >= 4 AND s.number < 256 + 128 * p.workers);
