/* SPDX-License-Identifier: MIT */
#include "record/schema.h"

/* Tables hold what was seen; numbers of states, causes and evidence are spelt out in `word`. */
#define TABLE(name, body) {"table", name, "CREATE TABLE " name " " body}
/* Views are what rules and users select from: stable names, seconds, shares of 1. */
#define VIEW(name, body) {"view", name, "CREATE VIEW " name " AS " body}

#define IDLE "('wait','comm','copy')"

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
          "evidence INTEGER NOT NULL, ns INTEGER NOT NULL, PRIMARY KEY (t0, accelerator, workload, "
          "state, cause, resource, evidence)) WITHOUT ROWID"),
    TABLE("fact", "(kind TEXT NOT NULL, subject TEXT NOT NULL, name TEXT NOT NULL, text TEXT, "
                  "number REAL, unit TEXT NOT NULL, source TEXT NOT NULL, "
                  "PRIMARY KEY (kind, subject, name)) WITHOUT ROWID"),
    TABLE("note", "(number INTEGER PRIMARY KEY, line TEXT NOT NULL)"),
    TABLE("chain_wait", "(number INTEGER PRIMARY KEY, t0 INTEGER NOT NULL, ns INTEGER NOT NULL, "
                        "accelerator INTEGER NOT NULL, cause INTEGER NOT NULL, resource TEXT)"),
    TABLE("chain_link", "(chain INTEGER NOT NULL, position INTEGER NOT NULL, who TEXT NOT NULL, "
                        "did TEXT NOT NULL, PRIMARY KEY (chain, position)) WITHOUT ROWID"),
    TABLE("delivery", "(number INTEGER PRIMARY KEY, chunk BLOB NOT NULL)"),

    VIEW("run", "SELECT (SELECT value FROM meta WHERE key = 'title') AS title, "
                "(SELECT value FROM meta WHERE key = 'mode') AS mode, "
                "(SELECT value FROM meta WHERE key = 'version') AS version, "
                "(SELECT count(*) FROM meta WHERE key = 'finished') AS complete, "
                "(SELECT value FROM meta WHERE key = 'exit_code') AS exit_code, "
                "(SELECT max(seconds) FROM accelerator) AS seconds, "
                "(SELECT sum(seconds) FROM accelerator) AS accelerator_seconds, "
                "(SELECT count(*) FROM accelerator) AS accelerators"),
    VIEW("accelerator",
         "SELECT d.number AS number, d.id AS id, d.name AS name, d.simulated AS simulated, "
         "total(r.ns) / 1e9 AS seconds, "
         "total(r.ns) FILTER (WHERE w.name = 'compute') / 1e9 AS compute_seconds, "
         "total(r.ns) FILTER (WHERE w.name = 'compute') / nullif(total(r.ns), 0) AS compute_share "
         "FROM device d LEFT JOIN ledger_row r ON r.accelerator = d.number "
         "LEFT JOIN word w ON w.kind = 'state' AND w.number = r.state GROUP BY d.number"),
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
    VIEW("cause", "SELECT cause, sum(seconds) AS seconds, "
                  "sum(seconds) / (SELECT accelerator_seconds FROM run) AS share "
                  "FROM ledger WHERE state IN " IDLE " GROUP BY cause"),
    VIEW("cause_resource", "SELECT cause, resource, sum(seconds) AS seconds, "
                           "sum(seconds) / (SELECT accelerator_seconds FROM run) AS share "
                           "FROM ledger WHERE state IN " IDLE " GROUP BY cause, resource"),
    VIEW("chain", "SELECT h.number AS number, h.ns / 1e9 AS seconds, h.accelerator AS accelerator, "
                  "c.name AS cause, h.resource AS resource, "
                  "(SELECT count(*) FROM chain_link k WHERE k.chain = h.number) AS links "
                  "FROM chain_wait h JOIN word c ON c.kind = 'cause' AND c.number = h.cause"),
};

const size_t schema_object_count = sizeof(schema_objects) / sizeof(schema_objects[0]);
