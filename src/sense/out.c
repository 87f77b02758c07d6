/* SPDX-License-Identifier: MIT */
#include "sense/out.h"

#include "base/unit.h"

#include <math.h>
#include <stddef.h>

static void send(struct out *o, const char *name, const char *text, double number, const char *unit)
{
    struct fact f = {
        .kind = o->kind,
        .subject = o->subject ? o->subject : "",
        .name = name,
        .text = text,
        .number = number,
        .unit = unit,
        .source = o->source,
    };
    if (!o->rc)
        o->rc = o->fn(o->arg, &f);
}

void out_number(struct out *o, const char *name, double value, const char *unit)
{
    if (isfinite(value))
        send(o, name, NULL, value, unit);
}

void out_text(struct out *o, const char *name, const char *text)
{
    if (text && *text)
        send(o, name, text, NAN, "");
}

void out_rate(struct out *o, const char *name, double before, double after, int64_t ns,
              const char *unit)
{
    if (ns > 0 && after >= before)
        out_number(o, name, (after - before) / unit_seconds(ns), unit);
}
