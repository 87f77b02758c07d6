/* SPDX-License-Identifier: MIT */
/*
 * fix: what `check --fix` does: plan, apply, verify, undo.
 *
 * Only knobs of a fixed list are turned (fix/knob.h), each of them safe and reversible. Before a knob is
 * turned the journal (fix/journal.h) holds its value, on the disk; after it the value is read again. A kill
 * between the two can be undone. Undo gives each knob its value back, the latest first, and leaves alone what
 * somebody else has set since.
 */
#ifndef GPUFEED_FIX_FIX_H
#define GPUFEED_FIX_FIX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIX_JOURNAL "/var/lib/gpufeed/fix.journal"

enum fix_state {
    FIX_PLANNED,
    FIX_KEPT,   /* it has the wanted value already, or can have no better one, as `why` says */
    FIX_DONE,   /* set, and seen to be set */
    FIX_FAILED, /* `why` says what went wrong; it has its old value, unless that is said there, too */
    FIX_UNDONE, /* has its old value again */
    FIX_LEFT,   /* changed by somebody else since, or gone: left alone */
};

struct fix_step {
    char knob[16], target[512], before[64], after[64];
    char finding[96];
    enum fix_state state;
    char why[256];
    unsigned number; /* in the journal */
};

struct fix_plan {
    struct fix_step *steps; /* owned */
    size_t count, cap;
    bool dry;     /* of a dump: nothing can be applied */
    bool undo;    /* made by fix_undo: what is FIX_DONE in it is still to be undone */
    bool stopped; /* the journal failed: what is FIX_PLANNED was not done, nor FIX_DONE undone */
};

struct fix_context {
    const char *root; /* NULL: this machine */
    uint32_t pid;     /* the job's first process; 0 none */
};

/*
 * Adds what the text asks for, "KNOB TARGET VALUE" (doc/rules.md), with the present value. A step that cannot be
 * done here is added as FIX_FAILED; what is no knob, or asks for more than a knob may do, is STATUS_INPUT.
 * A step that is planned already is not added again.
 */
int fix_plan_add(struct fix_plan *p, const struct fix_context *c, const char *finding,
                 const char *text, struct error *e);
void fix_plan_clear(struct fix_plan *p);

/* Between the journal and the knob, for tests that die there; NULL: nothing. */
typedef void (*fix_moment_fn)(void *arg);

struct fix_journal {
    const char *path; /* NULL: FIX_JOURNAL */
    int64_t unix_ns;  /* now */
    const char *root; /* "" or NULL: this machine; a folder in tests */
    fix_moment_fn moment;
    void *arg;
};

/* Applies all planned steps; each tells in its state how it went. An error: the journal cannot be kept, and
 * nothing more was done (p->stopped); the steps tell what was. */
int fix_apply(struct fix_plan *p, const struct fix_journal *j, struct error *e);
/* Undoes all that the journal holds, and tells it in ret's steps. STATUS_MISSING: there is no journal. On another
 * error, ret->stopped, they tell what was undone and what was not. */
int fix_undo(const struct fix_journal *j, struct fix_plan *ret, struct error *e);

#endif
