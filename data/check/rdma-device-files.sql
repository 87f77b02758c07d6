-- SPDX-License-Identifier: MIT
-- id: rdma-device-files
-- for: check
-- severity: warning
-- title: {who} sees no /dev/infiniband/uverbs* though the kernel has {kernel_devices}
-- why: Programs open RDMA devices by these files; without them NCCL finds no device and goes over TCP.
-- fix: {_fix}
-- needs: rdma/uverbs_kernel job/uverbs|rdma/uverbs|nccl/host/open_denied
-- source: NCCL user guide, Troubleshooting; NVIDIA/nccl issue 451
SELECT CASE WHEN j.number = 0 THEN 'The job' ELSE 'The machine' END AS "who", r.uverbs_kernel AS "kernel devices [count] @/sys/class/infiniband_verbs",
       j.number AS "job sees [count] @/proc/PID/root/dev", r.uverbs AS "in /dev/infiniband [count]",
       CASE WHEN j.number = 0 AND coalesce(r.uverbs, 1) > 0 THEN 'Give the container --device=/dev/infiniband and --cap-add=IPC_LOCK, '
           || 'or in Kubernetes a resource of the RDMA device plugin (rdma/hca).'
           ELSE 'modprobe ib_uverbs rdma_ucm, and see that udev runs.' END AS "_fix"
FROM rdma r LEFT JOIN fact j ON j.kind = 'job' AND j.name = 'uverbs'
WHERE r.uverbs_kernel >= 1 AND (j.number = 0 OR j.number IS NULL AND r.uverbs = 0)
UNION ALL
SELECT host, NULL, NULL, NULL, 'Give the container --device=/dev/infiniband and the right to open it (device cgroup).'
FROM nccl_host WHERE open_denied = 1;
