-- SPDX-License-Identifier: MIT
-- id: data-network-disk
-- for: check
-- severity: info
-- title: The data lies on {disk} ({model}), a network disk that looks like a local one
-- why: A cloud's managed disk is limited by its size and by the machine (612 to 800 MB/s on Azure's ND
--   sizes), not by NVMe.
-- fix: Copy the data to the machine's local NVMe before training.
-- needs: data/named mount/resource disk/local disk/model
-- source: learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ndh100v5-series (remote storage
--   throughput)
SELECT substr(m.resource, 6, instr(m.resource || ' (', ' (') - 6) AS "disk", o.text AS "model", d.point AS "mount point", d.example AS "example @job"
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
JOIN fact l ON l.kind = 'disk' AND l.name = 'local' AND l.subject = substr(m.resource, 6, instr(m.resource || ' (', ' (') - 6) AND l.number = 0
JOIN fact o ON o.kind = 'disk' AND o.name = 'model' AND o.subject = l.subject
WHERE (d.named = 1 OR d.files > 0 OR d.mapped > 0) AND m.resource LIKE 'disk %'
AND EXISTS (SELECT 1 FROM fact n WHERE n.kind = 'disk' AND n.name = 'local' AND n.number = 1);
