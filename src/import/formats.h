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

/* The set of a format whose files are read into one `struct NAME` (NAME_new, NAME_free) that tells facts at the end
 * (NAME_facts); `read_file` is the format's own. */
#define FORMAT_SET(name, read_file)                                                                \
    static void *name##_set_open(void)                                                             \
    {                                                                                              \
        return name##_new();                                                                       \
    }                                                                                              \
    static void name##_set_close(void *set)                                                        \
    {                                                                                              \
        name##_free(set);                                                                          \
    }                                                                                              \
    static int name##_set_finish(void *set, struct sink *sink, struct error *e)                    \
    {                                                                                              \
        return name##_facts(set, sink_take_fact, sink, e);                                         \
    }                                                                                              \
    static const struct format_set name##_set = {name##_set_open, read_file, name##_set_finish,    \
                                                 name##_set_close}

/* NULL: none of them. */
const struct format *format_of(const char *head, size_t size);
/* The row at i, NULL beyond the last. */
const struct format *format_at(size_t i);

#endif
