/* SPDX-License-Identifier: MIT */
#include "record/fill.h"

#include "base/str.h"
#include "base/unit.h"

#include <math.h>

/* The facts that a reader of the report wants to see, in this order (doc/facts.md). */
static const struct {
    const char *kind, *name, *label; /* with a subject: "LABEL of SUBJECT" */
} shown[] = {
    {"job", "device_unseen", "devices not seen"},
    {"job", "cores_allowed", "cores allowed"},
    {"job", "cores_spare", "cores idle on average"},
    {"loader", "workers", "loader workers"},
    {"loader", "depth", "batches prepared ahead"},
    {"loader", "restarts", "loader restarts"},
    {"storage", "mean_read_ms", "mean read"},
    {"storage", "in_flight", "reads in flight"},
    {"storage", "throughput_bytes_s", "read rate"},
    {"copy", "pageable_bytes", "copied from pageable memory"},
    {"launch", "count", "kernel launches"},
    {"launch", "mean_kernel_us", "mean kernel"},
    {"checkpoint", "count", "checkpoints"},
    {"metric", "value", "metric"},
    {"gpu", "power_mean_w", "mean power"},
    {"gpu", "utilisation_nvml", "utilisation as NVML counts it"},
};

#define PER_KIND_MAX 8 /* rows of one label: a job may read from many places */

static int add(struct recording *db, struct report *r, size_t i, sqlite3_stmt *s, struct error *e)
{
    const char *subject = (const char *)sqlite3_column_text(s, 0);
    const char *text = (const char *)sqlite3_column_text(s, 1);
    struct str name = {0};
    str_add(&name, shown[i].label);
    if (subject && *subject)
        str_addf(&name, " of %s", subject);
    bool ok =
        !name.failed && fill_evidence(&r->evidence, str_text(&name), sqlite3_column_double(s, 2),
                                      text, (const char *)sqlite3_column_text(s, 3),
                                      (const char *)sqlite3_column_text(s, 4));
    str_clear(&name);
    return ok ? STATUS_OK : fill_no_memory(db, e);
}

/* What the verdict needs and nobody is shown. */
static int sum_launch(struct recording *db, const char *name, double *ret_ns, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    if (sqlite3_prepare_v2(db->db,
                           "SELECT sum(number) FROM fact WHERE kind = 'launch' "
                           "AND name = ? AND number >= 0",
                           -1, &s, NULL) ||
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC) || sqlite3_step(s) != SQLITE_ROW)
        return recording_error(db, e, "reading its facts");
    double seconds = sqlite3_column_double(s, 0);
    if (sqlite3_column_type(s, 0) != SQLITE_NULL && isfinite(seconds))
        *ret_ns = seconds * (double)NS_PER_S;
    return STATUS_OK;
}

int fill_facts(struct recording *db, struct report *r, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    if (sqlite3_prepare_v2(db->db,
                           "SELECT subject, text, number, unit, source FROM fact WHERE kind = ? "
                           "AND name = ? AND (text IS NOT NULL OR number IS NOT NULL) "
                           "ORDER BY subject LIMIT ?",
                           -1, &s, NULL))
        return recording_error(db, e, "reading its facts");
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        int rc, status = STATUS_OK;
        sqlite3_reset(s);
        sqlite3_bind_text(s, 1, shown[i].kind, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 2, shown[i].name, -1, SQLITE_STATIC);
        sqlite3_bind_int(s, 3, PER_KIND_MAX);
        while (!status && (rc = sqlite3_step(s)) == SQLITE_ROW)
            status = add(db, r, i, s, e);
        if (status)
            return status;
        if (rc != SQLITE_DONE)
            return recording_error(db, e, "reading its facts");
    }
    int status = sum_launch(db, "awaited_seconds", &r->awaited_ns, e);
    return status ? status : sum_launch(db, "late_seconds", &r->late_ns, e);
}
