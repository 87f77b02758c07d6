-- SPDX-License-Identifier: MIT
-- id: nvme-unused
-- severity: info
-- title: The GPU waits for storage while the local NVMe disk {disk} is not used for it
-- why: The GPU waited {share} of the time for {resource}, and this machine has a local NVMe disk
--   that the job does not wait for.
-- fix: Copy the data to {_label} and let the job read it there.
-- scenario: away storage
-- source: doc/rules.md#nvme-unused
SELECT n.disk AS "disk @/sys/block",
       n.mount AS "mounted at @/proc/self/mountinfo",
       n.free_bytes AS "free [bytes] @statfs",
       s.resource AS "resource",
       s.share AS "share [1]",
       n.label AS "_label",
       s.share * run.seconds AS "gain_seconds"
FROM (SELECT * FROM nvme LIMIT 1) n,
     (SELECT * FROM storage ORDER BY seconds DESC, resource LIMIT 1) s, run
WHERE s.share >= 0.08 AND s.disk IS NOT n.disk;
