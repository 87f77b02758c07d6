-- SPDX-License-Identifier: MIT
-- id: data-rotational
-- for: check
-- severity: warning
-- title: The data lies on {disk} ({model}), which has rotating platters
-- why: A hard disk gives some 150 to 250 MB/s in sequence and 100 to 200 reads a second at random; a
--   shuffled loader reads at random.
-- fix: Put the data on NVMe or another solid-state disk; if it must stay, store it in large files that are
--   read in sequence.
-- needs: data/named mount/resource disk/rotational disk/model
-- source: Linux Documentation/block/queue-sysfs.rst (rotational); virtual disks call themselves rotational
--   whatever they lie on, and are left out
SELECT substr(m.resource, 6, instr(m.resource || ' (', ' (') - 6) AS "disk", o.text AS "model", d.point AS "mount point", d.example AS "example @job",
       r.number AS "rotational [count] @/sys/block"
FROM (SELECT subject AS point, max(number) FILTER (WHERE name = 'named') AS named,
             max(number) FILTER (WHERE name = 'open_files') AS files,
             max(number) FILTER (WHERE name = 'mapped') AS mapped,
             max(text) FILTER (WHERE name = 'example') AS example
      FROM fact WHERE kind = 'data' GROUP BY subject) d
JOIN (SELECT subject AS point, max(text) FILTER (WHERE name = 'fstype') AS fstype,
             max(text) FILTER (WHERE name = 'resource') AS resource,
             max(text) FILTER (WHERE name = 'options') AS options,
             max(text) FILTER (WHERE name = 'flags') AS flags,
             max(text) FILTER (WHERE name = 'device') AS device,
             max(number) FILTER (WHERE name = 'remote') AS remote,
             max(number) FILTER (WHERE name = 'rsize') AS rsize,
             max(number) FILTER (WHERE name = 'size') AS size,
             max(number) FILTER (WHERE name = 'free') AS free,
             max(number) FILTER (WHERE name = 'read_ahead') AS read_ahead
      FROM fact WHERE kind = 'mount' GROUP BY subject) m ON m.point = d.point
JOIN fact r ON r.kind = 'disk' AND r.name = 'rotational' AND r.subject = substr(m.resource, 6, instr(m.resource || ' (', ' (') - 6)
JOIN fact o ON o.kind = 'disk' AND o.name = 'model' AND o.subject = r.subject
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.resource LIKE 'disk %' AND r.number = 1 AND r.subject NOT LIKE 'vd%' AND r.subject NOT LIKE 'xvd%' AND r.subject NOT LIKE 'nvme%'
AND o.text NOT LIKE '%virtual%' AND o.text NOT LIKE 'QEMU%' AND o.text NOT LIKE 'VBOX%' AND o.text NOT LIKE 'PersistentDisk%'
AND o.text NOT LIKE 'Amazon%';
