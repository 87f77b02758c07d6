/* SPDX-License-Identifier: MIT */
#include "record/schema.h"

/* Views that only rules see: facts of one thing side by side (doc/rules.md). Not part of a file. */
#define VIEW(name, body)                                                                           \
    {                                                                                              \
        "view", name, "CREATE VIEW " name " AS " body                                              \
    }
#define N(name) "max(number) FILTER (WHERE name = '" name "') AS " name
#define T(name) "max(text) FILTER (WHERE name = '" name "') AS " name

/* Bytes a second at which data, not control traffic, is flowing. */
#define DATA_RATE "1e8"

/* clang-format off */
const struct schema_object rule_views[] = {
    /* A variable of the job as NCCL takes it: the environment wins over files. */
    VIEW("setting",
         "SELECT variable, value, origin FROM (SELECT v.subject AS variable, v.text AS value, "
         "CASE v.kind WHEN 'env' THEN 'environment' WHEN 'nccl/env' THEN 'NCCL log' "
         "ELSE coalesce(f.text, 'nccl.conf') END AS origin, row_number() OVER "
         "(PARTITION BY v.subject ORDER BY instr('env nccl/env nccl_conf', v.kind)) AS place "
         "FROM fact v LEFT JOIN fact f ON f.kind = v.kind AND f.subject = v.subject "
         "AND f.name = 'file' WHERE v.kind IN ('env', 'nccl/env', 'nccl_conf') "
         "AND v.name = 'value' AND v.text IS NOT NULL) WHERE place = 1"),
    /* Lists of names: each item, whether the list excludes (^) and is exact (=). */
    VIEW("setting_item",
         "WITH RECURSIVE part(variable, origin, value, item, rest) AS ("
         "SELECT variable, origin, value, '', ltrim(value, '^= ') || ',' FROM setting "
         "WHERE variable IN ('NCCL_SOCKET_IFNAME', 'NCCL_IB_HCA', 'GLOO_SOCKET_IFNAME') "
         "UNION ALL SELECT variable, origin, value, trim(substr(rest, 1, instr(rest, ',') - 1)), "
         "substr(rest, instr(rest, ',') + 1) FROM part WHERE rest <> '' LIMIT 2000) "
         "SELECT variable, origin, value, substr(value, 1, 1) = '^' AS negative, "
         "instr(substr(value, 1, 2), '=') > 0 AS exact, "
         "CASE WHEN instr(item, ':') THEN substr(item, 1, instr(item, ':') - 1) ELSE item END "
         "AS name, CASE WHEN instr(item, ':') THEN substr(item, instr(item, ':') + 1) END AS port "
         "FROM part WHERE item <> ''"),
    VIEW("ib_port",
         "SELECT subject, substr(subject, 1, instr(subject, '/') - 1) AS device, "
         "substr(subject, instr(subject, '/') + 1) AS port, " T("link_layer") ", " T("state") ", "
         T("phys_state") ", " T("speed") ", " N("active") ", " N("rate") ", " N("width") ", "
         N("lid") ", " N("sm_lid") ", " N("link_downed") ", " N("gids") ", " N("gids_v2_ipv4") ", " N("gid_v2_index") ", "
         T("gid_types") ", " T("netdev") ", " N("mtu") ", " T("pkeys") ", " N("pkeys_full") ", "
         N("pkeys_own") ", " N("rcv_rate") ", " N("xmit_rate") " FROM fact "
         "WHERE kind = 'ib_port' GROUP BY subject"),
    /* usable: InfiniBand, or RoCE with an address; not the Ethernet function that clouds give a VM. */
    VIEW("rdma",
         "SELECT " N("devices") ", " N("ports") ", " N("ports_active") ", " N("ports_ib") ", "
         N("ports_roce") ", " N("uverbs") ", " N("uverbs_kernel") ", " N("bytes_rise") ", "
         N("rate") ", " T("peer_memory") ", (SELECT count(*) FROM ib_port WHERE active = 1 "
         "AND (link_layer = 'InfiniBand' OR gids_v2_ipv4 > 0)) AS ports_usable FROM fact WHERE kind = 'rdma' GROUP BY kind"),
    /* Where the job's data lies, or where the user says so, and what is mounted there. */
    VIEW("data_place",
         "SELECT point, example, fstype, resource, options, flags, device, remote, rsize, size, free, "
         "read_ahead, CASE WHEN resource LIKE 'disk %' THEN "
         "substr(resource, 6, instr(resource || ' (', ' (') - 6) END AS disk FROM (SELECT subject AS point, " N("named") ", " N("open_files") ", "
         N("mapped") ", " T("example") " FROM fact WHERE kind = 'data' GROUP BY subject) "
         "JOIN (SELECT subject AS point, " T("fstype") ", " T("resource") ", " T("options") ", "
         T("flags") ", " T("device") ", " N("remote") ", " N("rsize") ", " N("size") ", "
         N("free") ", " N("read_ahead") " FROM fact WHERE kind = 'mount' GROUP BY subject) "
         "USING (point) WHERE named = 1 OR open_files > 0 OR mapped > 0"),
    /* Local NVMe disks that nothing uses. */
    VIEW("nvme_idle",
         "SELECT disk, size FROM (SELECT subject AS disk, " N("size") ", " N("nvme") ", "
         N("local") ", " N("in_use") " FROM fact WHERE kind = 'disk' GROUP BY subject) "
         "WHERE nvme = 1 AND local = 1 AND in_use = 0"),
    VIEW("pci",
         "SELECT subject AS address, " T("class") ", " T("vendor") ", " T("driver") ", "
         T("parent") ", " T("rdma") ", " T("nic") ", " T("nic_path") ", " T("iommu") ", "
         T("acs_controls") ", " N("numa") ", " N("link_gen") ", " N("link_gen_max") ", "
         N("link_width") ", " N("link_width_max") ", " N("slot_gen_max") ", " N("slot_width_max")
         ", " N("link_rate") ", " N("link_rate_max") ", " N("link_rate_slot") ", " N("acs") ", "
         N("ats") ", " N("relaxed_ordering") ", " N("nics_local") ", "
         N("aer_correctable_rise") ", " N("aer_nonfatal_rise") ", " N("aer_fatal_rise")
         " FROM fact WHERE kind = 'pci' GROUP BY subject"),
    VIEW("gpu",
         "SELECT subject AS uuid, " T("name") ", " T("pci") ", "
         "max(number) FILTER (WHERE name = 'index') AS number, "
         N("utilisation_nvml") ", " N("pcie_gen") ", " N("pcie_gen_max") ", " N("pcie_width")
         ", " N("pcie_width_max") ", " N("sm_clock_mean") ", " N("sm_clock_max") ", "
         N("temperature_max") ", " N("power_mean_w") ", " N("power_limit_w") ", " N("mig") ", "
         N("persistence") ", " N("nvlinks") ", " N("nvlinks_active") ", " T("fabric") ", "
         N("fabric_status") ", " N("fabric_cluster") ", " T("fabric_fault") ", "
         N("p2p_peers") ", " N("p2p_ok") ", " N("p2p_nvlink") ", "
         N("throttled_thermal_share") ", " N("throttled_hardware_thermal_share") ", "
         N("throttled_hardware_share") ", " N("throttled_power_brake_share") ", "
         N("throttled_power_cap_share")
         " FROM fact WHERE kind = 'gpu' AND subject <> '' GROUP BY subject"),
    VIEW("nccl_host",
         "SELECT subject AS host, " T("version") ", " T("network") ", " T("network_kind") ", "
         T("devices") ", " T("plugin") ", " T("path_net") ", " T("path_gpu") ", "
         N("ib_devices") ", " N("roce_devices") ", " N("relaxed_ordering") ", " N("no_device")
         ", " N("verbs_missing") ", " N("open_denied") ", " N("no_interface") ", "
         N("plugin_missing") ", " N("ib_failed") ", " N("channels_socket") ", "
         N("channels_gdr") ", " N("channels_staged") ", " N("gdr_disabled") ", "
         N("graph_channels") ", " N("coll_channels")
         " FROM fact WHERE kind = 'nccl/host' GROUP BY subject"),
    /* Network interfaces that the job can see. */
    VIEW("interface",
         "SELECT subject AS name FROM fact WHERE kind = 'job_nic' AND name = 'present' UNION "
         "SELECT subject FROM fact WHERE kind = 'nic' "
         "AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'job_nic')"),
    /* Proof, where there is any, that collectives go over TCP although an RDMA port is active:
     * what NCCL says, or bytes that RDMA ports did not carry and the job's sockets did. */
    VIEW("fallback",
         "SELECT proof FROM (SELECT 1 AS place, 'its log says: using network ' || network AS proof "
         "FROM nccl_host WHERE network_kind = 'socket' UNION ALL "
         "SELECT 2, printf('RDMA ports carried %.0f MB while its TCP sockets carried %.0f MB', "
         "r.bytes_rise / 1e6, t.number / 1e6) FROM rdma r, fact t, fact s "
         "WHERE t.kind = 'job' AND t.name = 'tcp_bytes_rise' AND s.kind = 'job' "
         "AND s.name = 'tcp_rate' AND s.number >= " DATA_RATE
         " AND r.bytes_rise <= t.number / 100) ORDER BY place LIMIT 1"),
};
/* clang-format on */
const size_t rule_view_count = sizeof(rule_views) / sizeof(rule_views[0]);

/* Of the rules of `report`, beside the views of a recording. */
/* clang-format off */
const struct schema_object report_views[] = {
    /* launched: its launcher says that the job has more than one rank, or one waited for another. several:
     * that, or its accelerators, its nodes or what it said show it. A process of which none of this is known is one by itself. */
    VIEW("ranks",
         "SELECT launched, launched OR EXISTS (SELECT 1 FROM fact WHERE kind = 'collective' "
         "OR kind LIKE 'nccl/%' OR kind = 'env' AND name = 'value' AND subject = 'SLURM_NNODES' "
         "AND CAST(text AS INTEGER) > 1) OR (SELECT count(DISTINCT subject) FROM fact WHERE kind = 'rank') > 1 "
         "OR (SELECT accelerators FROM run) > 1 AS several FROM (SELECT EXISTS (SELECT 1 FROM fact "
         "WHERE kind = 'late' OR kind = 'env' AND name = 'value' AND subject IN ('WORLD_SIZE', "
         "'OMPI_COMM_WORLD_SIZE', 'MPI_LOCALNRANKS') AND CAST(text AS INTEGER) > 1) AS launched)"),
    /* What kind of program the job is, so that advice is in its words: 1, 0, or NULL where nobody knows. */
    VIEW("program",
         "SELECT coalesce(max(number) FILTER (WHERE name = 'torch'), CASE WHEN EXISTS (SELECT 1 FROM fact "
         "WHERE kind = 'trace' AND name = 'tool' AND text LIKE 'PyTorch%') THEN 1 END) AS torch, "
         "max(number) FILTER (WHERE name = 'python') AS python FROM fact WHERE kind = 'job' AND subject = ''"),
};
/* clang-format on */
const size_t report_view_count = sizeof(report_views) / sizeof(report_views[0]);
