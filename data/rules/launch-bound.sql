-- SPDX-License-Identifier: MIT
-- id: launch-bound
-- severity: warning
-- title: The CPU cannot launch kernels as fast as the GPU runs them
-- why: The kernels are short, and each launch costs the host more time than the GPU needs to run
--   it; the GPU waited for the next launch {share} of the time.
-- fix: Launch less often and more at once: {_compile}CUDA graphs, fused kernels{_fused}, larger
--   batches.
-- first: Cut kernel-launch overhead
-- scenario: away launch
-- source: doc/rules.md#launch-bound
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       (SELECT sum(number) FROM fact WHERE kind = 'launch' AND name = 'count')
           AS "launches [count] @cuda probe",
       (SELECT avg(number) FROM fact WHERE kind = 'launch' AND name = 'mean_kernel_us')
           AS "mean kernel [us] @cuda probe",
       (SELECT avg(number) FROM fact WHERE kind = 'launch' AND name = 'mean_gap_us')
           AS "mean gap [us] @cuda probe",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN 'torch.compile(model, mode="reduce-overhead") or ' ELSE '' END AS "_compile",
       CASE WHEN (SELECT torch FROM program) IS NOT 0 THEN ' and optimisers (fused=True)' ELSE '' END AS "_fused",
       CASE WHEN c.relative >= 0.33
            THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run
WHERE c.cause = 'launch' AND c.share >= 0.08;
