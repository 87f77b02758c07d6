/* SPDX-License-Identifier: MIT */
#include "import/nsys.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define ARGUMENTS_MAX 64

typedef void (*about_fn)(struct nsys *n, sqlite3_stmt *s);

/* Each row of a query; nothing where the table, or a column of it, is absent. */
static int each(struct nsys *n, const char *table, const char *sql, about_fn fn)
{
    sqlite3_stmt *s = NULL;
    bool there;
    int status = nsys_is_table(n, table, &there);
    if (status || !there)
        return status;
    if (sqlite3_prepare_v2(n->db, sql, -1, &s, NULL) == SQLITE_OK)
        while (!n->error->status && nsys_step(n, s, table) == SQLITE_ROW)
            fn(n, s);
    sqlite3_finalize(s);
    return n->error->status;
}

static bool is_integer(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_INTEGER;
}

static const char *text_of(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_TEXT
               ? (const char *)sqlite3_column_text(s, column)
               : "";
}

/* ---- before the rows ---- */

/* A process that sees some GPUs only numbers them anew. */
static void take_device(struct nsys *n, sqlite3_stmt *s)
{
    if (!is_integer(s, 0) || !is_integer(s, 1) || !is_integer(s, 2))
        return;
    int64_t pid = sqlite3_column_int64(s, 2), gpu = sqlite3_column_int64(s, 0);
    uint32_t p = pid > 0xffffff ? nsys_pid(pid) : (uint32_t)pid;
    if (gpu >= 0 && gpu < SINK_DEVICES)
        nsys_put(n, &n->devices, (uint64_t)p << 32 | (uint32_t)sqlite3_column_int(s, 1),
                 (uint64_t)gpu);
}

static void take_memory_kind(struct nsys *n, sqlite3_stmt *s)
{
    if (is_integer(s, 0) && strstr(text_of(s, 1), "PAGEABLE"))
        nsys_put(n, &n->pageable, (uint64_t)sqlite3_column_int64(s, 0), 1);
}

static void take_start(struct nsys *n, sqlite3_stmt *s)
{
    int64_t system = is_integer(s, 1) ? sqlite3_column_int64(s, 1) : 0, zero, at;
    if (!is_integer(s, 0) || __builtin_sub_overflow(sqlite3_column_int64(s, 0), system, &zero) ||
        __builtin_add_overflow(zero, n->origin, &at) || sqlite3_column_int64(s, 0) <= 0)
        return;
    sink_start(n->sink, 0, at);
}

static void take_host(struct nsys *n, sqlite3_stmt *s)
{
    if (*text_of(s, 0))
        sink_host(n->sink, text_of(s, 0));
}

int nsys_about_before(struct nsys *n)
{
    int status = each(n, "TARGET_INFO_SYSTEM_ENV",
                      "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE "
                      "name = 'Hostname' LIMIT 1",
                      take_host);
    if (!status)
        status =
            each(n, "TARGET_INFO_CUDA_DEVICE",
                 "SELECT gpuId, cudaId, pid FROM TARGET_INFO_CUDA_DEVICE LIMIT 65536", take_device);
    if (!status)
        status = each(n, "ENUM_CUDA_MEM_KIND", "SELECT id, name FROM ENUM_CUDA_MEM_KIND LIMIT 256",
                      take_memory_kind);
    /* Older exports count from the start of the session and have no systemClockNs. */
    static const char table[] = "TARGET_INFO_SESSION_START_TIME";
    if (!status)
        status = each(n, table,
                      "SELECT utcEpochNs, systemClockNs FROM "
                      "TARGET_INFO_SESSION_START_TIME LIMIT 1",
                      take_start);
    if (!status)
        status = each(n, table, "SELECT utcEpochNs, 0 FROM TARGET_INFO_SESSION_START_TIME LIMIT 1",
                      take_start);
    return status;
}

/* ---- after them ---- */

static void number(struct nsys *n, sqlite3_stmt *s, int column, const char *subject,
                   const char *name, const char *unit)
{
    if (is_integer(s, column) && sqlite3_column_int64(s, column) > 0)
        sink_number(n->sink, "gpu", subject, name, (double)sqlite3_column_int64(s, column), unit);
}

static void take_gpu(struct nsys *n, sqlite3_stmt *s)
{
    char subject[16];
    int64_t id = is_integer(s, 0) ? sqlite3_column_int64(s, 0) : -1;
    if (id < 0 || id >= SINK_DEVICES || !trace_uses(n->trace, (uint32_t)id))
        return;
    snprintf(subject, sizeof(subject), "%d", (int)id);
    if (*text_of(s, 1))
        sink_accelerator(n->sink, (uint32_t)id, text_of(s, 1));
    number(n, s, 2, subject, "sm_count", "count");
    number(n, s, 3, subject, "memory", "bytes");
    number(n, s, 4, subject, "memory_bandwidth", "bytes/s");
    if (sqlite3_column_count(s) > 5 && *text_of(s, 5))
        sink_text(n->sink, "gpu", subject, "pci_bus", text_of(s, 5));
}

static void take_process(struct nsys *n, sqlite3_stmt *s)
{
    uint64_t used;
    if (!is_integer(s, 0) || !*text_of(s, 1))
        return;
    uint32_t pid = nsys_pid(sqlite3_column_int64(s, 0));
    if (map_get(&n->processes, pid, &used))
        sink_workload(n->sink, pid, text_of(s, 1));
}

static int take_command(struct nsys *n)
{
    static const char sql[] = "SELECT value FROM META_DATA_CAPTURE WHERE name = ?";
    struct str line = {0};
    sqlite3_stmt *s = NULL;
    char name[48] = "PROCESS_0:COMMAND";
    bool there;
    int rc = SQLITE_DONE, status = nsys_is_table(n, "META_DATA_CAPTURE", &there);
    if (!status && there && sqlite3_prepare_v2(n->db, sql, -1, &s, NULL) == SQLITE_OK) {
        for (int i = 0; i < ARGUMENTS_MAX; i++) {
            sqlite3_reset(s);
            sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
            if ((rc = nsys_step(n, s, "META_DATA_CAPTURE")) != SQLITE_ROW)
                break;
            str_addf(&line, "%s%s", i ? " " : "", text_of(s, 0));
            snprintf(name, sizeof(name), "PROCESS_0:ARGUMENT_%d", i);
        }
        if (rc != SQLITE_DONE && rc != SQLITE_ROW)
            status = n->error->status;
    }
    sqlite3_finalize(s);
    if (!status && line.failed)
        status = nsys_no_memory(n);
    if (!status && line.len)
        sink_text(n->sink, "job", "", "command", str_text(&line));
    str_clear(&line);
    return status;
}

int nsys_about_after(struct nsys *n)
{
    /* What of it there is: newer columns first, then what all versions have. */
    int status =
        each(n, "TARGET_INFO_GPU", "SELECT id, name FROM TARGET_INFO_GPU LIMIT 1024", take_gpu);
    if (!status)
        status = each(n, "TARGET_INFO_GPU",
                      "SELECT id, name, smCount, totalMemory, memoryBandwidth, "
                      "busLocation FROM TARGET_INFO_GPU LIMIT 1024",
                      take_gpu);
    if (!status)
        status = each(n, "PROCESSES", "SELECT globalPid, name FROM PROCESSES LIMIT 1000000",
                      take_process);
    return status ? status : take_command(n);
}
