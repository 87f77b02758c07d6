/* SPDX-License-Identifier: MIT */
/*
 * data_files: on which file systems the job's data lies: by the files that its processes hold open for
 * reading, by large files that they have mapped, by the paths on their command line that look like data,
 * and by what the user says (--data). Files of programs and logs are left out.
 *
 * Loaders open a file for a moment only: each look adds to what was seen.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/redact.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/job.h"
#include "sense/mounts.h"
#include "sense/out.h"
#include "sense/procfs.h"
#include "sense/text.h"

#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define PLACES_MAX 64
#define PROCESSES_MAX 256 /* looked into at once */
#define FILES_MAX 4096    /* descriptors looked at in one process */
#define TEXT_MAX (8 * MIB)
#define MAPPED_MIN (64.0 * (double)MIB) /* below it a mapping is no data set */
#define ACCESS_MODE 3                   /* O_ACCMODE; 0 is reading */

/* Never data, wherever it lies. */
static const char *const programs[] = {
    "*.so",       "*.so.*",  "*.py",     "*.pyc",           "*.log",
    "*.pyd",      "/dev/*",  "/proc/*",  "/sys/*",          "/run/*",
    "/usr/*",     "/lib/*",  "/lib64/*", "/bin/*",          "/etc/*",
    "*.cubin",    "*.ptx",   "*.lock",   "*/__pycache__/*", "*/site-packages/*",
    "*(deleted)", "memfd:*", "*/.git/*", "/var/log/*",      "*.sh",
    "*/sh-thd*",
};

/* What shells and mktemp(1) hold open; named on a command line it may be data. */
static const char *const shell_files[] = {"/tmp/zsh??????", "/tmp/tmp.??????????"};

/* Options whose path is where data comes from; any of these in the name. */
static const char *const data_words[] = {"data",  "train", "val",  "corpus",
                                         "shard", "input", "root", "imagenet"};
static const char *const other_words[] = {"out",   "log", "ckpt",  "checkpoint", "save",
                                          "cache", "tmp", "model", "venv",       "config"};

struct place {
    char *point;   /* owned: of the mount */
    char *example; /* owned, redacted */
    double open_files, mapped, named;
    double now; /* open files in this look */
};

struct data {
    struct source_opts o;
    struct mounts mounts;
    struct place places[PLACES_MAX];
    size_t count;
    double descriptors_peak; /* of one process */
    bool command_read;
};

static bool is_program(const char *path)
{
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (!fnmatch(programs[i], path, 0))
            return true;
    return path[0] != '/';
}

static bool is_shell_file(const char *path)
{
    for (size_t i = 0; i < sizeof(shell_files) / sizeof(shell_files[0]); i++)
        if (!fnmatch(shell_files[i], path, 0))
            return true;
    return false;
}

static bool has_word(const char *name, size_t n, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memmem(name, n, words[i], strlen(words[i])))
            return true;
    return false;
}

static struct place *place_of(struct data *d, const char *path)
{
    const struct mount *m = mounts_by_path(&d->mounts, path);
    struct str clean = {0};
    if (!m)
        return NULL;
    for (size_t i = 0; i < d->count; i++)
        if (!strcmp(d->places[i].point, m->point))
            return &d->places[i];
    if (d->count == PLACES_MAX)
        return NULL;
    redact_add(&clean, path);
    struct place p = {.point = mem_strdup(m->point), .example = mem_strdup(str_text(&clean))};
    str_clear(&clean);
    if (!p.point || !p.example) {
        free(p.point);
        free(p.example);
        return NULL;
    }
    d->places[d->count] = p;
    return &d->places[d->count++];
}

struct descriptors {
    struct data *d;
    uint32_t pid;
    double count;
};

static void see_descriptor(void *arg, const char *name)
{
    struct descriptors *f = arg;
    char path[64], target[PATH_MAX];
    struct str info = {0};
    if (++f->count > FILES_MAX)
        return;
    snprintf(path, sizeof(path), "/proc/%u/fd/%.20s", f->pid, name);
    if (!rootfs_link(f->d->o.root, path, target, sizeof(target)) || is_program(target) ||
        is_shell_file(target))
        return;
    snprintf(path, sizeof(path), "/proc/%u/fdinfo/%.20s", f->pid, name);
    if (rootfs_bytes(f->d->o.root, path, KIB, &info)) {
        const char *flags = strstr(str_text(&info), "flags:");
        struct place *p = NULL;
        if (flags && !(strtoul(flags + 6, NULL, 8) & ACCESS_MODE))
            p = place_of(f->d, target);
        if (p)
            p->now++;
    }
    str_clear(&info);
}

static void see_maps(struct data *d, uint32_t pid)
{
    char path[64], one[PATH_MAX + 256];
    struct str text = {0};
    const char *line;
    size_t n;
    snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    if (!rootfs_bytes(d->o.root, path, TEXT_MAX, &text))
        str_reset(&text);
    for (const char *p = str_text(&text); text_line(&p, &line, &n);) {
        struct procfs_map m;
        if (n >= sizeof(one))
            continue;
        memcpy(one, line, n);
        one[n] = '\0';
        if (!procfs_parse_map(one, &m) || m.executable || (double)m.bytes < MAPPED_MIN ||
            is_program(m.path))
            continue;
        struct place *place = place_of(d, m.path);
        if (place)
            place->mapped = fmax(place->mapped, (double)m.bytes);
    }
    str_clear(&text);
}

/* Does the word before a path say that it is data ("--train-dir", "data_dir=")? No word: perhaps. */
static bool means_data(const char *option, size_t n)
{
    if (has_word(option, n, other_words, sizeof(other_words) / sizeof(other_words[0])))
        return false;
    return !n || has_word(option, n, data_words, sizeof(data_words) / sizeof(data_words[0]));
}

static void name_path(struct data *d, const char *path)
{
    char root[64], full[PATH_MAX];
    struct place *p;
    if (is_program(path) || !job_root(&d->o, root, sizeof(root)) ||
        snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full) ||
        !rootfs_exists(d->o.root, full))
        return;
    if ((p = place_of(d, path)))
        p->named = 1;
}

static void see_command(struct data *d, uint32_t pid)
{
    struct str text = {0};
    const char *before = "";
    job_words(&d->o, pid, MIB, &text);
    for (size_t i = 0; i < text.len; i += strlen(text.data + i) + 1) {
        const char *word = text.data + i, *equal = strchr(word, '=');
        if (word[0] == '/' && i && means_data(before, strlen(before)))
            name_path(d, word);
        else if (equal && equal[1] == '/' && means_data(word, (size_t)(equal - word)))
            name_path(d, equal + 1);
        before = word[0] == '-' ? word : "";
    }
    str_clear(&text);
}

static void look(void *self, int64_t now)
{
    struct data *d = self;
    struct job_list l = {0};
    char path[64];
    int looked = 0;
    if (!d->o.pid)
        return;
    job_look(&l, &d->o);
    for (size_t i = 0; i < d->count; i++)
        d->places[i].now = 0;
    for (size_t i = 0; i < l.count && looked < PROCESSES_MAX; i++) {
        if (!l.list[i].job)
            continue;
        struct descriptors f = {d, l.list[i].pid, 0};
        looked++;
        snprintf(path, sizeof(path), "/proc/%u/fd", f.pid);
        rootfs_each(d->o.root, path, see_descriptor, &f);
        d->descriptors_peak = fmax(d->descriptors_peak, f.count);
        if (!d->command_read) {
            see_command(d, f.pid);
            see_maps(d, f.pid);
        }
    }
    d->command_read = true;
    for (size_t i = 0; i < d->count; i++)
        d->places[i].open_files = fmax(d->places[i].open_files, d->places[i].now);
    job_clear(&l);
}

static void stop(void *self)
{
    struct data *d = self;
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        free(d->places[i].point);
        free(d->places[i].example);
    }
    mounts_clear(&d->mounts);
    free(d);
}

static int start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    if (!o->pid && !o->data)
        return error_set(e, STATUS_MISSING, "no job was named: nothing is known of its data");
    struct data *d = mem_zalloc(sizeof(*d));
    if (!d)
        return error_set(e, STATUS_MEMORY, "out of memory for the job's files");
    d->o = *o;
    int status = mounts_read(&d->mounts, o->root, o->pid, e);
    if (status) {
        stop(d);
        return status;
    }
    for (size_t i = 0; o->data && o->data[i]; i++) {
        struct place *p = place_of(d, o->data[i]);
        if (p)
            p->named = 1;
    }
    look(d, now);
    *ret = d;
    return STATUS_OK;
}

static int facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct data *d = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "job", .source = "/proc/PID/fd"};
    look(d, now);
    if (d->descriptors_peak > 0)
        out_number(&o, "descriptors_peak", d->descriptors_peak, "count");
    o.kind = "data";
    for (size_t i = 0; i < d->count; i++) {
        const struct place *p = &d->places[i];
        o.subject = p->point;
        o.source = p->named ? "command line" : p->mapped > 0 ? "/proc/PID/maps" : "/proc/PID/fd";
        out_text(&o, "example", p->example);
        out_number(&o, "named", p->named, "1");
        if (d->o.pid) {
            o.source = "/proc/PID/fd";
            out_number(&o, "open_files", p->open_files, "count");
            o.source = "/proc/PID/maps";
            out_number(&o, "mapped", p->mapped, "bytes");
        }
    }
    return o.rc;
}

const struct source source_data = {
    "data", "file systems that the job's data lies on", start, look, facts, stop, .survey = true,
};
