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
SELECT p.disk AS "disk", o.text AS "model", p.point AS "mount point", p.example AS "example @job"
FROM data_place p
JOIN fact l ON l.kind = 'disk' AND l.name = 'local' AND l.subject = p.disk AND l.number = 0
JOIN fact o ON o.kind = 'disk' AND o.name = 'model' AND o.subject = l.subject
WHERE EXISTS (SELECT 1 FROM fact n WHERE n.kind = 'disk' AND n.name = 'local' AND n.number = 1);
