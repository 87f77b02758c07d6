/* SPDX-License-Identifier: MIT */
/*
 * sink: what an importer pushes: the accelerators, events, facts and notes of one file, which is
 * one rank of a job. Events go through a ledger of the file's own into the recording.
 *
 * Nothing here fails for the importer: the first failure of the recording is kept, what comes after does
 * nothing, and import.c asks for it at the end. Texts are copied. One thread at a time.
 *
 * Numbers of accelerators, threads and resources are the file's own: two ranks may both have a
 * device 0. Times are int64 ns of the file's clock, in any zero; sink_start joins it to the wall
 * clock where the file tells that.
 */
#ifndef GPUFEED_IMPORT_SINK_H
#define GPUFEED_IMPORT_SINK_H

#include "model/event.h"
#include "model/fact.h"
#include "model/ledger_row.h"

#include <stdbool.h>
#include <stddef.h>

struct sink;

/* ---- who ---- */

/* What recorded this: "PyTorch profiler", "NCCL log". Constant text. */
void sink_tool(struct sink *s, const char *tool);
/* Of which rank this is; ranks < 0 (unknown) are left out. Before the first accelerator. */
void sink_rank(struct sink *s, int rank, int world);
/* On which machine it was recorded. */
void sink_host(struct sink *s, const char *name);
/* A device by its number in the file, below SINK_DEVICES; name NULL: unknown. Again: renames. A device
 * that an event names needs no such call. It is held by the process (not 0) of its first span, from
 * that one to the end of its last. */
#define SINK_DEVICES 64
void sink_accelerator(struct sink *s, uint32_t device, const char *name);
/* What process `pid` is: "python3 train.py". */
void sink_workload(struct sink *s, uint32_t pid, const char *text);

/* ---- when ---- */

/* One instant on both clocks. */
void sink_start(struct sink *s, int64_t ns, int64_t unix_ns);
/* From when to when the file tells, so that the chart gets windows that fit; after sink_start, before the
 * first event. Unknown: windows of 1 s. A file that was recorded at another time than those before it is
 * shown beside them, with a note. */
void sink_extent(struct sink *s, int64_t t0, int64_t t1);

/* The windows of the chart, where nothing has decided them yet. */
void sink_windows(struct sink *s, int64_t each_ns);

/* ---- what ---- */

/* Number of a resource's text, for events; 0 for "" or out of memory. */
uint32_t sink_resource(struct sink *s, const char *text);
/* Per thread and per device in order of time; else any order as far as sink_advance allows. */
void sink_event(struct sink *s, const struct event *e);
/* All events that begin before t have been pushed. Call now and then: it bounds memory. */
void sink_advance(struct sink *s, int64_t t);
/* A row of a ledger that the importer made itself (counters of two scrapes). */
void sink_row(struct sink *s, const struct ledger_row *row);
/* The time that such rows cover, on the file's clock. */
void sink_span(struct sink *s, int64_t t0, int64_t t1);
/* A fact of doc/facts.md. */
void sink_fact(struct sink *s, const struct fact *fact);
int sink_take_fact(void *sink, const struct fact *fact); /* the same as a fact_fn; 0 */
/* Shorthand: a number, or a text, from the file's tool. */
void sink_number(struct sink *s, const char *kind, const char *subject, const char *name,
                 double number, const char *unit);
void sink_text(struct sink *s, const char *kind, const char *subject, const char *name,
               const char *text);

/* ---- what is wrong with the file ---- */

/* One line for the user; the file's name is put before it. */
void sink_note(struct sink *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Why what devices of this file waited for is not known: for rows that the importer made itself. */
void sink_unknown(struct sink *s, const char *why);
/* `count` things were left out for `reason`, a constant text that follows the number: "events without
 * a duration". All reasons of a file become one note. */
void sink_skip(struct sink *s, const char *reason, uint64_t count);

#endif
