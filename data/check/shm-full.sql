-- SPDX-License-Identifier: MIT
-- id: shm-full
-- for: check
-- severity: warning
-- title: /dev/shm is nearly full: {free} of {size} are free
-- why: Loader workers and NCCL put their buffers there; a worker that finds no room dies with a bus error
--   (SIGBUS).
-- fix: ls -la /dev/shm: remove what dead jobs left behind (torch_*, nccl-*), or make it larger: mount -o
--   remount,size=50% /dev/shm.
-- needs: memory/shm_size memory/shm_free
-- source: PyTorch README (Docker image); shm_overview(7)
SELECT s.number AS "size [bytes] @statfs /dev/shm", f.number AS "free [bytes] @statfs /dev/shm"
FROM fact s JOIN fact f ON f.kind = 'memory' AND f.name = 'shm_free'
WHERE s.kind = 'memory' AND s.name = 'shm_size' AND s.number > 0 AND f.number < 0.05 * s.number;
