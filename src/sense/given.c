/* SPDX-License-Identifier: MIT */
/*
 * given: facts that a dump brings along because no file of the machine tells them: those of NVML and
 * of other libraries and kernel interfaces. One line each, six columns with tabs between:
 * KIND SUBJECT NAME VALUE UNIT SOURCE; a VALUE with an empty UNIT is a text.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "sense/out.h"
#include "sense/text.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 6
#define LINE_MAX_BYTES 2048

struct given {
    struct source_opts o;
};

static int start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    if (!o->root || !*o->root)
        return error_set(e, STATUS_MISSING, "this is a live machine, not a dump");
    struct given *g = mem_zalloc(sizeof(*g));
    if (!g)
        return error_set(e, STATUS_MEMORY, "out of memory for the facts of the dump");
    g->o = *o;
    *ret = g;
    return STATUS_OK;
}

static void send(char *line, struct out *o)
{
    char *column[COLUMNS];
    int n = 0;
    for (char *p = line; p && n < COLUMNS; n++)
        column[n] = strsep(&p, "\t");
    if (n < 5)
        return;
    o->kind = column[0];
    o->subject = column[1];
    o->source = n == COLUMNS && *column[5] ? column[5] : "dump";
    if (!*column[4]) {
        out_text(o, column[2], column[3]);
        return;
    }
    char *end;
    double v = strtod(column[3], &end);
    if (end != column[3] && !*end)
        out_number(o, column[2], v, column[4]);
}

static int facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    const struct given *g = self;
    struct out o = {.fn = fn, .arg = arg};
    struct str text = {0};
    const char *line;
    size_t n;
    if (rootfs_read(g->o.root, ROOTFS_OWN "/facts", &text, NULL))
        str_reset(&text);
    for (const char *p = str_text(&text); text_line(&p, &line, &n) && !o.rc;) {
        char copy[LINE_MAX_BYTES];
        if (n >= sizeof(copy) || *line == '#')
            continue;
        memcpy(copy, line, n);
        copy[n] = '\0';
        send(copy, &o);
    }
    str_clear(&text);
    return o.rc;
}

const struct source source_given = {
    "given", "facts that a dump brings along", start, NULL, facts, free, true,
};
