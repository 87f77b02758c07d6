-- SPDX-License-Identifier: MIT
-- id: data-rotational
-- for: check
-- severity: warning
-- title: The data lies on {disk} ({model}), a hard disk with rotating platters
-- why: A hard disk gives some 150 to 250 MB/s in sequence and 100 to 200 reads a second at random;
--   a shuffled loader reads at random.
-- fix: Put the data on NVMe or another solid-state disk; if it must stay, store it in large files
--   that are read in sequence.
-- needs: data/named mount/resource disk/rotational disk/model
-- source: Linux Documentation/block/queue-sysfs.rst (rotational); virtual disks call themselves
--   rotational whatever they lie on, and are left out
SELECT p.disk AS "disk", o.text AS "model", p.point AS "mount point", p.example AS "example @job",
       r.number AS "rotational [count] @/sys/block"
FROM data_place p
JOIN fact r ON r.kind = 'disk' AND r.name = 'rotational' AND r.subject = p.disk
JOIN fact o ON o.kind = 'disk' AND o.name = 'model' AND o.subject = r.subject
WHERE r.number = 1 AND r.subject NOT LIKE 'vd%' AND r.subject NOT LIKE 'xvd%' AND r.subject NOT LIKE 'nvme%'
AND o.text NOT LIKE '%virtual%' AND o.text NOT LIKE 'QEMU%' AND o.text NOT LIKE 'VBOX%' AND o.text NOT LIKE 'PersistentDisk%'
AND o.text NOT LIKE 'Amazon%';
