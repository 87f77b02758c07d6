/* SPDX-License-Identifier: MIT */
#include "measure/own_reads.h"

#include "base/rootfs.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/text.h"

#include <math.h>
#include <stdio.h>

#define IO_MAX 4096
#define APART_NS NS_PER_S

void own_reads_add(struct own_reads *o, uint32_t pid, int64_t now)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->of[i].pid == pid)
            return;
    if (o->count < OWN_READS_MAX)
        o->of[o->count++] = (struct own_reader){.pid = pid, .taken = now};
}

void own_reads_look(struct own_reads *o, int64_t now)
{
    char path[64];
    struct str text = {0};
    for (size_t i = 0; i < o->count; i++) {
        struct own_reader *r = &o->of[i];
        if (now - r->taken < APART_NS)
            continue;
        snprintf(path, sizeof(path), "/proc/%u/task/%u/io", r->pid, r->pid);
        double bytes =
            rootfs_bytes(NULL, path, IO_MAX, &text) ? text_number(str_text(&text), "rchar") : NAN;
        if (!isfinite(bytes)) /* it is over, or not ours to look at */
            continue;
        if (!r->t0) {
            r->t0 = now;
            r->read = bytes;
        }
        r->t1 = now;
        r->now = bytes;
    }
    str_clear(&text);
}

double own_reads_rate(const struct own_reads *o)
{
    double most = NAN;
    for (size_t i = 0; i < o->count; i++) {
        const struct own_reader *r = &o->of[i];
        double rate =
            r->t1 - r->t0 >= APART_NS ? (r->now - r->read) / unit_seconds(r->t1 - r->t0) : NAN;
        most = isfinite(rate) && !(rate <= most) ? rate : most;
    }
    return most;
}
