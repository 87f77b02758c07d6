/* SPDX-License-Identifier: MIT */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_SOON (20 * NS_PER_MS) /* after a new process or thread was made somewhere */
#define LOOK_ALWAYS (500 * NS_PER_MS)
#define LOOK_OTHERS (2 * NS_PER_S) /* orphans change their parent; pids are used again */
#define LOOK_SHARE 200             /* a look may cost 1/200 of the time until the next one */
#define NEW_MAX 32                 /* new pids of one tick that are looked at one by one ... */
#define NEW_SHARE 100 /* ... which may cost 1/100 of the time until the next such look */

struct sampler_proc *sampler_proc(const struct sampler *s, uint32_t tgid)
{
    uint64_t v;
    return map_get(&s->proc_of_tgid, tgid, &v) ? (struct sampler_proc *)(uintptr_t)v : NULL;
}

struct sampler_thread *sampler_thread(const struct sampler *s, uint32_t tid)
{
    uint64_t v;
    return map_get(&s->thread_of_tid, tid, &v) ? (struct sampler_thread *)(uintptr_t)v : NULL;
}

static int64_t cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void emit_thread(const struct sampler *s, const struct sampler_thread *t,
                        enum thread_change change, int64_t at, const struct sampler_sink *k)
{
    const struct sampler_proc *p = sampler_proc(s, t->tgid);
    struct event e = {.kind = EVENT_THREAD};
    e.thread = (struct event_thread){.t = at,
                                     .tid = t->tid,
                                     .tgid = t->tgid,
                                     .parent_tgid = p ? p->ppid : 0,
                                     .change = (uint8_t)change,
                                     .job = true};
    str_copy(e.thread.name, sizeof(e.thread.name), t->comm);
    k->fn(k->arg, &e);
}

static bool read_comm(const struct sampler_proc *p, uint32_t tid, char comm[16])
{
    char text[SAMPLER_TEXT];
    int fd = sampler_openat(p, "task/%u/comm", tid);
    long n = fd < 0 ? -1 : sampler_pread(fd, text);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    str_copy(comm, 16, text);
    return true;
}

/* Names change: at exec, and soon after a thread began. */
static void look_at_name(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                         const struct sampler_sink *k)
{
    char comm[16];
    t->name_read = k->now;
    if (!read_comm(p, t->tid, comm) || !strcmp(comm, t->comm))
        return;
    bool exec = t->tid == t->tgid;
    str_copy(t->comm, sizeof(t->comm), comm);
    emit_thread(s, t, exec ? THREAD_EXEC : THREAD_NAME, k->now, k);
}

static void open_files(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t)
{
    t->schedstat = t->syscall = t->io = -1;
    if (s->open_count + 3 > s->open_max)
        return;
    t->schedstat = sampler_openat(p, "task/%u/schedstat", t->tid);
    t->syscall = sampler_openat(p, "task/%u/syscall", t->tid);
    t->keep_open = t->schedstat >= 0 && t->syscall >= 0;
    s->open_count += (size_t)(t->schedstat >= 0) + (size_t)(t->syscall >= 0);
}

/* Its counters began at 0 when it was made, at `born`. */
static void begin_at_birth(struct sampler_thread *t, int64_t born)
{
    int64_t t0, t1;
    sampler_clock_born(&t->clock, born);
    sampler_write_read(&t->write, 0, 0, 0, &t0, &t1);
}

/* born: when it was made; 0: some time before it was first seen. */
static void add_thread(struct sampler *s, struct sampler_proc *p, uint32_t tid, int64_t born,
                       const struct sampler_sink *k)
{
    uint64_t hot;
    struct sampler_thread *t = mem_zalloc(sizeof(*t));
    if (!t)
        return;
    t->tid = tid;
    t->tgid = p->tgid;
    t->mark = true;
    t->hot = tid == p->tgid || map_get(&s->hot, tid, &hot);
    if (!read_comm(p, tid, t->comm) ||
        !mem_grow((void **)&s->threads, &s->thread_cap, s->thread_count + 1, sizeof(*s->threads)) ||
        !map_put(&s->thread_of_tid, tid, (uint64_t)(uintptr_t)t)) {
        free(t);
        return;
    }
    t->name_read = k->now;
    open_files(s, p, t);
    s->threads[s->thread_count++] = t;
    if (born)
        begin_at_birth(t, born);
    emit_thread(s, t, THREAD_START, born ? born : k->now, k);
}

void sampler_tree_exit(struct sampler *s, struct sampler_thread *t, const struct sampler_sink *k)
{
    if (t->gone)
        return;
    struct sampler_proc *p = sampler_proc(s, t->tgid);
    if (p && t->tid == t->tgid)
        p->over = true;
    t->gone = true;
    t->gone_at = t->clock.begun ? t->clock.last + (k->now - t->clock.last) / 2 : k->now;
    emit_thread(s, t, THREAD_EXIT, t->gone_at, k);
}

/* Calls each for the numeric entries of an open folder, and closes it. */
static void each_number(int dir, void (*each)(void *arg, uint32_t n), void *arg)
{
    struct dirent *d;
    DIR *folder = dir < 0 ? NULL : fdopendir(dir);
    if (!folder)
        return;
    while ((d = readdir(folder)))
        if (isdigit((unsigned char)d->d_name[0]))
            each(arg, (uint32_t)strtoul(d->d_name, NULL, 10));
    closedir(folder);
}

struct walk {
    struct sampler *s;
    struct sampler_proc *p;
    const struct sampler_sink *k;
};

static void see_thread(void *arg, uint32_t tid)
{
    struct walk *w = arg;
    struct sampler_thread *t = sampler_thread(w->s, tid);
    if (t && t->tgid == w->p->tgid && !t->gone)
        t->mark = true;
    else if (!t && !(w->p->over && tid == w->p->tgid))
        add_thread(w->s, w->p, tid, 0, w->k);
}

static void look_at_threads(struct sampler *s, struct sampler_proc *p, const struct sampler_sink *k)
{
    struct stat st;
    struct walk w = {s, p, k};
    if (fstatat(p->dir, "task", &st, 0))
        return;
    if (st.st_nlink == p->link_count && k->now - p->threads_read < LOOK_ALWAYS)
        return;
    p->link_count = st.st_nlink;
    p->threads_read = k->now;
    for (size_t i = 0; i < s->thread_count; i++)
        if (s->threads[i]->tgid == p->tgid)
            s->threads[i]->mark = false;
    each_number(openat(p->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), see_thread, &w);
    for (size_t i = 0; i < s->thread_count; i++) {
        struct sampler_thread *t = s->threads[i];
        if (t->tgid != p->tgid || t->gone)
            continue;
        if (!t->mark)
            sampler_tree_exit(s, t, k);
        else if (k->now - t->name_read > LOOK_ALWAYS)
            look_at_name(s, p, t, k);
    }
}

/* "net:[4026531840]"; 0 when this user may not look. */
static uint64_t read_namespace(const struct sampler_proc *p, const char *name)
{
    char link[64] = "";
    ssize_t n = readlinkat(p->dir, name, link, sizeof(link) - 1);
    const char *number = n > 0 ? strchr(link, '[') : NULL;
    return number ? strtoull(number + 1, NULL, 10) : 0;
}

/* May this user see what the process waits on? */
static bool denied(const struct sampler_proc *p)
{
    char text[SAMPLER_TEXT];
    int fd = sampler_openat(p, "task/%u/syscall", p->tgid);
    if (fd < 0)
        return errno == EACCES || errno == EPERM;
    long n = sampler_pread(fd, text);
    bool no = n < 0 && (errno == EACCES || errno == EPERM);
    close(fd);
    return no;
}

static struct sampler_proc *add_proc(struct sampler *s, uint32_t tgid, uint32_t ppid,
                                     const struct sampler_sink *k)
{
    char path[32];
    struct sampler_proc *p = mem_zalloc(sizeof(*p));
    if (!p)
        return NULL;
    snprintf(path, sizeof(path), "/proc/%u", tgid);
    p->tgid = tgid;
    p->ppid = ppid;
    p->born = k->now;
    p->mark = true;
    p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir < 0 ||
        !mem_grow((void **)&s->procs, &s->proc_cap, s->proc_count + 1, sizeof(*s->procs)) ||
        !map_put(&s->proc_of_tgid, tgid, (uint64_t)(uintptr_t)p)) {
        if (p->dir >= 0)
            close(p->dir);
        free(p);
        return NULL;
    }
    s->procs[s->proc_count++] = p;
    p->pidfd = (int)syscall(SYS_pidfd_open, tgid, 0);
    p->netns = read_namespace(p, "ns/net");
    p->mntns = read_namespace(p, "ns/mnt");
    p->denied = denied(p);
    return p;
}

static bool read_parent(uint32_t pid, uint32_t *ret)
{
    char path[32], text[SAMPLER_TEXT];
    struct procfs_stat st;
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? -1 : sampler_pread(fd, text);
    if (fd >= 0)
        close(fd);
    if (n <= 0 || !procfs_parse_stat(text, &st))
        return false;
    *ret = st.ppid;
    return true;
}

static bool belongs(const struct sampler *s, uint32_t pid, uint32_t ppid)
{
    if (pid == s->o.root_pid || sampler_proc(s, ppid))
        return true;
    return s->o.reaper_pid && ppid == s->o.reaper_pid && pid != (uint32_t)getpid();
}

static void see_proc(void *arg, uint32_t pid)
{
    struct walk *w = arg;
    struct sampler *s = w->s;
    struct sampler_proc *p = sampler_proc(s, pid);
    uint64_t known;
    uint32_t ppid;
    if (p) {
        p->mark = true;
        return;
    }
    if (map_get(&s->others, pid, &known) || !read_parent(pid, &ppid))
        return;
    if (belongs(s, pid, ppid))
        add_proc(s, pid, ppid, w->k);
    else
        map_put(&s->others, pid, ppid);
}

/* Pids are listed in ascending order: after a wrap a child can come before its parent. */
static void adopt(struct sampler *s, const struct sampler_sink *k)
{
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < s->others.cap; i++) {
            struct map_slot *m = &s->others.slots[i];
            if (m->used != 1 || !belongs(s, (uint32_t)m->key, (uint32_t)m->value))
                continue;
            uint32_t pid = (uint32_t)m->key, ppid = (uint32_t)m->value;
            map_remove(&s->others, pid);
            again = add_proc(s, pid, ppid, k) != NULL;
            break;
        }
    }
}

static void look_at_procs(struct sampler *s, const struct sampler_sink *k)
{
    struct walk w = {s, NULL, k};
    if (k->now - s->others_read > LOOK_OTHERS) {
        map_clear(&s->others);
        s->others_read = k->now;
    }
    for (size_t i = 0; i < s->proc_count; i++)
        s->procs[i]->mark = false;
    each_number(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), see_proc, &w);
    adopt(s, k);
    for (size_t i = 0; i < s->thread_count; i++) {
        struct sampler_thread *t = s->threads[i];
        struct sampler_proc *p = sampler_proc(s, t->tgid);
        if (!t->gone && (!p || !p->mark))
            sampler_tree_exit(s, t, k);
    }
}

/* The last pid given out: unchanged means nothing new anywhere. 0: it cannot be read. */
static uint64_t last_pid(const struct sampler *s)
{
    char text[SAMPLER_TEXT];
    if (s->loadavg < 0 || sampler_pread(s->loadavg, text) <= 0)
        return 0;
    const char *last = strrchr(text, ' ');
    return last ? strtoull(last, NULL, 10) : 0;
}

/* A thread or process made since the last tick. */
static void see_new(struct sampler *s, uint32_t pid, const struct sampler_sink *k)
{
    char path[32], text[SAMPLER_TEXT];
    struct procfs_status st;
    int64_t born = s->new_read + (k->now - s->new_read) / 2;
    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? -1 : sampler_pread(fd, text);
    if (fd >= 0)
        close(fd);
    if (n <= 0 || !procfs_parse_status(text, &st) || sampler_thread(s, pid))
        return;
    struct sampler_proc *p = sampler_proc(s, st.tgid);
    if (!p && st.tgid == pid && belongs(s, pid, st.ppid))
        p = add_proc(s, pid, st.ppid, k);
    if (p && !p->over)
        add_thread(s, p, pid, born, k);
}

/* Threads and processes that were made since the last tick have the numbers that follow: they are seen
 * at once, without a look at all there are. False: they were too many, or nobody knows. */
static bool look_at_new(struct sampler *s, const struct sampler_sink *k)
{
    uint64_t from = s->last_pid, to = last_pid(s);
    int64_t before = cpu_now();
    bool few = from && to >= from && to - from <= NEW_MAX && k->now >= s->new_next;
    s->last_pid = to;
    for (uint64_t pid = from + 1; few && pid <= to; pid++)
        see_new(s, (uint32_t)pid, k);
    if (few && to > from)
        s->new_next = k->now + (cpu_now() - before) * NEW_SHARE;
    s->new_read = k->now;
    return few || (from && to == from);
}

void sampler_tree_look(struct sampler *s, const struct sampler_sink *k)
{
    s->unseen |= !look_at_new(s, k);
    int64_t since = k->now - s->tree_read;
    if (s->tree_read && since < LOOK_SOON)
        return;
    if (s->tree_read && since < LOOK_ALWAYS && (since < s->tree_cost * LOOK_SHARE || !s->unseen))
        return;
    int64_t before = cpu_now();
    look_at_procs(s, k);
    for (size_t i = 0; i < s->proc_count; i++)
        if (s->procs[i]->mark)
            look_at_threads(s, s->procs[i], k);
    s->tree_read = k->now;
    s->tree_cost = cpu_now() - before;
    s->unseen = false;
}

static void free_thread(struct sampler *s, struct sampler_thread *t)
{
    int fds[] = {t->schedstat, t->syscall, t->io};
    for (size_t i = 0; i < 3; i++)
        if (fds[i] >= 0) {
            close(fds[i]);
            s->open_count--;
        }
    if (sampler_thread(s, t->tid) == t)
        map_remove(&s->thread_of_tid, t->tid);
    free(t);
}

static void free_proc(struct sampler *s, struct sampler_proc *p)
{
    sampler_ends_forget(s, p->tgid);
    map_remove(&s->proc_of_tgid, p->tgid);
    close(p->dir);
    if (p->pidfd >= 0)
        close(p->pidfd);
    free(p);
}

void sampler_tree_sweep(struct sampler *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->thread_count; i++) {
        struct sampler_thread *t = s->threads[i];
        if (t->gone && !t->pending_count)
            free_thread(s, t);
        else
            s->threads[n++] = t;
    }
    s->thread_count = n;
    n = 0;
    for (size_t i = 0; i < s->proc_count; i++) {
        struct sampler_proc *p = s->procs[i];
        if (!p->mark)
            free_proc(s, p);
        else
            s->procs[n++] = p;
    }
    s->proc_count = n;
}

void sampler_tree_clear(struct sampler *s)
{
    for (size_t i = 0; i < s->thread_count; i++)
        free_thread(s, s->threads[i]);
    for (size_t i = 0; i < s->proc_count; i++)
        free_proc(s, s->procs[i]);
    free(s->threads);
    free(s->procs);
    map_clear(&s->thread_of_tid);
    map_clear(&s->proc_of_tgid);
    map_clear(&s->others);
    map_clear(&s->hot);
}
