-- SPDX-License-Identifier: MIT
-- id: copy-pageable
-- severity: warning
-- title: Batches are copied to the GPU from memory that is not pinned
-- why: A copy from pageable memory goes through the driver's own buffer and blocks the thread that
--   asked for it: {share} of the accelerator's time.
-- fix: Set pin_memory=True in the DataLoader and copy with tensor.to(device, non_blocking=True); in C
--   allocate the buffer by cudaHostAlloc or cuMemHostRegister.
-- scenario: pinned
-- source: doc/rules.md#copy-pageable
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT sum(number) FROM fact WHERE kind = 'copy' AND name = 'pageable_bytes')
           AS "pageable [bytes] @cuda probe",
       (SELECT sum(number) FROM fact WHERE kind = 'copy' AND name = 'pinned_bytes')
           AS "pinned [bytes] @cuda probe",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'pageable-copy' AND c.share >= 0.08;
