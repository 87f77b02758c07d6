/* SPDX-License-Identifier: MIT */
#include "record/schema.h"

#include <string.h>

/* Tables hold what was seen; numbers of states, causes and evidence are spelt out in `word`. */
#define TABLE(name, body)                                                                          \
    {                                                                                              \
        "table", name, "CREATE TABLE " name " " body                                               \
    }
/* Views are what rules and users select from: stable names, seconds, shares of 1. */
#define VIEW(name, body)                                                                           \
    {                                                                                              \
        "view", name, "CREATE VIEW " name " AS " body                                              \
    }

/* The disk in "disk nvme0n1 (/data)"; NULL for other resources. */
#define DISK_OF(resource)                                                                          \
    "CASE WHEN " resource " LIKE 'disk %' THEN substr(" resource ", 6, instr(" resource            \
    " || ' (', ' (') - 6) END"
/* One column of the view `job`: a fact without a subject, NULL where it is absent. */
#define JOB(kind_name, fact_name)                                                                  \
    "max(number) FILTER (WHERE kind = '" kind_name "' AND name = '" fact_name "') AS " fact_name
#define IDLE "('wait','comm','copy')"

/* clang-format off */
/* latency_bound: told, or plain to see: reads of more than a millisecond, one after the other, that
 * wait for the first byte (from format 2 on). */
#define STORAGE(first_byte)                                                                        \
    VIEW("storage",                                                                                \
         "SELECT r.resource AS resource, r.seconds AS seconds, r.share AS share, coalesce("        \
         "max(CASE f.text WHEN 'peer' THEN 'remote' ELSE f.text END) "                             \
         "FILTER (WHERE f.name = 'kind'), "                                                        \
         "CASE WHEN r.resource LIKE 'disk %' THEN 'disk' WHEN r.resource LIKE 'fuse:%' THEN 'fuse' "\
         "WHEN r.resource LIKE '%://%' OR r.resource GLOB '*:[0-9]*' THEN 'remote' END) AS kind, " \
         DISK_OF("r.resource") " AS disk, "                                                        \
         "max(f.number) FILTER (WHERE f.name = 'reads') AS reads, "                                \
         "max(f.number) FILTER (WHERE f.name = 'bytes') AS bytes, "                                \
         "max(f.number) FILTER (WHERE f.name = 'mean_read_ms') AS mean_read_ms, "                  \
         "max(f.number) FILTER (WHERE f.name = 'in_flight') AS in_flight, "                        \
         "max(f.number) FILTER (WHERE f.name = 'throughput_bytes_s') AS bytes_per_second, "        \
         "CASE WHEN max(f.number) FILTER (WHERE f.name = 'bandwidth_bound') IS NOT NULL "          \
         "THEN max(f.number) FILTER (WHERE f.name = 'bandwidth_bound') = 0 "                       \
         "WHEN max(f.number) FILTER (WHERE f.name = 'in_flight') <= 1.2 "                          \
         "AND max(f.number) FILTER (WHERE f.name = 'mean_read_ms') >= 1 "                          \
         first_byte "THEN 1 END "                                                                  \
         "AS latency_bound "                                                                       \
         "FROM cause_resource r LEFT JOIN fact f ON f.kind = 'storage' AND f.subject = r.resource "\
         "WHERE r.cause = 'storage' AND r.resource IS NOT NULL GROUP BY r.resource")

const struct schema_object schema_objects[] = {
    TABLE("meta", "(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID"),
    TABLE("word", "(kind TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, "
                  "PRIMARY KEY (kind, number)) WITHOUT ROWID"),
    TABLE("device", "(number INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, "
                    "simulated INTEGER NOT NULL)"),
    TABLE("resource", "(number INTEGER PRIMARY KEY, name TEXT NOT NULL)"),
    TABLE("workload", "(number INTEGER PRIMARY KEY, name TEXT NOT NULL)"),
    TABLE("ledger_row",
          "(t0 INTEGER NOT NULL, accelerator INTEGER NOT NULL, workload INTEGER NOT NULL, "
          "state INTEGER NOT NULL, cause INTEGER NOT NULL, resource INTEGER NOT NULL, "
          "evidence INTEGER NOT NULL, ns INTEGER NOT NULL)"),
    TABLE("fact", "(kind TEXT NOT NULL, subject TEXT NOT NULL, name TEXT NOT NULL, text TEXT, "
                  "number REAL, unit TEXT NOT NULL, source TEXT NOT NULL, "
                  "PRIMARY KEY (kind, subject, name)) WITHOUT ROWID"),
    TABLE("note", "(number INTEGER PRIMARY KEY, line TEXT NOT NULL)"),
    TABLE("chain_wait", "(number INTEGER PRIMARY KEY, t0 INTEGER NOT NULL, ns INTEGER NOT NULL, "
                        "accelerator INTEGER NOT NULL, cause INTEGER NOT NULL, resource TEXT)"),
    TABLE("chain_link", "(chain INTEGER NOT NULL, position INTEGER NOT NULL, who TEXT NOT NULL, "
                        "did TEXT NOT NULL, PRIMARY KEY (chain, position)) WITHOUT ROWID"),
    TABLE("delivery", "(number INTEGER PRIMARY KEY, chunk BLOB NOT NULL)"),

    VIEW("accelerator",
         "SELECT d.number AS number, d.id AS id, d.name AS name, d.simulated AS simulated, "
         "total(r.ns) / 1e9 AS seconds, "
         "total(r.ns) FILTER (WHERE w.name = 'compute') / 1e9 AS compute_seconds, "
         "total(r.ns) FILTER (WHERE w.name = 'compute') / nullif(total(r.ns), 0) AS compute_share "
         "FROM device d LEFT JOIN ledger_row r ON r.accelerator = d.number "
         "LEFT JOIN word w ON w.kind = 'state' AND w.number = r.state GROUP BY d.number"),
    VIEW("run", "SELECT (SELECT value FROM meta WHERE key = 'title') AS title, "
                "(SELECT value FROM meta WHERE key = 'mode') AS mode, "
                "(SELECT value FROM meta WHERE key = 'version') AS version, "
                "(SELECT count(*) FROM meta WHERE key = 'finished') AS complete, "
                "(SELECT value FROM meta WHERE key = 'exit_code') AS exit_code, "
                "(SELECT max(seconds) FROM accelerator) AS seconds, "
                "(SELECT sum(seconds) FROM accelerator) AS accelerator_seconds, "
                "(SELECT count(*) FROM accelerator) AS accelerators"),
    VIEW("ledger",
         "SELECT r.accelerator AS accelerator, l.name AS workload, s.name AS state, "
         "nullif(c.name, 'none') AS cause, o.name AS resource, e.name AS evidence, "
         "sum(r.ns) AS ns, sum(r.ns) / 1e9 AS seconds, sum(r.ns) * 1.0 / "
         "(SELECT sum(a.ns) FROM ledger_row a WHERE a.accelerator = r.accelerator) AS share "
         "FROM ledger_row r JOIN word s ON s.kind = 'state' AND s.number = r.state "
         "JOIN word c ON c.kind = 'cause' AND c.number = r.cause "
         "JOIN word e ON e.kind = 'evidence' AND e.number = r.evidence "
         "LEFT JOIN resource o ON o.number = r.resource "
         "LEFT JOIN workload l ON l.number = r.workload "
         "GROUP BY r.accelerator, r.workload, r.state, r.cause, r.resource, r.evidence"),
    /* relative: to the largest cause, so that a rule can tell a main cause from a by-product. */
    VIEW("cause", "SELECT cause, seconds, "
                  "seconds / (SELECT accelerator_seconds FROM run) AS share, "
                  "seconds / max(seconds) OVER () AS relative FROM "
                  "(SELECT cause, sum(seconds) AS seconds FROM ledger WHERE state IN " IDLE
                  " GROUP BY cause)"),
    VIEW("cause_resource", "SELECT cause, resource, sum(seconds) AS seconds, "
                           "sum(seconds) / (SELECT accelerator_seconds FROM run) AS share "
                           "FROM ledger WHERE state IN " IDLE " GROUP BY cause, resource"),
    VIEW("chain", "SELECT h.number AS number, h.ns / 1e9 AS seconds, h.accelerator AS accelerator, "
                  "c.name AS cause, h.resource AS resource, "
                  "(SELECT count(*) FROM chain_link k WHERE k.chain = h.number) AS links "
                  "FROM chain_wait h JOIN word c ON c.kind = 'cause' AND c.number = h.cause"),
    STORAGE("AND coalesce(max(f.number) FILTER (WHERE f.name = 'transfer_share'), 0) < 0.5 "),
    /* The causes that share one loader, the largest first: advice is about that one. */
    VIEW("pipeline",
         "SELECT cause, seconds, share, relative, "
         "row_number() OVER (ORDER BY seconds DESC, cause) AS place "
         "FROM cause WHERE cause IN ('storage', 'prepare', 'cpu-starved') OR cause = 'startup' AND "
         "(SELECT number FROM fact WHERE kind = 'loader' AND name = 'restarts') >= 1"),
    /* Local NVMe disks that the job does not wait for, mounted ones with most room first. */
    VIEW("nvme",
         "SELECT subject AS disk, max(text) FILTER (WHERE name = 'mounted_at') AS mount, "
         "max(number) FILTER (WHERE name = 'free') AS free_bytes, 'the NVMe disk ' || subject || "
         "coalesce(' at ' || max(text) FILTER (WHERE name = 'mounted_at'), ' (not mounted)') "
         "AS label FROM fact WHERE kind = 'disk' GROUP BY subject "
         "HAVING max(number) FILTER (WHERE name = 'nvme') = 1 "
         "AND coalesce(max(number) FILTER (WHERE name = 'local'), 1) = 1 "
         "AND coalesce(max(number) FILTER (WHERE name = 'used_by_job'), 0) = 0 "
         "AND subject NOT IN (SELECT " DISK_OF("resource") " FROM cause_resource "
         "WHERE resource LIKE 'disk %') ORDER BY mount IS NULL, free_bytes DESC, subject"),
    /*
     * What is known of the job, one row. A maker or two of a few deliveries are no loader workers.
     * in_main, where nobody tells: one process, whose reads are the accelerator's waits for them
     * (readers beside the launching thread would read while the accelerator computes).
     */
    VIEW("job",
         "SELECT cores_allowed, cores_spare, CASE WHEN deliveries < 5 THEN NULL ELSE workers END "
         "AS workers, processes, depth, restarts, deliveries, coalesce(in_main, "
         "CASE WHEN processes_peak = 1 AND coalesce(deliveries, 0) < 5 AND read_seconds > 0 "
         "AND read_seconds <= 1.2 * (SELECT seconds FROM cause WHERE cause = 'storage') "
         "AND NOT EXISTS (SELECT 1 FROM chain WHERE cause = 'storage' AND links > 2) "
         "THEN 1 END) AS in_main FROM (SELECT "
         JOB("job", "cores_allowed") ", " JOB("job", "cores_spare") ", "
         JOB("job", "processes_peak") ", " JOB("loader", "workers") ", "
         JOB("loader", "processes") ", " JOB("loader", "depth") ", "
         JOB("loader", "restarts") ", " JOB("loader", "deliveries") ", "
         JOB("loader", "in_main") ", "
         "sum(number) FILTER (WHERE kind = 'storage' AND name = 'read_seconds') AS read_seconds "
         "FROM fact WHERE kind IN ('job', 'loader', 'storage'))"),
    /*
     * Whether more loader workers would help: the loader's main cause overlaps (CPU work, or reads
     * of a store that answers late but has bytes to give) and there are cores for what each of
     * them computes. more: as many as make batches at the rate at which they are taken;
     * first: this is the cure to begin with, not one that only hides a part.
     */
    VIEW("more_workers",
         "SELECT cause, seconds, share, workers, spare, more, "
         "cause = 'prepare' OR workers = 1 AS first FROM ("
         "SELECT p.cause AS cause, p.seconds AS seconds, p.share AS share, j.workers AS workers, "
         "j.cores_spare AS spare, max(1, min(CASE p.cause WHEN 'prepare' "
         "THEN CAST(j.cores_spare AS INTEGER) ELSE 8 END, "
         "CAST(j.workers / max(0.1, 1 - l.share) + 0.99 AS INTEGER) - CAST(j.workers AS INTEGER))) "
         "AS more, CASE p.cause WHEN 'prepare' THEN 1 ELSE l.prepare / l.share END AS busy, "
         "run.accelerators AS accelerators "
         "FROM pipeline p, job j, run, (SELECT sum(share) AS share, "
         "coalesce(sum(share) FILTER (WHERE cause = 'prepare'), 0) AS prepare "
         "FROM cause WHERE cause IN ('storage', 'prepare')) l "
         "WHERE p.place = 1 AND p.share >= 0.08 AND j.workers >= 1 AND coalesce(j.in_main, 0) = 0 "
         "AND (p.cause = 'prepare' OR p.cause = 'storage' AND (SELECT s.latency_bound = 1 "
         "AND s.kind IN ('remote', 'fuse') FROM storage s ORDER BY s.seconds DESC, s.resource "
         "LIMIT 1))) "
         "WHERE spare >= accelerators * max(CASE cause WHEN 'prepare' THEN 1 ELSE 0.25 END, "
         "busy * more)"),
};

/* What older formats had in place of an object. */
static const struct {
    int until; /* the last format that had it */
    struct schema_object object;
} before[] = {
    {1, STORAGE("")},
};

/* clang-format on */
const size_t schema_object_count = sizeof(schema_objects) / sizeof(schema_objects[0]);

const char *schema_sql(const struct schema_object *o, int version)
{
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        if (version <= before[i].until && !strcmp(before[i].object.name, o->name))
            return before[i].object.sql;
    return o->sql;
}
