/* SPDX-License-Identifier: MIT */
#include "import/kineto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct device_in {
    int64_t id;
    char name[96];
    int64_t sms, memory;
};

static bool take_device(struct kineto *k, struct device_in *d)
{
    struct scan *s = &k->scan;
    enum scan_token t;
    while ((t = scan_next(s)) == SCAN_KEY) {
        bool name = SCAN_IS(s, "name");
        int64_t *number = SCAN_IS(s, "id")               ? &d->id
                          : SCAN_IS(s, "numSms")         ? &d->sms
                          : SCAN_IS(s, "totalGlobalMem") ? &d->memory
                                                         : NULL;
        if (!name && !number) {
            if (!scan_skip(s))
                return false;
            continue;
        }
        if ((t = scan_next(s)) == SCAN_ERROR)
            return false;
        if (t == SCAN_OBJECT || t == SCAN_ARRAY) {
            if (!scan_skip_rest(s))
                return false;
        } else if (name && t == SCAN_STRING) {
            scan_text(s->text, s->len, d->name, sizeof(d->name));
        } else if (number && t == SCAN_NUMBER && !scan_decimal(s->text, s->len, 0, number)) {
            *number = -1;
        }
    }
    return t == SCAN_OBJECT_END;
}

static void keep_device(struct kineto *k, const struct device_in *d)
{
    k->names_differ |= *k->all_named && strcmp(k->all_named, d->name);
    snprintf(k->all_named, sizeof(k->all_named), "%s", d->name);
    if (d->id < 0 || d->id >= SINK_DEVICES)
        return;
    snprintf(k->device[d->id].name, sizeof(k->device[d->id].name), "%s", d->name);
    k->device[d->id].sms = d->sms;
    k->device[d->id].memory = d->memory;
}

bool kineto_devices(struct kineto *k)
{
    struct scan *s = &k->scan;
    enum scan_token t = scan_next(s);
    if (t != SCAN_ARRAY)
        return t != SCAN_ERROR && (t != SCAN_OBJECT || scan_skip_rest(s));
    while ((t = scan_next(s)) != SCAN_ARRAY_END) {
        struct device_in d = {.id = -1, .sms = -1, .memory = -1};
        if (t == SCAN_OBJECT) {
            if (!take_device(k, &d))
                return false;
            keep_device(k, &d);
        } else if (t == SCAN_ERROR || (t == SCAN_ARRAY && !scan_skip_rest(s))) {
            return false;
        }
    }
    return true;
}

bool kineto_distributed(struct kineto *k)
{
    struct scan *s = &k->scan;
    enum scan_token t = scan_next(s);
    int64_t rank = -1, world = -1;
    char text[64];
    if (t != SCAN_OBJECT)
        return t != SCAN_ERROR && (t != SCAN_ARRAY || scan_skip_rest(s));
    while ((t = scan_next(s)) == SCAN_KEY) {
        bool backend = SCAN_IS(s, "backend"), nccl = SCAN_IS(s, "nccl_version");
        int64_t *number = SCAN_IS(s, "rank") ? &rank : SCAN_IS(s, "world_size") ? &world : NULL;
        t = scan_next(s);
        if ((t == SCAN_OBJECT || t == SCAN_ARRAY) && !scan_skip_rest(s))
            return false;
        if (t == SCAN_ERROR)
            return false;
        if (number && t == SCAN_NUMBER && !scan_decimal(s->text, s->len, 0, number))
            *number = -1;
        if (t == SCAN_STRING && (backend || nccl)) {
            scan_text(s->text, s->len, text, sizeof(text));
            sink_text(k->sink, "job", "", backend ? "backend" : "nccl_version", text);
        }
    }
    if (rank >= 0 && rank < 1 << 30)
        sink_rank(k->sink, (int)rank, world > 0 && world < 1 << 30 ? (int)world : 0);
    return t == SCAN_OBJECT_END;
}
