/* SPDX-License-Identifier: MIT */
#include "measure/survey.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "measure/dump.h"
#include "measure/measure.h"
#include "sense/sources.h"
#include "sense/vm.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DATA_MAX 16
#define LOOK_NS (200 * NS_PER_MS)

static void sleep_ns(int64_t ns)
{
    struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};
    nanosleep(&t, NULL);
}

/* Rules that rest on rates ask for how long they were taken. */
static int seconds_fact(int64_t interval_ns, fact_fn fn, void *arg)
{
    const struct fact f = {"survey", "",       "seconds", NULL, unit_seconds(interval_ns),
                           "s",      "gpufeed"};
    return interval_ns > 0 ? fn(arg, &f) : STATUS_OK;
}

struct tee {
    fact_fn fn;
    void *arg;
    struct dump *dump; /* NULL: these facts come from files */
};

static int on_fact(void *arg, const struct fact *fact)
{
    struct tee *t = arg;
    if (t->dump)
        dump_fact(t->dump, fact);
    return t->fn(t->arg, fact);
}

static int all_facts(struct sources *s, const struct survey_options *o, int64_t now, fact_fn fn,
                     void *arg)
{
    int status = STATUS_OK;
    for (size_t i = 0; i < sources_count() && !status; i++) {
        struct tee t = {fn, arg, sources_at(i)->live ? o->dump : NULL};
        status = sources_facts_of(s, i, now, on_fact, &t);
    }
    return status;
}

static int survey_live(const struct survey_options *o, fact_fn fn, void *arg, struct survey *ret)
{
    struct sources sources;
    struct source_opts so = {.pid = o->pid, .data = o->data, .vm_size = o->vm_size, .survey = true};
    int64_t begin = measure_now(), end = begin + o->interval_ns, now;
    sources_start(&sources, &so, begin);
    while ((now = measure_now()) < end) {
        sleep_ns(end - now < LOOK_NS ? end - now : LOOK_NS);
        sources_sample(&sources, measure_now());
    }
    int status = all_facts(&sources, o, o->interval_ns ? now : begin, fn, arg);
    sources_stop(&sources);
    *ret = (struct survey){o->pid, o->interval_ns ? now - begin : 0};
    if (!status)
        status = seconds_fact(ret->interval_ns, fn, arg);
    return status;
}

/* What the dump says of itself, and of what it was asked. */
struct head {
    struct survey seen;
    char *text; /* owned */
    const char *data[DATA_MAX + 1], *vm_size;
    size_t count;
};

static void read_head(const char *root, struct head *h)
{
    struct str text = {0};
    long long v;
    if (!rootfs_read(root, ROOTFS_OWN "/dump", &text, NULL))
        h->text = text.data;
    for (char *rest = h->text, *line; rest && (line = strsep(&rest, "\n"));) {
        if (sscanf(line, "interval_ns %lld", &v) == 1 && v > 0)
            h->seen.interval_ns = v;
        else if (sscanf(line, "pid %lld", &v) == 1 && v > 0 && v <= INT32_MAX)
            h->seen.pid = (uint32_t)v;
        else if (!strncmp(line, "vm_size ", 8))
            h->vm_size = line + 8;
        else if (!strncmp(line, "data /", 6) && h->count < DATA_MAX)
            h->data[h->count++] = line + 5;
    }
}

static int survey_dump(const struct survey_options *o, fact_fn fn, void *arg, struct survey *ret,
                       struct error *e)
{
    struct sources sources;
    char root[2 * PATH_MAX];
    struct head h = {0};
    if (!str_copy(root, PATH_MAX, o->root))
        return error_set(e, STATUS_INPUT, "the name of the root folder is too long");
    read_head(root, &h);
    struct survey s = h.seen;
    if (o->pid)
        s.pid = o->pid;
    if (!rootfs_exists(root, ROOTFS_OWN "/later"))
        s.interval_ns = 0;
    struct source_opts so = {.root = root,
                             .pid = s.pid,
                             .data = o->data   ? o->data
                                     : h.count ? h.data
                                               : NULL,
                             .vm_size = o->vm_size ? o->vm_size : h.vm_size,
                             .survey = true};
    sources_start(&sources, &so, 0);
    if (s.interval_ns) {
        snprintf(root, sizeof(root), "%s" ROOTFS_OWN "/later\n%s", o->root, o->root);
        sources_sample(&sources, s.interval_ns);
    }
    int status = all_facts(&sources, o, s.interval_ns, fn, arg);
    sources_stop(&sources);
    free(h.text);
    if (!status)
        status = seconds_fact(s.interval_ns, fn, arg);
    *ret = s;
    return status;
}

int survey_run(const struct survey_options *o, fact_fn fn, void *arg, struct survey *ret,
               struct error *e)
{
    if (o->dump)
        dump_start(o->dump);
    int status = o->root ? survey_dump(o, fn, arg, ret, e) : survey_live(o, fn, arg, ret);
    if (o->dump)
        dump_stop(o->dump);
    if (status && e && !e->status)
        error_set(e, (enum status)status, "cannot keep the facts");
    return status;
}

bool survey_vm_size_known(const char *size)
{
    return vm_size_known(size);
}
