-- SPDX-License-Identifier: MIT
-- id: copy-pageable
-- severity: warning
-- title: Batches are copied to the GPU from pageable memory
-- why: A copy from pageable (not pinned) memory goes through the driver's own buffer and blocks
--   the thread that asked for it: {share} of the GPU's time.
-- fix: Copy from pinned memory: {_how}.
-- first: Copy from pinned memory
-- scenario: pinned
-- source: doc/rules.md#copy-pageable
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT sum(number) FROM fact WHERE kind = 'copy' AND name = 'pageable_bytes')
           AS "pageable [bytes] @cuda probe",
       (SELECT sum(number) FROM fact WHERE kind = 'copy' AND name = 'pinned_bytes')
           AS "pinned [bytes] @cuda probe",
       CASE p.torch WHEN 0 THEN p.c ELSE p.py || CASE p.torch WHEN 1 THEN '' ELSE '; in C, ' || p.c END END
           AS "_how",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run,
     (SELECT torch, 'set pin_memory=True in the DataLoader and copy with tensor.to(device, non_blocking=True)' AS py,
             'allocate the buffer with cudaHostAlloc, or pin it with cudaHostRegister or cuMemHostRegister' AS c
      FROM program) p
WHERE c.cause = 'pageable-copy' AND c.share >= 0.08;
