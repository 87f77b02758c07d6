-- SPDX-License-Identifier: MIT
-- id: roce-gid-index
-- for: check
-- severity: warning
-- title: NCCL_IB_GID_INDEX={value}, but on {port} that is {_type}
-- why: The table of addresses changes with each address of the interface, so a fixed index points
--   elsewhere after a reboot; connections then fail or are not routed.
-- fix: Unset NCCL_IB_GID_INDEX (NCCL 2.21 and later choose by themselves), or set it to {right}.
-- needs: ib_port/gid_types env/value|nccl_conf/files|nccl/env/value
-- source: NCCL user guide, Environment variables: NCCL_IB_GID_INDEX
SELECT s.value AS "value @setting", s.origin AS "set in", p.subject AS "port @/sys/class/infiniband", p.gid_v2_index AS "right [count]", p.gid_types AS "types",
       CASE WHEN instr(' ' || p.gid_types || ' ', ' ' || s.value || '=v1') THEN 'RoCE v1'
            WHEN instr(' ' || p.gid_types || ' ', ' ' || s.value || '=v2 ') THEN 'a link-local address'
            ELSE 'empty' END AS "_type"
FROM setting s JOIN ib_port p WHERE s.variable = 'NCCL_IB_GID_INDEX' AND CAST(s.value AS INTEGER) >= 0
  AND s.value GLOB '[0-9]*' AND p.link_layer = 'Ethernet' AND p.active = 1 AND p.gids_v2_ipv4 > 0
  AND NOT instr(' ' || p.gid_types || ' ', ' ' || s.value || '=v2/ipv4 ');
