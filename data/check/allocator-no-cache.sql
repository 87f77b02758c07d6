-- SPDX-License-Identifier: MIT
-- id: allocator-no-cache
-- for: check
-- severity: critical
-- title: PYTORCH_NO_CUDA_MEMORY_CACHING={value}: each tensor is allocated by the driver
-- why: A setting for debugging: cudaMalloc and cudaFree stop the GPU at each tensor.
-- fix: unset PYTORCH_NO_CUDA_MEMORY_CACHING
-- needs: env/value
-- source: PyTorch documentation, CUDA semantics (memory management)
SELECT text AS "value @/proc/PID/environ" FROM fact WHERE kind = 'env' AND subject = 'PYTORCH_NO_CUDA_MEMORY_CACHING' AND name = 'value' AND text <> '';
