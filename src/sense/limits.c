/* SPDX-License-Identifier: MIT */
/*
 * limits: resource limits of the job or, where none is named, of the shell that asks, which a job started
 * from it would get; and what logins and services get by their settings.
 *
 * Sources of the formats: proc_pid_limits(5), limits.conf(5), systemd-system.conf(5).
 */
#include "sense/source.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/out.h"
#include "sense/plain.h"
#include "sense/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX (256 * KIB)

static const struct {
    const char *name, *line, *unit, *systemd;
    double login_unit; /* of a number in limits.conf */
} limits[] = {
    {"nofile", "Max open files", "count", "DefaultLimitNOFILE", 1},
    {"memlock", "Max locked memory", "bytes", "DefaultLimitMEMLOCK", (double)KIB},
    {"nproc", "Max processes", "count", "DefaultLimitNPROC", 1},
};
#define LIMITS (sizeof(limits) / sizeof(limits[0]))

static void send(struct out *o, const char *name, const char *unlimited, const char *word,
                 const char *unit)
{
    char *end;
    double v = strtod(word, &end);
    if (!strcmp(word, "unlimited"))
        out_number(o, unlimited, 1, "1");
    else if (end != word && !*end)
        out_number(o, name, v, unit);
}

/* "Max open files            1024                 524288               files" */
static void of_process(const struct source_opts *opts, struct out *o)
{
    char path[64] = "/proc/self/limits";
    struct str text = {0};
    if (opts->pid)
        snprintf(path, sizeof(path), "/proc/%u/limits", opts->pid);
    if (!rootfs_bytes(opts->root, path, SETTINGS_MAX, &text)) {
        str_clear(&text);
        return;
    }
    o->source = opts->pid ? "/proc/PID/limits" : "/proc/self/limits";
    for (size_t i = 0; i < LIMITS; i++) {
        char soft[32], hard[32];
        const char *p = strstr(str_text(&text), limits[i].line);
        o->subject = limits[i].name;
        if (!p)
            continue;
        p += strlen(limits[i].line);
        if (!text_word(&p, soft, sizeof(soft)) || !text_word(&p, hard, sizeof(hard)))
            continue;
        send(o, "soft", "unlimited", soft, limits[i].unit);
        send(o, "hard", "hard_unlimited", hard, limits[i].unit);
    }
    str_clear(&text);
}

/* The last line of limits.conf that is about everybody: "* soft memlock unlimited". */
static void of_logins(const struct source_opts *opts, const char *file, struct out *o)
{
    struct str text = {0};
    const char *line;
    size_t n;
    if (!rootfs_bytes(opts->root, file, SETTINGS_MAX, &text))
        str_reset(&text);
    o->source = file;
    for (const char *p = str_text(&text); text_line(&p, &line, &n);) {
        char who[64], type[16], item[32], value[32];
        bool ok = text_word(&line, who, sizeof(who)) && text_word(&line, type, sizeof(type)) &&
                  text_word(&line, item, sizeof(item)) && text_word(&line, value, sizeof(value));
        if (!ok || strcmp(who, "*") || (strcmp(type, "soft") && strcmp(type, "-")))
            continue;
        for (size_t i = 0; i < LIMITS; i++) {
            char *end;
            double v = strtod(value, &end);
            if (strcmp(item, limits[i].name))
                continue;
            o->subject = limits[i].name;
            if (!strcmp(value, "unlimited") || !strcmp(value, "-1") || !strcmp(value, "infinity"))
                out_number(o, "login_unlimited", 1, "1");
            else if (end != value && !*end)
                out_number(o, "login_soft", v * limits[i].login_unit, limits[i].unit);
        }
    }
    str_clear(&text);
}

static void of_services(const struct source_opts *opts, struct out *o)
{
    struct str text = {0};
    const char *line;
    size_t n;
    o->source = "/etc/systemd/system.conf";
    if (!rootfs_bytes(opts->root, o->source, SETTINGS_MAX, &text))
        str_reset(&text);
    for (const char *p = str_text(&text); text_line(&p, &line, &n);)
        for (size_t i = 0; i < LIMITS; i++) {
            size_t key = strlen(limits[i].systemd);
            char value[64];
            if (n <= key || strncmp(line, limits[i].systemd, key) || line[key] != '=')
                continue;
            snprintf(value, sizeof(value), "%.*s", (int)(n - key - 1), line + key + 1);
            o->subject = limits[i].name;
            out_text(o, "services", value);
        }
    str_clear(&text);
}

struct logins {
    const struct source_opts *opts;
    struct out *out;
};

static void each_file(void *arg, const char *name)
{
    struct logins *l = arg;
    char path[320];
    size_t n = strlen(name);
    if (n > 5 && !strcmp(name + n - 5, ".conf") &&
        snprintf(path, sizeof(path), "/etc/security/limits.d/%s", name) < (int)sizeof(path))
        of_logins(l->opts, path, l->out);
}

static int facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    const struct source_opts *opts = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "limit"};
    struct logins l = {opts, &o};
    of_process(opts, &o);
    of_logins(opts, "/etc/security/limits.conf", &o);
    rootfs_each(opts->root, "/etc/security/limits.d", each_file, &l);
    of_services(opts, &o);
    return o.rc;
}

const struct source source_limits = {
    "limits",       "open files, locked memory, processes", plain_start, NULL, facts, plain_stop,
    .survey = true,
};
