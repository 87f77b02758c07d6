-- SPDX-License-Identifier: MIT
-- id: nccl-debug-leftovers
-- for: check
-- severity: warning
-- title: {variable}={value} is set: {_what}
-- why: Such settings help to find a fault and are easily left behind in images and job scripts; they
--   cost bandwidth on every collective.
-- fix: Unset {variable} ({set_in}).
-- needs: env/value|nccl_conf/files|nccl/env/value
-- source: NCCL user guide, Environment variables: Debugging variables
SELECT s.variable AS "variable", s.value AS "value", s.origin AS "set in", k.what AS "_what", k.severity AS "severity"
FROM setting s JOIN (SELECT 'NCCL_P2P_DISABLE' AS variable, 'GPUs of a host exchange data through its memory' AS what, 'warning' AS severity
    UNION ALL SELECT 'NCCL_SHM_DISABLE', 'processes of a host talk over the network', 'warning'
    UNION ALL SELECT 'NCCL_NVLS_DISABLE', 'NVLink SHARP is off', 'info'
    UNION ALL SELECT 'NCCL_PXN_DISABLE', 'rails are crossed in the network instead of over NVLink', 'info'
    UNION ALL SELECT 'NCCL_NET_GDR_LEVEL', 'GPUDirect RDMA is off', 'warning'
    UNION ALL SELECT 'NCCL_ALGO', 'NCCL no longer chooses the algorithm by size', 'info'
    UNION ALL SELECT 'NCCL_PROTO', 'NCCL no longer chooses the protocol by size', 'info'
    UNION ALL SELECT 'NCCL_MAX_NCHANNELS', 'the number of channels is limited', 'info'
    UNION ALL SELECT 'NCCL_MAX_CTAS', 'the number of channels is limited', 'info'
    UNION ALL SELECT 'CUDA_LAUNCH_BLOCKING', 'each kernel is waited for', 'warning'
    UNION ALL SELECT 'TORCH_NCCL_BLOCKING_WAIT', 'the host waits for each collective', 'info'
    UNION ALL SELECT 'NCCL_DEBUG', 'every call is written to the log', 'warning') k ON k.variable = s.variable
WHERE CASE s.variable WHEN 'NCCL_P2P_DISABLE' THEN s.value = '1' WHEN 'NCCL_SHM_DISABLE' THEN s.value = '1'
    WHEN 'NCCL_PXN_DISABLE' THEN s.value = '1' WHEN 'NCCL_NVLS_DISABLE' THEN s.value = '1'
    WHEN 'CUDA_LAUNCH_BLOCKING' THEN s.value = '1' WHEN 'TORCH_NCCL_BLOCKING_WAIT' THEN s.value = '1'
    WHEN 'NCCL_NET_GDR_LEVEL' THEN upper(s.value) IN ('LOC', '0') WHEN 'NCCL_DEBUG' THEN upper(s.value) = 'TRACE'
    WHEN 'NCCL_MAX_NCHANNELS' THEN CAST(s.value AS INTEGER) BETWEEN 1 AND 8 WHEN 'NCCL_MAX_CTAS' THEN CAST(s.value AS INTEGER) BETWEEN 1 AND 8
    ELSE s.value <> '' END;
