-- SPDX-License-Identifier: MIT
-- id: collective-exposed
-- severity: warning
-- title: The GPU only communicates for {share} of the time{_what}
-- why: No kernel computes while these collectives run. Part of that may be waiting inside the
--   kernel for a late rank; seen from one rank the two look the same.
-- fix: Overlap communication with computing{_torch}, send less (bf16 gradients, gradient
--   accumulation), and check that NCCL or RCCL uses the fastest network there is. If a rank is
--   late, it is the one with the smallest share.
-- first: Reduce exposed communication
-- scenario: away collective
-- source: doc/rules.md#collective-exposed
SELECT x.seconds AS "exposed [s]",
       x.share AS "share [1]",
       top.subject AS "collective",
       top.seconds AS "in it [s]",
       (SELECT number FROM fact WHERE kind = 'collective' AND subject = top.subject
        AND name = 'bytes') AS "sent [bytes]",
       coalesce(', mostly in ' || top.subject, '') AS "_what",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ' (DDP: find_unused_parameters=False and '
            || 'bucket_cap_mb; FSDP: prefetching)' ELSE '' END AS "_torch",
       CASE WHEN x.share >= 0.33 * (SELECT max(share) FROM cause)
            THEN 'warning' ELSE 'info' END AS "severity",
       x.share * run.seconds AS "gain_seconds"
FROM run, (SELECT sum(seconds) AS seconds,
                  sum(seconds) / (SELECT accelerator_seconds FROM run) AS share
           FROM ledger WHERE state = 'comm') x
     LEFT JOIN (SELECT subject, number AS seconds FROM fact
                WHERE kind = 'collective' AND name = 'seconds'
                ORDER BY number DESC, subject LIMIT 1) top
WHERE x.share >= 0.08;
