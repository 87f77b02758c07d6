/* SPDX-License-Identifier: MIT */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/unit.h"
#include "bpf/wait.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_YOUNG (1 * NS_PER_S) /* a process opens its pipes in its first seconds */
#define YOUNG (10 * NS_PER_S)
#define LOOK_OLD (5 * NS_PER_S)
#define LOOK_WANTED (200 * NS_PER_MS)

static struct sampler_end *find(struct sampler *s, uint64_t inode, uint32_t tgid)
{
    for (size_t i = 0; i < s->end_count; i++)
        if (s->ends[i].inode == inode && s->ends[i].tgid == tgid)
            return &s->ends[i];
    return NULL;
}

static void emit(const struct sampler_end *e, const struct sampler_sink *k)
{
    struct event ev = {.kind = EVENT_CHANNEL};
    ev.channel = (struct event_channel){k->now, e->channel, e->tgid, e->reader, e->writer};
    k->fn(k->arg, &ev);
}

struct walk {
    struct sampler *s;
    struct sampler_proc *p;
    const struct sampler_sink *k;
};

/* One descriptor; the link's own permission bits say how it was opened. */
static void see_fd(const struct walk *w, int dir, const char *name)
{
    char link[128];
    struct stat st;
    uint64_t inode = 0;
    ssize_t n = readlinkat(dir, name, link, sizeof(link) - 1);
    if (n <= 0)
        return;
    link[n] = '\0';
    enum procfs_link kind = procfs_parse_link(link, &inode);
    if (kind != PROCFS_LINK_PIPE && kind != PROCFS_LINK_SOCKET)
        return;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
        return;
    uint64_t channel = resource_inode_channel(BPF_FILE_PIPE, 0, inode);
    if (kind == PROCFS_LINK_SOCKET) {
        const struct sampler_socket *k =
            sampler_socket_find(w->s, w->p, atoi(name), inode, w->k->now);
        if (!k)
            return;
        channel = sampler_socket_channel(k);
    }
    if (!channel) /* a socket without another end */
        return;
    struct sampler_end *e = find(w->s, inode, w->p->tgid);
    bool reader = (st.st_mode & S_IRUSR) != 0, writer = (st.st_mode & S_IWUSR) != 0;
    if (!e) {
        if (!mem_grow((void **)&w->s->ends, &w->s->end_cap, w->s->end_count + 1,
                      sizeof(*w->s->ends)))
            return;
        e = &w->s->ends[w->s->end_count++];
        *e = (struct sampler_end){.channel = channel, .inode = inode, .tgid = w->p->tgid};
    }
    e->mark = true;
    e->now_reader |= reader;
    e->now_writer |= writer;
    e->changed |= e->channel != channel;
    e->channel = channel;
}

/* Tells what has changed since the last look, and forgets what is closed. */
static void settle(struct sampler *s, uint32_t tgid, const struct sampler_sink *k)
{
    size_t n = 0;
    for (size_t i = 0; i < s->end_count; i++) {
        struct sampler_end *e = &s->ends[i];
        if (e->tgid == tgid) {
            bool changed = e->changed || e->now_reader != e->reader || e->now_writer != e->writer;
            e->reader = e->now_reader;
            e->writer = e->now_writer;
            if (changed)
                emit(e, k);
        }
        if (e->tgid != tgid || e->mark)
            s->ends[n++] = *e;
    }
    s->end_count = n;
}

/* Only of processes that can write to somebody are the write calls counted. */
static void note_writers(struct sampler *s)
{
    for (size_t i = 0; i < s->proc_count; i++)
        s->procs[i]->writes = false;
    for (size_t i = 0; i < s->end_count; i++) {
        if (!s->ends[i].writer)
            continue;
        struct sampler_proc *p = sampler_proc(s, s->ends[i].tgid);
        if (p)
            p->writes = true;
    }
}

static void look(struct sampler *s, struct sampler_proc *p, const struct sampler_sink *k)
{
    struct walk w = {s, p, k};
    struct dirent *d;
    p->ends_read = k->now;
    int fd = openat(p->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (size_t i = 0; i < s->end_count; i++)
        if (s->ends[i].tgid == p->tgid)
            s->ends[i].mark = s->ends[i].changed = s->ends[i].now_reader = s->ends[i].now_writer =
                false;
    while ((d = readdir(dir)))
        if (isdigit((unsigned char)d->d_name[0]))
            see_fd(&w, dirfd(dir), d->d_name);
    closedir(dir);
    settle(s, p->tgid, k);
    note_writers(s);
}

void sampler_ends_look(struct sampler *s, struct sampler_proc *p, const struct sampler_sink *k)
{
    int64_t every = k->now - p->born < YOUNG ? LOOK_YOUNG : LOOK_OLD;
    if (!p->denied && !p->over && k->now - p->ends_read >= every)
        look(s, p, k);
}

void sampler_ends_forget(struct sampler *s, uint32_t tgid)
{
    size_t n = 0;
    for (size_t i = 0; i < s->end_count; i++)
        if (s->ends[i].tgid != tgid)
            s->ends[n++] = s->ends[i];
    s->end_count = n;
}

void sampler_ends_refresh(struct sampler *s, uint64_t channel, uint32_t tgid,
                          const struct sampler_sink *k)
{
    for (size_t i = 0; i < s->end_count; i++)
        if (s->ends[i].channel == channel && s->ends[i].tgid != tgid)
            return;
    for (size_t i = 0; i < s->proc_count; i++) {
        struct sampler_proc *p = s->procs[i];
        if (!p->denied && !p->over && k->now - p->ends_read >= LOOK_WANTED)
            look(s, p, k);
    }
}

/* Counts the threads of a process that could have done it; *ret is the one, if it is one. One that has
 * ended closed what it held. */
static size_t threads_that(const struct sampler *s, uint32_t tgid, uint32_t not_tid, bool wrote,
                           uint32_t *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct sampler_thread *t = s->threads[i];
        if (t->tgid != tgid || t->tid == not_tid || !(t->gone || (wrote ? t->wrote : t->ran)))
            continue;
        *ret = t->tid;
        n++;
    }
    return n;
}

/* The process at the other end of a channel: the only holder, or the only one that wrote. */
static void other_end(struct sampler *s, const struct sampler_thread *t,
                      const struct sampler_what *w, struct event_wait *e)
{
    uint32_t holder = 0, active = 0, tid = 0;
    size_t holders = 0, actives = 0;
    for (size_t i = 0; i < s->end_count; i++) {
        const struct sampler_end *n = &s->ends[i];
        if (n->channel != w->channel || n->tgid == t->tgid || !(w->writing ? n->reader : n->writer))
            continue;
        if (n->tgid == holder)
            continue; /* a UNIX pair has two ends */
        holder = n->tgid;
        holders++;
        if (threads_that(s, n->tgid, 0, !w->writing, &tid)) {
            active = n->tgid;
            actives++;
        }
    }
    uint32_t who = holders == 1 ? holder : actives == 1 ? active : 0;
    if (!holders)
        who = t->tgid; /* a channel within the process */
    e->waker_tgid = who;
    if (who && threads_that(s, who, t->tid, !w->writing, &tid) == 1)
        e->waker_tid = tid;
    else if (who && threads_that(s, who, t->tid, false, &tid) == 1)
        e->waker_tid = tid;
    if (who == t->tgid && !e->waker_tid)
        e->waker_tgid = 0;
}

/* A futex is freed by a thread of the process that ran in the same interval. Of several the
 * samples cannot tell. */
static void futex_waker(const struct sampler *s, const struct sampler_thread *t,
                        struct event_wait *e)
{
    uint32_t tid;
    if (threads_that(s, t->tgid, t->tid, false, &tid) != 1)
        return;
    e->waker_tgid = t->tgid;
    e->waker_tid = tid;
}

void sampler_ends_waker(struct sampler *s, const struct sampler_thread *t,
                        const struct sampler_what *w, struct event_wait *e)
{
    const struct sampler_thread *by = sampler_thread(s, w->waker);
    if (by || w->waker_tgid) {
        e->waker_tid = w->waker;
        e->waker_tgid = by ? by->tgid : w->waker_tgid;
    } else if (w->target == TARGET_FUTEX) {
        futex_waker(s, t, e);
    } else if (w->channel && (w->target == TARGET_PIPE || (w->flags & WAIT_LOOPBACK))) {
        other_end(s, t, w, e);
    }
}
