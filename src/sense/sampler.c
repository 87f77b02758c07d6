/* SPDX-License-Identifier: MIT */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/sock_diag.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_MIN (10 * NS_PER_MS)
#define PERIOD_MAX (250 * NS_PER_MS)
#define COST_MAX 0.03
#define LOOKS_SHARE 0.9 /* of the cost; the rest is for the tree */
#define COST_SMOOTH 0.05
#define FIRST_TICKS 3
#define FILES_SPARE 128 /* descriptors left to the rest of the program */
#define IDLE_SLOW 20    /* looks without a change, after which each 4th tick is enough */
#define IDLE_SLOWER 100 /* ... each 10th */
#define WHAT_FRESH (1 * NS_PER_S)
#define TELL_OPEN (300 * NS_PER_MS)
#define BUSY_NS (1 * NS_PER_MS) /* on a core between two looks: it may have filled files */

long sampler_pread(int fd, char buf[SAMPLER_TEXT])
{
    ssize_t n = pread(fd, buf, SAMPLER_TEXT - 1, 0);
    buf[n > 0 ? n : 0] = '\0';
    return n;
}

int sampler_openat(const struct sampler_proc *p, const char *fmt, ...)
{
    char path[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof(path), fmt, ap);
    va_end(ap);
    return openat(p->dir, path, O_RDONLY | O_CLOEXEC);
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t cpu_now(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The time of a reading: a tick takes a while, more so when it loses its core half way. */
static int64_t reading_time(const struct sampler *s, const struct sampler_sink *k)
{
    return k->now + clock_ns(CLOCK_MONOTONIC) - s->tick_began;
}

static size_t files_allowed(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == RLIM_INFINITY)
        return 65536;
    return r.rlim_cur > 2 * FILES_SPARE ? (size_t)r.rlim_cur - FILES_SPARE : FILES_SPARE;
}

static uint64_t own_netns(void)
{
    char link[64] = "";
    ssize_t n = readlink("/proc/self/ns/net", link, sizeof(link) - 1);
    return n > 5 ? strtoull(link + 5, NULL, 10) : 0;
}

int sampler_open(struct sampler **ret, const struct sampler_opts *o, struct error *e)
{
    if (access("/proc/self/syscall", R_OK))
        return error_errno(e, "cannot read \"/proc/self/syscall\", which tells what a thread "
                              "waits on (CONFIG_HAVE_ARCH_TRACEHOOK)");
    struct sampler *s = mem_zalloc(sizeof(*s));
    if (!s)
        return error_set(e, STATUS_MEMORY, "out of memory for the sampler");
    s->o = *o;
    if (s->o.period_ns < PERIOD_MIN)
        s->o.period_ns = PERIOD_MIN;
    if (!(s->o.cost_max > 0))
        s->o.cost_max = COST_MAX;
    s->period_ns = s->o.period_ns;
    s->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    s->closed = -1;
    s->diag = sock_diag_open();
    s->own_netns = own_netns();
    s->open_max = files_allowed();
    s->stats.counted = access("/proc/self/schedstat", R_OK) == 0;
    *ret = s;
    return STATUS_OK;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    sampler_tree_clear(s);
    sampler_socket_clear(s);
    sampler_closed_clear(s);
    sampler_names_clear(s);
    free(s->ends);
    if (s->loadavg >= 0)
        close(s->loadavg);
    free(s);
}

void sampler_hot(struct sampler *s, uint32_t tid)
{
    struct sampler_thread *t = sampler_thread(s, tid);
    if (t)
        t->hot = true;
    map_put(&s->hot, tid, 1);
}

/* Reads a file of a thread, through its open descriptor if there is one. */
static long read_file(const struct sampler_proc *p, const struct sampler_thread *t, int fd,
                      const char *name, char text[SAMPLER_TEXT])
{
    if (fd >= 0)
        return sampler_pread(fd, text);
    fd = sampler_openat(p, "task/%u/%s", t->tid, name);
    if (fd < 0)
        return -1;
    long n = sampler_pread(fd, text);
    int saved = errno;
    close(fd);
    errno = saved;
    return n;
}

/* The state of a thread; 'X': it is gone, or has ended and its status was not asked for yet. */
static char read_state(struct sampler_proc *p, const struct sampler_thread *t)
{
    char text[SAMPLER_TEXT];
    struct procfs_stat st;
    if (read_file(p, t, -1, "stat", text) <= 0 || !procfs_parse_stat(text, &st))
        return 'X';
    p->over |= st.state == 'Z' && t->tid == t->tgid;
    return st.state == 'Z' ? 'X' : st.state;
}

/* Is the thread blocked, and in what call? False: it is gone. */
static bool read_call(struct sampler_proc *p, struct sampler_thread *t, struct procfs_syscall *ret)
{
    char text[SAMPLER_TEXT];
    ret->nr = PROCFS_RUNNING;
    if (!p->denied) {
        long n = read_file(p, t, t->syscall, "syscall", text);
        if (n > 0 && procfs_parse_syscall(text, ret))
            return ret->nr != PROCFS_OUTSIDE || t->tid != t->tgid || read_state(p, t) != 'X';
        if (n > 0)
            return true;
        if (errno != EACCES && errno != EPERM)
            return false;
        p->denied = true;
    }
    char state = read_state(p, t);
    ret->nr = state == 'R' ? PROCFS_RUNNING : PROCFS_OUTSIDE;
    return state != 'X';
}

static bool same_what(const struct sampler_what *a, const struct sampler_what *b)
{
    return a->target == b->target && a->resource == b->resource && a->channel == b->channel;
}

/* Counts write calls, to tell who of several wrote, and the bytes that files got. */
static bool read_writes(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                        uint64_t *ret_dirtied)
{
    char text[SAMPLER_TEXT];
    uint64_t writes;
    if (t->io < 0 && t->keep_open && s->open_count < s->open_max) {
        t->io = sampler_openat(p, "task/%u/io", t->tid);
        s->open_count += t->io >= 0;
    }
    if (read_file(p, t, t->io, "io", text) <= 0 || !procfs_parse_writes(text, &writes, ret_dirtied))
        return false;
    t->wrote = t->writes && writes != t->writes;
    t->writes = writes;
    return true;
}

/* When the thread was on a core between two readings, and not in one of the pieces. */
static void core_time(const struct sampler_clock *was, const struct sampler_clock *is,
                      const struct sampler_piece *pieces, int n, int64_t *ret_t0, int64_t *ret_t1)
{
    *ret_t0 = was->blocked ? INT64_MAX : was->done;
    *ret_t1 = is->blocked ? is->t_out : is->done;
    for (int i = 0; i < n; i++) {
        if (pieces[i].kind == SAMPLER_SLEPT)
            *ret_t1 = pieces[i].t_out;
        else
            *ret_t0 = pieces[i].t_in;
    }
}

/* Where the counts begin; those of a thread that was made while its process was watched, at 0. */
static void begin_writing(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                          int64_t now)
{
    uint64_t dirtied = 0;
    int64_t t0, t1;
    if (now - p->born < NS_PER_S && !read_writes(s, p, t, &dirtied))
        return;
    sampler_write_read(&t->write, dirtied, 0, 0, &t0, &t1);
}

/* Adds a piece for the time on a core that went into files; returns the new number of pieces. */
static int add_writing(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                       const struct sampler_clock *was, struct sampler_piece *pieces, int n)
{
    int64_t t0, t1;
    uint64_t dirtied;
    core_time(was, &t->clock, pieces, n, &t0, &t1);
    bool busy = t1 > t0 && t1 - t0 >= BUSY_NS;
    if (!t->ran || !(p->writes || busy || t->write.wrote || !t->write.begun) ||
        !read_writes(s, p, t, &dirtied) ||
        !sampler_write_read(&t->write, dirtied, t0, t1, &t0, &t1))
        return n;
    int at = n && pieces[n - 1].kind == SAMPLER_SLEPT ? n - 1 : n;
    if (at < n)
        pieces[n] = pieces[at];
    pieces[at] = (struct sampler_piece){t0, t1, t1, SAMPLER_WROTE, 0};
    return n + 1;
}

static void find_what(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                      int64_t now)
{
    if (p->denied)
        t->what = (struct sampler_what){.target = TARGET_UNKNOWN};
    else
        sampler_target_find(s, p, t, now);
}

/* Writes the pieces of time as waits to be emitted at the end of the tick. */
static void keep(struct sampler_thread *t, const struct sampler_piece *pieces, int n,
                 const struct sampler_what *was, bool fresh)
{
    for (int i = 0; i < n; i++) {
        struct sampler_what w = *was;
        if (pieces[i].kind == SAMPLER_WROTE)
            w = (struct sampler_what){.target = TARGET_WRITE};
        else if (pieces[i].kind == SAMPLER_CORE)
            w = (struct sampler_what){.target = TARGET_CORE};
        else if (pieces[i].kind == SAMPLER_SLEPT && !fresh)
            w = (struct sampler_what){.target = TARGET_UNKNOWN};
        t->pending[t->pending_count++] = (struct sampler_pending){pieces[i], w};
    }
}

/* How many ticks to pass over. */
static uint32_t rest(const struct sampler_thread *t)
{
    if (t->hot || t->idle < IDLE_SLOW)
        return 0;
    return t->idle < IDLE_SLOWER ? 3 : 9;
}

/* A blocked thread that got no core since the last look. */
static void still_blocked(struct sampler_thread *t, const struct sampler_reading *r)
{
    struct sampler_piece none[SAMPLER_PIECES];
    sampler_clock_read(&t->clock, r, none);
    t->idle++;
    t->skip = rest(t);
}

static void look_again(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                       struct sampler_reading *r, const struct sampler_sink *k)
{
    struct sampler_piece pieces[SAMPLER_PIECES + 1];
    struct procfs_syscall call;
    struct sampler_clock before = t->clock;
    struct sampler_what was = t->what;
    bool fresh = k->now - t->what_read < WHAT_FRESH;
    if (!read_call(p, t, &call)) {
        sampler_tree_exit(s, t, k);
        return;
    }
    t->call = call;
    r->blocked = call.nr != PROCFS_RUNNING;
    if (r->blocked) {
        find_what(s, p, t, k->now);
        r->same = same_what(&was, &t->what);
    }
    int n = sampler_clock_read(&t->clock, r, pieces);
    if (r->same && !n && t->clock.t_out < r->t)
        t->what = was; /* one wait: counts since its start */
    if (before.begun)
        n = add_writing(s, p, t, &before, pieces, n);
    else
        begin_writing(s, p, t, k->now);
    keep(t, pieces, n, &was, fresh);
    t->idle = 0;
    if (t->what.channel && r->blocked)
        sampler_ends_refresh(s, t->what.channel, t->tgid, k);
}

static void look(struct sampler *s, struct sampler_thread *t, const struct sampler_sink *k)
{
    char text[SAMPLER_TEXT];
    struct procfs_schedstat c = {0};
    struct sampler_proc *p = sampler_proc(s, t->tgid);
    t->ran = t->wrote = false;
    if (t->gone || !p || (t->skip && t->skip--))
        return;
    long n = s->stats.counted ? read_file(p, t, t->schedstat, "schedstat", text) : 0;
    int64_t at = reading_time(s, k);
    if (n < 0) {
        sampler_tree_exit(s, t, k);
        return;
    }
    /* A thread that ever ran has a count: all zeros mean the kernel keeps none. */
    bool counted = n > 0 && procfs_parse_schedstat(text, &c) && c.switches;
    struct sampler_reading r = {at, c.run_ns, c.wait_ns, c.switches, counted, true, true};
    if (counted && t->clock.begun && t->clock.blocked && c.switches == t->clock.switches) {
        still_blocked(t, &r);
        return;
    }
    t->ran = !t->clock.begun || c.switches != t->clock.switches || c.run_ns != t->clock.run_ns;
    r.same = false;
    look_again(s, p, t, &r, k);
}

static void count_bytes(struct sampler *s, const struct sampler_what *w, struct event_wait *e)
{
    uint32_t unsent;
    const struct sampler_proc *p = sampler_proc(s, e->tgid);
    if (!w->socket || !p)
        return;
    e->tx_unsent = w->unsent;
    e->rx_bytes = w->rx;
    e->tx_bytes = w->tx;
    if (!sampler_socket_bytes(s, p, w->socket_fd, w->socket, &e->rx_bytes, &e->tx_bytes, &unsent)) {
        sampler_closed_missed(s);
        return;
    }
    uint64_t during = e->rx_bytes > w->rx ? e->rx_bytes - w->rx : 0;
    e->rx_during = during > UINT32_MAX ? UINT32_MAX : (uint32_t)during;
}

static void emit_wait(struct sampler *s, struct sampler_thread *t, const struct sampler_piece *x,
                      const struct sampler_what *w, uint16_t flags, const struct sampler_sink *k)
{
    struct event e = {.kind = EVENT_WAIT};
    e.wait = (struct event_wait){
        .t_out = x->t_out,
        .t_wake = x->t_wake,
        .t_in = x->t_in,
        .t_seen = x->t_seen,
        .tid = t->tid,
        .tgid = t->tgid,
        .resource = w->resource,
        .target = w->target,
        .channel = w->channel,
        .flags = (uint16_t)(w->flags | flags | WAIT_SAMPLED),
    };
    if (x->t_in <= x->t_out)
        return;
    count_bytes(s, w, &e.wait);
    if (x->kind == SAMPLER_ENDED && !(flags & WAIT_OPEN_END))
        sampler_ends_waker(s, t, w, &e.wait);
    k->fn(k->arg, &e);
}

/* The wait that was open when it was last seen. */
static void emit_open(struct sampler *s, struct sampler_thread *t, int64_t until, uint16_t flags,
                      const struct sampler_sink *k)
{
    struct sampler_piece x = {t->clock.t_out, until, until, SAMPLER_ENDED, t->clock.last};
    if (t->clock.begun && t->clock.blocked)
        emit_wait(s, t, &x, &t->what, flags, k);
}

/* What a thread was in when it was last seen went on until its end. */
static void emit_last(struct sampler *s, struct sampler_thread *t, const struct sampler_sink *k)
{
    struct sampler_piece x = {t->clock.done, t->gone_at, t->gone_at, SAMPLER_WROTE, 0};
    struct sampler_what writing = {.target = TARGET_WRITE};
    emit_open(s, t, t->gone_at, 0, k);
    if (t->clock.begun && !t->clock.blocked && t->write.wrote)
        emit_wait(s, t, &x, &writing, 0, k);
}

static void emit_all(struct sampler *s, const struct sampler_sink *k)
{
    for (size_t i = 0; i < s->thread_count; i++) {
        struct sampler_thread *t = s->threads[i];
        for (int n = 0; n < t->pending_count; n++)
            emit_wait(s, t, &t->pending[n].piece, &t->pending[n].what, 0, k);
        t->pending_count = 0;
        if (t->gone) /* it is freed right after */
            emit_last(s, t, k);
    }
}

/* The longer the looks at threads take, the rarer they are. Looks at the tree have a bound
 * of their own. */
static void set_period(struct sampler *s, int64_t cost)
{
    double share = fmax(COST_SMOOTH, 1.0 / (double)(s->stats.ticks + 1));
    if (s->stats.ticks < FIRST_TICKS)
        return; /* everything is new then */
    s->tick_cost += share * ((double)cost - s->tick_cost);
    double want = s->tick_cost / (s->o.cost_max * LOOKS_SHARE);
    s->period_ns = s->o.period_ns;
    if (want > (double)s->period_ns)
        s->period_ns = (int64_t)fmin(want, (double)PERIOD_MAX);
    s->stats.period_ns = s->period_ns;
}

/* Long waits are told of while they last: who reads the events takes silence for work. */
static void tell_open(struct sampler *s, const struct sampler_sink *k)
{
    if (k->now - s->open_told < TELL_OPEN)
        return;
    s->open_told = k->now;
    for (size_t i = 0; i < s->thread_count; i++) {
        struct sampler_thread *t = s->threads[i];
        if (!t->gone && t->clock.last - t->clock.t_out > TELL_OPEN)
            emit_open(s, t, t->clock.last, WAIT_OPEN_END, k);
    }
}

int64_t sampler_tick(struct sampler *s, int64_t now_ns, sampler_fn fn, void *arg)
{
    struct sampler_sink k = {fn, arg, now_ns};
    int64_t begin = cpu_now();
    s->tick_began = clock_ns(CLOCK_MONOTONIC);
    sampler_tree_look(s, &k);
    for (size_t i = 0; i < s->proc_count; i++)
        sampler_ends_look(s, s->procs[i], &k);
    int64_t before = cpu_now();
    for (size_t i = 0; i < s->thread_count; i++)
        look(s, s->threads[i], &k);
    emit_all(s, &k);
    sampler_closed_look(s, &k);
    tell_open(s, &k);
    sampler_tree_sweep(s);
    int64_t end = cpu_now();
    set_period(s, end - before);
    s->stats.ticks++;
    s->stats.cpu_ns += end - begin;
    return now_ns + s->period_ns;
}

void sampler_open_waits(struct sampler *s, int64_t now_ns, sampler_fn fn, void *arg)
{
    struct sampler_sink k = {fn, arg, now_ns};
    for (size_t i = 0; i < s->thread_count; i++)
        if (!s->threads[i]->gone)
            emit_open(s, s->threads[i], now_ns, WAIT_OPEN_END, &k);
}

void sampler_finish(struct sampler *s, int64_t now_ns, sampler_fn fn, void *arg)
{
    sampler_open_waits(s, now_ns, fn, arg);
    for (size_t i = 0; i < s->thread_count; i++)
        s->threads[i]->clock.begun = false;
}

struct sampler_stats sampler_stats(const struct sampler *s)
{
    struct sampler_stats st = s->stats;
    st.processes = (uint32_t)s->proc_count;
    st.threads = (uint32_t)s->thread_count;
    st.denied = 0;
    for (size_t i = 0; i < s->proc_count; i++)
        st.denied += s->procs[i]->denied;
    return st;
}
