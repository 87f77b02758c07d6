/* SPDX-License-Identifier: MIT */
#include "measure/survey.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "measure/measure.h"
#include "sense/sources.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_NS (200 * NS_PER_MS)

static void sleep_ns(int64_t ns)
{
    struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};
    nanosleep(&t, NULL);
}

static int survey_live(const struct survey_options *o, fact_fn fn, void *arg, struct survey *ret)
{
    struct sources sources;
    struct source_opts so = {
        .pid = o->pid, .data = o->data, .vm_size = o->vm_size, .survey = true};
    int64_t begin = measure_now(), end = begin + o->interval_ns, now;
    sources_start(&sources, &so, begin);
    while ((now = measure_now()) < end) {
        sleep_ns(end - now < LOOK_NS ? end - now : LOOK_NS);
        sources_sample(&sources, measure_now());
    }
    int status = sources_facts(&sources, o->interval_ns ? now : begin, fn, arg);
    sources_stop(&sources);
    *ret = (struct survey){o->pid, o->interval_ns ? now - begin : 0};
    return status;
}

/* What the dump says of itself. */
static void read_head(const char *root, struct survey *ret)
{
    struct str text = {0};
    long long v;
    if (rootfs_read(root, ROOTFS_OWN "/dump", &text, NULL))
        str_reset(&text);
    for (const char *p = str_text(&text); *p; p += strcspn(p, "\n"), p += *p == '\n') {
        if (sscanf(p, "interval_ns %lld", &v) == 1 && v > 0)
            ret->interval_ns = v;
        if (sscanf(p, "pid %lld", &v) == 1 && v > 0 && v <= INT32_MAX)
            ret->pid = (uint32_t)v;
    }
    str_clear(&text);
}

static int survey_dump(const struct survey_options *o, fact_fn fn, void *arg, struct survey *ret,
                       struct error *e)
{
    struct sources sources;
    char root[2 * PATH_MAX];
    struct survey s = {0};
    if (!str_copy(root, PATH_MAX, o->root))
        return error_set(e, STATUS_INPUT, "the name of the root folder is too long");
    read_head(root, &s);
    if (o->pid)
        s.pid = o->pid;
    if (!rootfs_exists(root, ROOTFS_OWN "/later"))
        s.interval_ns = 0;
    struct source_opts so = {.root = root,
                             .pid = s.pid,
                             .data = o->data,
                             .vm_size = o->vm_size,
                             .survey = true};
    sources_start(&sources, &so, 0);
    if (s.interval_ns) {
        snprintf(root, sizeof(root), "%s" ROOTFS_OWN "/later\n%s", o->root, o->root);
        sources_sample(&sources, s.interval_ns);
    }
    int status = sources_facts(&sources, s.interval_ns, fn, arg);
    sources_stop(&sources);
    *ret = s;
    return status;
}

int survey_run(const struct survey_options *o, fact_fn fn, void *arg, struct survey *ret,
               struct error *e)
{
    int status = o->root ? survey_dump(o, fn, arg, ret, e) : survey_live(o, fn, arg, ret);
    if (status && e && !e->status)
        error_set(e, (enum status)status, "cannot keep the facts");
    return status;
}
