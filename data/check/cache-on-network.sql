-- SPDX-License-Identifier: MIT
-- id: cache-on-network
-- for: check
-- severity: warning
-- title: {variable} keeps its cache on {resource}
-- why: Caches of data sets and of compiled kernels are read and written in small pieces with locks; over a
--   network each takes milliseconds, and several nodes may fight over one lock.
-- fix: Point {variable} at a folder on a local disk, such as /mnt/nvme/cache.
-- needs: env/value mount/remote
-- source: huggingface.co/docs/datasets/cache; PyTorch documentation (TORCHINDUCTOR_CACHE_DIR)
SELECT e.subject AS "variable", e.text AS "path @/proc/PID/environ", m.subject AS "mount point", r.text AS "resource",
       CASE WHEN e.subject IN ('HF_HOME', 'HF_HUB_CACHE', 'TRANSFORMERS_CACHE', 'TORCH_HOME') THEN 'info' END AS "severity" -- models are shared on purpose
FROM fact e JOIN fact m ON m.kind = 'mount' AND m.name = 'remote' AND m.number = 1
JOIN fact r ON r.kind = 'mount' AND r.subject = m.subject AND r.name = 'resource'
WHERE e.kind = 'env' AND e.name = 'value' AND e.subject IN ('HF_HOME', 'HF_DATASETS_CACHE', 'HF_HUB_CACHE',
  'TRANSFORMERS_CACHE', 'TORCH_HOME', 'XDG_CACHE_HOME', 'TRITON_CACHE_DIR', 'TORCHINDUCTOR_CACHE_DIR',
  'TORCH_EXTENSIONS_DIR', 'TMPDIR')
AND (e.text = m.subject OR substr(e.text, 1, length(m.subject) + 1) = m.subject || '/')
AND NOT EXISTS (SELECT 1 FROM fact o WHERE o.kind = 'mount' AND o.name = 'fstype'
  AND length(o.subject) > length(m.subject) AND substr(e.text, 1, length(o.subject) + 1) = o.subject || '/');
