/* SPDX-License-Identifier: MIT */
/*
 * fill: the parts of a report that are read straight from the tables, and the
 * builders that other parts use. Internal to the room.
 */
#ifndef GPUFEED_RECORD_FILL_H
#define GPUFEED_RECORD_FILL_H

#include "model/report.h"
#include "record/open.h"

/* What the meta table says that the report does not carry. */
struct fill_meta {
    int64_t start_ns, window_ns;
    int64_t span_t0, span_t1; /* 0: not known */
    int64_t behind_ns;        /* what a kill may have cost at most; 0: not known */
    bool finished;
};

/* SQL: the device number at the end of an id. Devices are listed in its order. */
#define FILL_DEVICE(id) "CAST(replace(" id ", rtrim(" id ", '0123456789'), '') AS INTEGER)"

/* Each reads one kind of thing into r; on failure r holds what was read so far. */
int fill_meta(struct recording *db, struct report *r, struct fill_meta *ret, struct error *e);
/* Accelerators and rows; makes each accelerator's rows add up to its ns, and sets span_ns
 * (and m->span_t0 where the writer had not stored it yet). */
int fill_ledger(struct recording *db, struct fill_meta *m, struct report *r, struct error *e);
int fill_windows(struct recording *db, const struct fill_meta *m, struct report *r,
                 struct error *e);
int fill_chains(struct recording *db, const struct fill_meta *m, struct report *r, struct error *e);
int fill_notes(struct recording *db, struct report *r, struct error *e);
/* The facts worth showing (a table in fill_facts.c). */
int fill_facts(struct recording *db, struct report *r, struct error *e);

/* What the ranks talk over, where logs of it were read. */
int fill_communication(struct recording *db, struct report *r, struct error *e);

int fill_no_memory(struct recording *db, struct error *e);
/* Adds a note; false: out of memory. */
bool fill_note(struct report *r, const char *line);
/* Adds an item; text NULL: a number. unit and source may be NULL. False: out of memory. */
bool fill_evidence(struct evidence_list *list, const char *name, double value, const char *text,
                   const char *unit, const char *source);

#endif
