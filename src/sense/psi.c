/* SPDX-License-Identifier: MIT */
/*
 * psi: the share of the run in which some or all tasks of the machine stood still for want
 * of CPU, memory or I/O. Source: Documentation/accounting/psi.rst. Off in many kernels (the
 * files are absent or refuse to be read): then the source is missing and sends nothing.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const resources[] = {"cpu", "memory", "io"};
static const char *const kinds[] = {"some", "full"};
static const char *const names[3][2] = {
    {"cpu_some_share", "cpu_full_share"},
    {"memory_some_share", "memory_full_share"},
    {"io_some_share", "io_full_share"},
};

struct psi {
    const char *root;
    int64_t t0;
    double total_ns[3][2];
};

/* Stall totals in ns; NAN where absent. Returns how many were read. */
static int read_totals(const char *root, double total_ns[3][2], struct error *e)
{
    int found = 0;
    for (int r = 0; r < 3; r++) {
        char path[64];
        struct str text = {0};
        snprintf(path, sizeof(path), "/proc/pressure/%s", resources[r]);
        int rc = rootfs_read(root, path, &text, e);
        for (int k = 0; k < 2; k++) {
            const char *line = rc ? NULL : strstr(str_text(&text), kinds[k]);
            const char *total = line ? strstr(line, "total=") : NULL;
            double us;
            bool ok = total && sscanf(total, "total=%lf", &us) == 1;
            total_ns[r][k] = ok ? us * (double)NS_PER_US : NAN;
            found += ok;
        }
        str_clear(&text);
    }
    return found;
}

static int psi_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct psi *p = mem_zalloc(sizeof(*p));
    if (!p)
        return error_set(e, STATUS_MEMORY, "out of memory for pressure readings");
    p->root = o->root;
    p->t0 = now;
    if (!read_totals(o->root, p->total_ns, NULL)) {
        free(p);
        return error_set(e, STATUS_MISSING,
                         "\"/proc/pressure\" cannot be read: this kernel has "
                         "pressure stall information switched off (psi=1 "
                         "on its command line brings it)");
    }
    *ret = p;
    return STATUS_OK;
}

static int psi_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct psi *p = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "psi", .source = "/proc/pressure"};
    double after[3][2];
    read_totals(p->root, after, NULL);
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 2; k++)
            out_rate(&o, names[r][k], p->total_ns[r][k] / (double)NS_PER_S,
                     after[r][k] / (double)NS_PER_S, now - p->t0, "1");
    return o.rc;
}

const struct source source_psi = {
    "psi", "pressure stall shares of CPU, memory and I/O", psi_start, NULL, psi_facts, free,
};
