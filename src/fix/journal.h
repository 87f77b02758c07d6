/* SPDX-License-Identifier: MIT */
/*
 * journal: what `check --fix --apply` has changed, written before it changes it. Internal to the room.
 *
 * A text file, one line an event, tabs between: UNIX_TIME NUMBER EVENT KNOB TARGET BEFORE AFTER
 * FINDING. EVENT: "begin" (about to be set), "done" (set and seen), "failed" (not set), "undone" (set back),
 * "left" (not set back: it has been changed since). Each line is on the disk before anything else
 * happens. A line without its newline (a crash) does not count. One process at a time holds the file.
 */
#ifndef GPUFEED_FIX_JOURNAL_H
#define GPUFEED_FIX_JOURNAL_H

#include "fix/knob.h"

#include <stdint.h>

#define JOURNAL_WORD 96

enum journal_event {
    JOURNAL_BEGIN,
    JOURNAL_DONE,
    JOURNAL_FAILED,
    JOURNAL_UNDONE,
    JOURNAL_LEFT,
    JOURNAL_EVENTS
};

struct journal_entry {
    unsigned number;
    enum journal_event event; /* the last one */
    char knob[16], target[KNOB_TARGET], before[KNOB_VALUE], after[KNOB_VALUE];
    char finding[JOURNAL_WORD];
};

struct journal {
    int fd;
    char *path;                    /* owned */
    struct journal_entry *entries; /* owned, in the order of their numbers */
    size_t count, cap;
};

/* Opens, locks and reads it; `make`: a new one where there is none, with the last folder of its path.
 * STATUS_INPUT: it is no journal. */
int journal_open(const char *path, bool make, struct journal *ret, struct error *e);
/* Adds an entry, or an event to entry `number`, and waits until it is on the disk. */
int journal_begin(struct journal *j, struct journal_entry *entry, int64_t unix_ns, struct error *e);
int journal_event(struct journal *j, unsigned number, enum journal_event event, int64_t unix_ns,
                  struct error *e);
void journal_close(struct journal *j);

#endif
