-- SPDX-License-Identifier: MIT
-- id: nccl-ib-hca
-- for: check
-- severity: warning
-- title: NCCL_IB_HCA={value} leaves {left} of {active_ports} active RDMA ports
-- why: NCCL uses only ports that pass this filter; it matches the beginning of a device's name, or all
--   of it after '='. Where none is left it goes over TCP. Active are: {devices}.
-- fix: Unset NCCL_IB_HCA ({set_in}), or name the devices that there are; on Azure ^mlx5_an0 leaves the
--   Ethernet function out.
-- needs: rdma/ports_active env/value|nccl_conf/files|nccl/env/value
-- source: NCCL user guide, Environment variables: NCCL_IB_HCA; Azure/azhpc-images: device names
WITH passed AS (SELECT p.subject, p.device, p.link_layer, (substr(s.value, 1, 1) = '^') = NOT EXISTS (
        SELECT 1 FROM setting_item i WHERE i.variable = s.variable
          AND CASE WHEN i.exact THEN i.name = p.device ELSE substr(p.device, 1, length(i.name)) = i.name END
          AND coalesce(i.port = p.port, 1)) AS passes
    FROM ib_port p JOIN setting s ON s.variable = 'NCCL_IB_HCA' AND s.value <> '' WHERE p.active = 1)
SELECT s.value AS "value", s.origin AS "set in", t.left AS "left [count]", t.active AS "active ports [count]",
       t.devices AS "devices @/sys/class/infiniband", f.proof AS "proof @log or counters",
       CASE WHEN t.left > 0 THEN 'info' WHEN f.proof IS NOT NULL THEN 'critical' END AS "severity"
FROM setting s JOIN (SELECT sum(passes) AS left, count(*) AS active, group_concat(device, ' ') AS devices,
        sum(passes AND link_layer = 'InfiniBand') AS left_ib, sum(link_layer = 'InfiniBand') AS active_ib
    FROM passed) t LEFT JOIN fallback f ON 1
WHERE s.variable = 'NCCL_IB_HCA' AND s.value <> '' AND t.active >= 1
  AND (t.left = 0 OR t.active_ib > 2 * t.left_ib);
