/* SPDX-License-Identifier: MIT */
#include "measure/dump.h"

#include "base/anonymous.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rootfs.h"
#include "base/tar.h"
#include "measure/dump_clean.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MAX 16

struct entry {
    bool file, folder, link; /* its content, entries, target were read; none: it was looked for */
    struct str first, last;  /* what it held; last: once it was different */
    struct str target;       /* of a link */
};

struct dump {
    struct intern paths;
    /* paths that others lie below, the first above_count; then those asked about */
    struct intern above;
    size_t above_count;
    struct entry *entries; /* owned; by number - 1 */
    size_t count, cap;
    struct str facts, sizes;
    struct anonymous names;
    bool failed;
};

struct dump *dump_new(void)
{
    return mem_zalloc(sizeof(struct dump));
}

void dump_free(struct dump *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        str_clear(&d->entries[i].first);
        str_clear(&d->entries[i].last);
        str_clear(&d->entries[i].target);
    }
    free(d->entries);
    intern_clear(&d->paths);
    intern_clear(&d->above);
    str_clear(&d->facts);
    str_clear(&d->sizes);
    anonymous_clear(&d->names);
    free(d);
}

static struct entry *entry_of(struct dump *d, const char *path)
{
    uint32_t n = intern_put(&d->paths, path);
    if (!n || !mem_grow((void **)&d->entries, &d->cap, n, sizeof(*d->entries))) {
        d->failed = true;
        return NULL;
    }
    while (d->count < n)
        d->entries[d->count++] = (struct entry){0};
    return &d->entries[n - 1];
}

/* Is one the beginning of the other? The same file was then read with a smaller buffer. */
static bool alike(const struct str *a, const char *data, size_t len)
{
    size_t n = a->len < len ? a->len : len;
    return !n || !memcmp(a->data, data, n);
}

static void keep(struct str *to, const char *data, size_t len)
{
    str_reset(to);
    str_addn(to, data, len);
}

static void see_file(struct entry *x, const char *data, size_t len)
{
    struct str *now = x->last.len ? &x->last : &x->first;
    if (!x->file || alike(now, data, len)) {
        if (!x->file || len > now->len)
            keep(now, data, len);
    } else {
        keep(&x->last, data, len);
    }
    x->file = true;
}

static void seen(void *arg, enum rootfs_kind kind, const char *path, const char *data, size_t len)
{
    struct dump *d = arg;
    if (kind == ROOTFS_SIZE) {
        str_addf(&d->sizes, "%s %s\n", path, data);
        return;
    }
    if (path[0] != '/' || !strncmp(path, ROOTFS_OWN "/", sizeof(ROOTFS_OWN)))
        return;
    struct entry *x = entry_of(d, path);
    if (!x)
        return;
    if (kind == ROOTFS_FILE)
        see_file(x, data, len);
    else if (kind == ROOTFS_LINK)
        keep(&x->target, data, len);
    x->link |= kind == ROOTFS_LINK;
    x->folder |= kind == ROOTFS_FOLDER;
    d->failed |= x->first.failed || x->last.failed || x->target.failed;
}

void dump_start(struct dump *d)
{
    rootfs_observe(seen, d);
}

void dump_stop(struct dump *d)
{
    rootfs_observe(NULL, NULL);
}

void dump_fact(struct dump *d, const struct fact *f)
{
    if (f->text)
        str_addf(&d->facts, "%s\t%s\t%s\t%s\t\t%s\n", f->kind, f->subject, f->name, f->text,
                 f->source);
    else
        str_addf(&d->facts, "%s\t%s\t%s\t%.17g\t%s\t%s\n", f->kind, f->subject, f->name, f->number,
                 f->unit, f->source);
}

/* Learns which paths have others below them. */
static void find_above(struct dump *d)
{
    char prefix[PATH_MAX];
    for (size_t i = 0; i < d->count; i++) {
        if (!str_copy(prefix, sizeof(prefix), d->paths.texts[i]))
            continue;
        for (char *slash; (slash = strrchr(prefix + 1, '/'));) {
            size_t known = d->above.count;
            *slash = '\0';
            d->failed |= !intern_put(&d->above, prefix);
            if (d->above.count == known)
                break; /* those above it are known too */
        }
    }
    d->above_count = d->above.count;
}

/* Does another path lie below this one? It is a folder then, whatever it was looked at as. */
static bool is_above(struct dump *d, const char *path)
{
    uint32_t n = intern_put(&d->above, path);
    d->failed |= !n;
    return n && n <= d->above_count;
}

/* "/proc/123/comm": of a process that nothing else is known of. Its number; 0 no such path. */
static unsigned long process_of(const char *path)
{
    char *end;
    if (strncmp(path, "/proc/", 6) || !isdigit((unsigned char)path[6]))
        return 0;
    unsigned long pid = strtoul(path + 6, &end, 10);
    return *end == '/' || !*end ? pid : 0;
}

/* Processes whose command, files or limits were looked at are the job's or serve its mounts. */
static void mark_kept(const struct dump *d, struct map *kept)
{
    for (size_t i = 0; i < d->count; i++) {
        const char *path = d->paths.texts[i], *file = strrchr(path, '/');
        unsigned long pid = process_of(path);
        const struct entry *x = &d->entries[i];
        if (!pid)
            continue;
        bool daemon = x->file && !strcmp(file, "/comm") && dump_known_daemon(str_text(&x->first));
        bool more = x->file && strcmp(file, "/comm") && strcmp(file, "/stat");
        if (daemon || more)
            map_put(kept, pid, 1);
    }
}

/* "/a/b/../c" becomes "/a/c", in place. */
static void normalise(char *path)
{
    char *out = path;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p + 1, "/") + 1;
        if (n == 3 && !strncmp(p, "/..", 3)) {
            while (out > path && *--out != '/')
                ;
        } else if (n > 1 && !(n == 2 && p[1] == '.')) {
            memmove(out, p, n);
            out += n;
        }
        p += n;
    }
    *out = '\0';
}

/* The link that the first n bytes of path are; NULL: they are none, or one that leads elsewhere. */
static const struct entry *link_at(struct dump *d, const char *path, size_t n)
{
    char prefix[PATH_MAX];
    memcpy(prefix, path, n);
    prefix[n] = '\0';
    uint32_t number = intern_put(&d->paths, prefix);
    const struct entry *x = number && number <= d->count ? &d->entries[number - 1] : NULL;
    return x && x->link && x->target.len && x->target.data[0] != '/' ? x : NULL;
}

/* Where a path lies once the links above it are followed: there the archive has it. */
static void real_path(struct dump *d, const char *path, char *buf, size_t size)
{
    char next[2 * PATH_MAX];
    if (!str_copy(buf, size, path))
        return;
    for (int follow = 0; follow < LINKS_MAX; follow++) {
        char *slash = buf;
        const struct entry *x = NULL;
        while ((slash = strchr(slash + 1, '/')) && !(x = link_at(d, buf, (size_t)(slash - buf))))
            ;
        if (!x)
            return;
        *slash = '\0';
        char *last = strrchr(buf, '/');
        int n = snprintf(next, sizeof(next), "%.*s/%s/%s", (int)(last - buf), buf,
                         str_text(&x->target), slash + 1);
        normalise(next);
        if (n < 0 || (size_t)n >= size || !str_copy(buf, size, next))
            return;
    }
}

static void put_text(struct dump *d, const char *path, const char *real, const struct str *text,
                     const char *folder, struct str *out)
{
    struct str name = {0}, clean = {0};
    str_add(&name, folder);
    anonymous_add(&d->names, &name, real);
    dump_clean(&d->names, path, text, &clean);
    tar_file(out, str_text(&name) + 1, str_text(&clean), clean.len);
    out->failed |= name.failed || clean.failed;
    str_clear(&name);
    str_clear(&clean);
}

static void put_entry(struct dump *d, size_t i, struct str *out)
{
    const struct entry *x = &d->entries[i];
    char real[PATH_MAX];
    struct str name = {0}, link = {0};
    real_path(d, d->paths.texts[i], real, sizeof(real));
    anonymous_add(&d->names, &name, real);
    bool above = is_above(d, d->paths.texts[i]);
    bool relative = x->link && x->target.len && x->target.data[0] != '/';
    if (relative || (x->link && !above && !x->folder)) {
        anonymous_add(&d->names, &link, str_text(&x->target));
        tar_link(out, str_text(&name) + 1, str_text(&link));
    } else if (x->file) {
        put_text(d, d->paths.texts[i], real, &x->first, "", out);
        if (x->last.len)
            put_text(d, d->paths.texts[i], real, &x->last, ROOTFS_OWN "/later", out);
    } else if (x->folder || above) {
        if (name.len > 1)
            tar_folder(out, str_text(&name) + 1);
    } else {
        tar_file(out, str_text(&name) + 1, NULL, 0);
    }
    out->failed |= name.failed || link.failed;
    str_clear(&name);
    str_clear(&link);
}

static void put_own(struct dump *d, const char *name, const struct str *text, struct str *out)
{
    struct str clean = {0};
    str_add(&clean, "");
    dump_clean(&d->names, ROOTFS_OWN, text, &clean);
    tar_file(out, name, clean.data, clean.len);
    out->failed |= clean.failed;
    str_clear(&clean);
}

void dump_write(struct dump *d, const struct survey_options *o, const struct survey *seen_now,
                const char *host, struct str *out)
{
    struct map kept = {0};
    struct str head = {0};
    uint64_t v;
    d->names.host = host;
    find_above(d);
    mark_kept(d, &kept);
    if (seen_now->pid)
        str_addf(&head, "pid %u\n", seen_now->pid);
    if (seen_now->interval_ns)
        str_addf(&head, "interval_ns %lld\n", (long long)seen_now->interval_ns);
    if (o->vm_size)
        str_addf(&head, "vm_size %s\n", o->vm_size);
    for (size_t i = 0; o->data && o->data[i]; i++)
        str_addf(&head, "data %s\n", o->data[i]);
    put_own(d, ROOTFS_OWN "/dump" + 1, &head, out);
    put_own(d, ROOTFS_OWN "/facts" + 1, &d->facts, out);
    put_own(d, ROOTFS_OWN "/statfs" + 1, &d->sizes, out);
    if (seen_now->interval_ns)
        tar_folder(out, ROOTFS_OWN "/later" + 1);
    for (size_t i = 0; i < d->count; i++) {
        unsigned long pid = process_of(d->paths.texts[i]);
        if (!pid || map_get(&kept, pid, &v))
            put_entry(d, i, out);
    }
    tar_end(out);
    out->failed |= d->failed || head.failed || d->facts.failed || d->sizes.failed;
    str_clear(&head);
    map_clear(&kept);
}
