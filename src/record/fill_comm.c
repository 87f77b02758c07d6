/* SPDX-License-Identifier: MIT */
#include "record/fill.h"

#include "base/str.h"

#include <math.h>

/*
 * What the job's ranks talk over, line by line: each SELECT gives label, text and source. The facts are those of
 * NCCL's logs, flight recorder dumps, RAS, Inspector and metrics (doc/facts.md).
 */
#define ONE(kind, name)                                                                            \
    "(SELECT coalesce(text, CAST(number AS INTEGER)) FROM fact WHERE kind = '" kind                \
    "' AND subject = '' AND name = '" name "')"
#define OF(kind, name)                                                                             \
    "max(CASE name WHEN '" name "' THEN coalesce(text, CAST(number AS INTEGER)) END)"
/* " word N" where there is one. */
#define WITH(before, value, after) "coalesce('" before "' || " value " || '" after "', '')"
/* "; 2 hosts" where it is known. */
#define COUNTED(before, value, word)                                                               \
    "coalesce('" before "' || " value " || ' " word "' || CASE " value                             \
    " WHEN 1 THEN '' ELSE 's' END, '')"
/* 1.5e11 bytes/s as GB/s. */
#define GB_S(value) "printf('%.4g GB/s', " value " / 1e9)"

static const char
    *const
        lines[] =
            {
                /* clang-format off */
    "SELECT coalesce(" ONE("nccl", "library") ", 'NCCL'), " ONE("nccl", "version")
    " || " COUNTED("; ", ONE("nccl", "ranks"), "rank")
    " || " COUNTED(" on ", ONE("nccl", "hosts"), "host")
    " || " COUNTED(", ", ONE("nccl", "communicators"), "communicator")
    ", source FROM fact WHERE kind = 'nccl' AND subject = '' AND name = 'version'",

    "SELECT 'network', text || coalesce(' (' || nullif(" ONE("nccl", "network_kind") ", lower(text)) || ')', '')"
    " || " WITH("; ", ONE("nccl", "channels_gdr"), " channels with GPUDirect RDMA")
    " || " WITH("; ", ONE("nccl", "channels_staged"), " channels through host memory")
    " || " WITH("; ", ONE("nccl", "channels_socket"), " channels over TCP")
    " || CASE WHEN " ONE("nccl", "channels_net") " IS NULL THEN '; no channel uses it' ELSE '' END"
    ", source FROM fact WHERE kind = 'nccl' AND subject = '' AND name = 'network'",

    "SELECT 'between ranks', group_concat(part, '; '), min(source) FROM (SELECT t.text || ': ' || count(*) || "
    "CASE count(*) WHEN 1 THEN ' pair' ELSE ' pairs' END || printf(', %d channels', sum(c.number)) AS part, "
    "min(t.source) AS source FROM fact t JOIN fact c ON c.kind = t.kind AND c.subject = t.subject "
    "AND c.name = 'channels' WHERE t.kind = 'nccl/edge' AND t.name = 'transport' GROUP BY t.text "
    "ORDER BY count(*) DESC, t.text LIMIT 6) GROUP BY 1",

    "SELECT 'host ' || h.subject, trim(coalesce(CASE WHEN r.count = 1 THEN 'rank ' ELSE 'ranks ' END || r.ranks || "
    "CASE WHEN r.count = 1 THEN '; GPU ' ELSE '; GPUs ' END || r.gpus, '')"
    " || coalesce('; NICs ' || h.devices, '') || coalesce('; TCP ' || h.sockets, '')"
    " || coalesce('; path to the NIC ' || h.path, ''), '; '), h.source FROM (SELECT subject, "
    "min(source) AS source, " OF("nccl/host", "devices") " AS devices, CASE WHEN "
    OF("nccl/host", "network_kind") " LIKE '%socket%' THEN " OF("nccl/host", "socket_interfaces") " END AS sockets, "
    OF("nccl/host", "path_net") " AS path FROM fact WHERE kind = 'nccl/host' GROUP BY subject) h "
    "LEFT JOIN (SELECT n.text AS host, count(*) AS count, CASE WHEN count(*) = max(CAST(n.subject AS INTEGER)) - "
    "min(CAST(n.subject AS INTEGER)) + 1 AND count(*) > 1 THEN min(CAST(n.subject AS INTEGER)) || '-' || "
    "max(CAST(n.subject AS INTEGER)) ELSE group_concat(n.subject, ', ') END AS ranks, "
    "group_concat(DISTINCT coalesce(CAST(v.number AS INTEGER), CAST(g.number AS INTEGER))) AS gpus "
    "FROM fact n LEFT JOIN fact v ON v.kind = n.kind AND v.subject = n.subject AND v.name = 'nvml' "
    "LEFT JOIN fact g ON g.kind = n.kind AND g.subject = n.subject AND g.name = 'gpu' "
    "WHERE n.kind = 'nccl/rank' AND n.name = 'host' GROUP BY n.text) r ON r.host = h.subject "
    "ORDER BY h.subject LIMIT 8",

    "SELECT 'ring', replace(min(text), ' ', ' → ') || coalesce(' (the first of ' || nullif(count(*), 1) || ')', ''), "
    "min(source) FROM fact WHERE kind = 'nccl/ring' AND name = 'order' GROUP BY 1",

    "SELECT 'environment', group_concat(subject || '=' || text, ' '), min(source) FROM (SELECT subject, text, source "
    "FROM fact WHERE kind = 'nccl/env' AND name = 'value' ORDER BY subject LIMIT 24) GROUP BY 1",

    "SELECT 'slowest start', printf('rank %s, %.3g s', subject, number), source FROM fact "
    "WHERE kind = 'nccl/rank' AND name = 'init_seconds' AND number > 2 * (SELECT min(number) FROM fact "
    "WHERE kind = 'nccl/rank' AND name = 'init_seconds') ORDER BY number DESC, subject LIMIT 1",

    "SELECT 'process group ' || subject || coalesce(' (' || " OF("flight/group", "name") " || ')', ''), "
    OF("flight/group", "ranks") " || ' ranks' || CASE WHEN " OF("flight/group", "dumped") " < " OF("flight/group", "ranks")
    " OR " ONE("flight", "ranks_dumped") " = 1"
    " THEN " WITH("; files of ", OF("flight/group", "dumped"), " of them")
    " || " WITH(", which completed number ", OF("flight/group", "last_completed"), "")
    " ELSE " WITH("; all have completed number ", OF("flight/group", "last_completed"), "") " END"
    " || " WITH("; the furthest has entered ", OF("flight/group", "last_enqueued"), "")
    ", min(source) FROM fact WHERE kind = 'flight/group' GROUP BY subject ORDER BY length(subject), subject LIMIT 6",

    "SELECT 'files missing', 'no dump of rank ' || text || '; what it did is not known', source "
    "FROM fact WHERE kind = 'flight' AND subject = '' AND name = 'ranks_absent'",

    "SELECT 'files missing', 'one rank alone tells little: give the dumps of all ranks together', source FROM fact "
    "WHERE kind = 'flight' AND subject = '' AND name = 'ranks_dumped' AND number = 1 "
    "AND " ONE("flight", "ranks_absent") " IS NULL AND coalesce(" ONE("flight", "ranks") ", 2) > 1",

    "SELECT 'communicator ' || subject, " OF("ras/comm", "ranks") " || ' ranks; ' || " OF("ras/comm", "missing")
    " || ' missing' || " WITH("; the slowest is ", OF("ras/comm", "behind"), " launches behind")
    ", min(source) FROM fact WHERE kind = 'ras/comm' GROUP BY subject ORDER BY subject LIMIT 6",

    "SELECT subject, count || printf(' times, %.3g s; bus bandwidth ', seconds) || " GB_S("mean") " || ' (from ' || "
    GB_S("low") " || ' to ' || " GB_S("high") " || ')', source FROM (SELECT subject, min(source) AS source, "
    OF("inspector", "count") " AS count, max(CASE name WHEN 'seconds' THEN number END) AS seconds, "
    "max(CASE name WHEN 'busbw_mean' THEN number END) AS mean, max(CASE name WHEN 'busbw_min' THEN number END) AS low, "
    "max(CASE name WHEN 'busbw_max' THEN number END) AS high FROM fact WHERE kind = 'inspector' AND subject <> '' "
    "GROUP BY subject) ORDER BY seconds DESC LIMIT 8",
                /* clang-format on */
};

int fill_communication(struct recording *db, struct report *r, struct error *e)
{
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        sqlite3_stmt *s AUTOFINAL = NULL;
        int rc;
        if (sqlite3_prepare_v2(db->db, lines[i], -1, &s, NULL))
            return recording_error(db, e, "reading what its ranks talk over");
        while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
            const char *label = (const char *)sqlite3_column_text(s, 0);
            const char *text = (const char *)sqlite3_column_text(s, 1);
            if (label && text && *text &&
                !fill_evidence(&r->communication, label, NAN, text, "",
                               (const char *)sqlite3_column_text(s, 2)))
                return fill_no_memory(db, e);
        }
        if (rc != SQLITE_DONE)
            return recording_error(db, e, "reading what its ranks talk over");
    }
    return STATUS_OK;
}
