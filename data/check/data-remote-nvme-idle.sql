-- SPDX-License-Identifier: MIT
-- id: data-remote-nvme-idle
-- for: check
-- severity: info
-- title: The data lies on {resource} while {_at} has {free} free
-- why: Every epoch reads over the network what the local NVMe could hold.
-- fix: Copy the data to {_at} before training, and read it there.
-- needs: data/named mount/remote disk/nvme mount/free
-- source: learn.microsoft.com/azure/machine-learning/how-to-read-write-data-v2; PyTorch DataLoader
--   documentation
SELECT p.resource AS "resource", p.point AS "mount point", p.example AS "example @job",
       n.point AS "_at", n.free AS "free [bytes] @statfs"
FROM data_place p
JOIN (SELECT k.subject AS point, f.number AS free, max(f.number)
      FROM fact k JOIN fact f ON f.kind = 'mount' AND f.subject = k.subject AND f.name = 'free'
      JOIN fact r ON r.kind = 'mount' AND r.subject = k.subject AND r.name = 'resource'
      JOIN fact w ON w.kind = 'disk' AND w.name = 'mounted_at'
           AND instr(' ' || w.text || ' ', ' ' || k.subject || ' ') > 0
      JOIN fact v ON v.kind = 'disk' AND v.subject = w.subject AND v.name = 'nvme' AND v.number = 1
      JOIN fact l ON l.kind = 'disk' AND l.subject = w.subject AND l.name = 'local' AND l.number = 1
      WHERE k.kind = 'mount' AND k.name = 'fstype' AND k.subject <> '/') n
WHERE p.remote = 1 AND n.free >= 107374182400;
