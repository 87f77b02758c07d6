-- SPDX-License-Identifier: MIT
-- id: cuda-launch-blocking
-- for: check
-- severity: critical
-- title: CUDA_LAUNCH_BLOCKING={value}: every kernel launch waits until the kernel has ended
-- why: A setting for debugging that takes away all overlap of the host and the GPU.
-- fix: unset CUDA_LAUNCH_BLOCKING
-- needs: env/value
-- source: CUDA C++ Programming Guide (asynchronous concurrent execution; CUDA_LAUNCH_BLOCKING)
SELECT text AS "value @/proc/PID/environ" FROM fact WHERE kind = 'env' AND subject = 'CUDA_LAUNCH_BLOCKING' AND name = 'value' AND text NOT IN ('0', '');
