-- SPDX-License-Identifier: MIT
-- id: gdr-off
-- for: check
-- severity: warning
-- title: RDMA devices cannot reach GPU memory: {what}
-- why: Without GPUDirect RDMA every byte between nodes is copied through the host's memory, at a third
--   to a half of the bandwidth.
-- fix: modprobe nvidia_peermem (and add it to /etc/modules-load.d), or install NVIDIA's open kernel
--   modules, which use dma-buf on kernel 5.12 and later.
-- apply: module nvidia_peermem loaded
-- needs: rdma/peer_memory gpu/devices rdma/ports_active
-- source: NVIDIA/nccl src/transport/net_ib: ncclIbGdrSupport, ncclIbDmaBufSupport; NCCL user guide,
--   Troubleshooting
SELECT 'no nvidia_peermem' || CASE WHEN o.number = 1 THEN ', and kernel ' || k.text || ' has no dma-buf for it'
           WHEN o.number = 0 THEN ', and the driver ' || coalesce(d.text, '') || ' is not the open one' ELSE '' END AS "what",
       r.peer_memory AS "peer memory @/sys/module", o.number AS "open kernel modules [1] @/proc/driver/nvidia/version", k.text AS "kernel",
       (SELECT sum(channels_staged) FROM nccl_host) AS "channels staged [count] @log"
FROM rdma r JOIN fact g ON g.kind = 'gpu' AND g.subject = '' AND g.name = 'devices' AND g.number >= 1
JOIN fact o ON o.kind = 'gpu' AND o.subject = '' AND o.name = 'open_kernel_module'
LEFT JOIN fact d ON d.kind = 'gpu' AND d.subject = '' AND d.name = 'driver'
JOIN fact v ON v.kind = 'kernel' AND v.name = 'version' JOIN fact k ON k.kind = 'kernel' AND k.name = 'release'
WHERE r.ports_usable >= 1 AND r.peer_memory = 'none' AND (o.number = 0 OR v.number < 5012)
  AND NOT EXISTS (SELECT 1 FROM nccl_host WHERE channels_gdr > 0);
