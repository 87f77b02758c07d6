/* SPDX-License-Identifier: MIT */
/*
 * formats: the foreign files that can be read, one row each.
 *
 * A format is its own file, ending in one const descriptor, and one row in formats.c. What a file is,
 * its first bytes say, never its name.
 */
#ifndef GPUFEED_IMPORT_FORMATS_H
#define GPUFEED_IMPORT_FORMATS_H

#include "import/sink.h"
#include "import/source.h"

struct format {
    const char *name; /* as a person calls it: "PyTorch profiler trace" */
    /* Is it this format? `head`: the first bytes after inflating, not terminated. The
     * first row that says yes gets the file: what is vague comes last. */
    bool (*recognise)(const char *head, size_t size);
    /* Reads it all. On failure one line with file and offset (or line); what was pushed is then dropped. */
    int (*import)(struct source *source, struct sink *sink, struct error *e);
    /* Where files tell only together what they have to tell (logs of ranks, scrapes): NULL, and ... */
    const struct format_set *set;
};

/* ... all files of the format that one report is about go into one set. */
struct format_set {
    void *(*open)(void); /* NULL: out of memory */
    /* Takes one file; sink is that file's, for its notes. */
    int (*read)(void *set, struct source *source, struct sink *sink, struct error *e);
    /* After the last file: what they tell together. The sink is one of its own. */
    int (*finish)(void *set, struct sink *sink, struct error *e);
    void (*close)(void *set); /* frees; not called with NULL */
};

/* NULL: none of them. */
const struct format *format_of(const char *head, size_t size);
/* The row at i, NULL beyond the last. */
const struct format *format_at(size_t i);

#endif
