-- SPDX-License-Identifier: MIT
-- id: nccl-cumem-host
-- for: check
-- severity: warning
-- title: NCCL {version} allocates host memory in a way that this container does not allow
-- why: From 2.24 on it binds buffers to NUMA nodes, which needs CAP_SYS_NICE; before 2.26.5 it does
--   not fall back and initialisation fails or hangs.
-- fix: NCCL_CUMEM_HOST_ENABLE=0, or --cap-add=SYS_NICE for the container, or NCCL 2.26.5 and later.
-- needs: library/version_number job/cap_sys_nice
-- source: NCCL user guide, Environment variables: NCCL_CUMEM_HOST_ENABLE; release notes 2.26.5
SELECT t.text AS "version @/proc/PID/maps", c.number AS "may bind memory [1] @/proc/PID/status"
FROM fact v JOIN fact t ON t.kind = v.kind AND t.subject = v.subject AND t.name = 'version'
JOIN fact c ON c.kind = 'job' AND c.name = 'cap_sys_nice' AND c.number = 0
WHERE v.kind = 'library' AND v.subject = 'nccl' AND v.name = 'version_number' AND v.number >= 22400 AND v.number < 22605
  AND NOT EXISTS (SELECT 1 FROM setting WHERE variable = 'NCCL_CUMEM_HOST_ENABLE' AND value = '0');
