/* SPDX-License-Identifier: MIT */
/* Real processes of an ordinary user, sampled by that user: what each thread was seen to
 * wait on against what it does. */
#include "base/unit.h"
#include "sense/sampler.h"
#include "sense/sampler_int.h"
#include "user.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SAMPLED (1500 * NS_PER_MS)
#define PATIENCE (60 * NS_PER_S) /* for what must be seen, on however busy a machine */
#define TASKS 64
#define SLOWEST (250 * NS_PER_MS) /* of the sampler's looks */

/* ---- the job: one process with a named thread for each thing to wait on, and helpers ---- */

struct job {
    int pipe_read, pipe_write; /* helper "writer" writes, thread "w_pipe" reads */
    int poll_read, poll_write; /* two writers; thread "w_poll" polls */
    int unix_a, unix_b;        /* helper "writer" answers on b */
    int listener;
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned number;
};

static void *wait_pipe(void *arg)
{
    struct job *j = arg;
    char c;
    pthread_setname_np(pthread_self(), "w_pipe");
    while (read(j->pipe_read, &c, 1) == 1)
        ;
    return NULL;
}

static void *wait_poll(void *arg)
{
    struct job *j = arg;
    char c;
    pthread_setname_np(pthread_self(), "w_poll");
    for (;;) {
        struct pollfd p = {j->poll_read, POLLIN, 0};
        if (poll(&p, 1, 5000) == 1 && read(j->poll_read, &c, 1) != 1)
            return NULL;
    }
}

static void *wait_unix(void *arg)
{
    struct job *j = arg;
    char c = 'x';
    pthread_setname_np(pthread_self(), "w_unix");
    while (write(j->unix_a, &c, 1) == 1 && read(j->unix_a, &c, 1) == 1)
        ;
    return NULL;
}

static void *wait_tcp(void *arg)
{
    struct job *j = arg;
    char buf[4096];
    struct sockaddr_in a;
    socklen_t n = sizeof(a);
    pthread_setname_np(pthread_self(), "w_tcp");
    getsockname(j->listener, (struct sockaddr *)&a, &n);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&a, n))
        return NULL;
    while (recv(fd, buf, sizeof(buf), 0) > 0)
        ;
    return NULL;
}

static void *wait_sleep(void *arg)
{
    pthread_setname_np(pthread_self(), "w_sleep");
    for (;;)
        sleep_ns(25 * NS_PER_MS);
    return NULL;
}

static void *wait_futex(void *arg)
{
    struct job *j = arg;
    unsigned seen = 0;
    pthread_setname_np(pthread_self(), "w_futex");
    pthread_mutex_lock(&j->lock);
    for (;;) {
        while (j->number == seen)
            pthread_cond_wait(&j->change, &j->lock);
        seen = j->number;
    }
    return NULL;
}

static void *signaller(void *arg)
{
    struct job *j = arg;
    pthread_setname_np(pthread_self(), "signaller");
    for (;;) {
        sleep_ns(30 * NS_PER_MS);
        pthread_mutex_lock(&j->lock);
        j->number++;
        pthread_cond_signal(&j->change);
        pthread_mutex_unlock(&j->lock);
    }
    return NULL;
}

static void *spin(void *arg)
{
    pthread_setname_np(pthread_self(), "spin");
    for (volatile unsigned long i = 0;; i++)
        ;
    return NULL;
}

/* How many processes of the job hold only what they are to hold. */
static _Atomic int *settled;

static void writer(struct job *j, const char *name, bool first)
{
    char c = 'x';
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(j->pipe_read);
    close(j->poll_read);
    close(j->unix_a);
    close(j->listener);
    if (!first) {
        close(j->pipe_write);
        close(j->unix_b);
    }
    ++*settled;
    for (;;) {
        sleep_ns((first ? 40 : 61) * NS_PER_MS);
        if (first && (write(j->pipe_write, &c, 1) != 1 || read(j->unix_b, &c, 1) != 1 ||
                      write(j->unix_b, &c, 1) != 1))
            _exit(0);
        if (write(j->poll_write, &c, 1) != 1)
            _exit(0);
    }
}

static void server(struct job *j)
{
    char block[4096] = {0};
    prctl(PR_SET_NAME, "server");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(j->pipe_read), close(j->pipe_write), close(j->poll_read), close(j->poll_write);
    close(j->unix_a), close(j->unix_b);
    ++*settled;
    int fd = accept(j->listener, NULL, NULL);
    for (;;) {
        sleep_ns(22 * NS_PER_MS);
        if (send(fd, block, sizeof(block), MSG_NOSIGNAL) < 0)
            _exit(0);
    }
}

static void run_job(void)
{
    static struct job j = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
    static void *(*const bodies[])(void *) = {wait_pipe,  wait_poll,  wait_unix, wait_tcp,
                                              wait_sleep, wait_futex, signaller, spin};
    int p[2], q[2], u[2];
    pthread_t t;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    j.listener = socket(AF_INET, SOCK_STREAM, 0);
    if (pipe(p) || pipe(q) || socketpair(AF_UNIX, SOCK_STREAM, 0, u) ||
        bind(j.listener, (struct sockaddr *)&a, sizeof(a)) || listen(j.listener, 4))
        _exit(91);
    j.pipe_read = p[0], j.pipe_write = p[1];
    j.poll_read = q[0], j.poll_write = q[1];
    j.unix_a = u[0], j.unix_b = u[1];
    if (!fork())
        writer(&j, "writer1", true);
    if (!fork())
        writer(&j, "writer2", false);
    if (!fork())
        server(&j);
    close(j.pipe_write);
    close(j.poll_write);
    close(j.unix_b);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        pthread_create(&t, NULL, bodies[i], &j);
    ++*settled;
    for (;;)
        pause();
}

/* ---- what was seen ---- */

struct task {
    uint32_t tid, tgid;
    char name[16];
    int64_t target_ns[TARGET_COUNT];
    int64_t waker_ns[TASKS + 1]; /* by index of the waker's process; last: nobody */
    uint64_t channel, rx, during;
    uint16_t flags;
    char resource[64];
};

struct seen {
    struct task tasks[TASKS];
    size_t count;
    struct intern names;
    struct event_channel channels[256];
    size_t channel_count;
    bool finishing;
    int64_t watched;
};

static struct task *task_of(struct seen *s, uint32_t tid)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->tasks[i].tid == tid)
            return &s->tasks[i];
    return NULL;
}

static struct task *task_named(struct seen *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->tasks[i].name, name))
            return &s->tasks[i];
    return NULL;
}

static void see_wait(struct seen *s, const struct event_wait *w)
{
    struct task *t = task_of(s, w->tid), *waker = task_of(s, w->waker_tgid);
    if (!t && s->count == TASKS)
        return;
    if (!t || !(w->flags & WAIT_SAMPLED) || w->t_in < w->t_out || w->t_wake < w->t_out ||
        w->t_wake > w->t_in || w->target >= TARGET_COUNT)
        _exit(92);
    if ((w->flags & WAIT_OPEN_END) && !s->finishing)
        return; /* it comes again, whole */
    t->target_ns[w->target] += w->t_wake - w->t_out;
    t->target_ns[TARGET_CORE] += w->t_in - w->t_wake;
    t->waker_ns[waker ? (size_t)(waker - s->tasks) : TASKS] += w->t_in - w->t_out;
    if (w->target != TARGET_CORE) {
        t->flags |= w->flags;
        t->channel = w->channel ? w->channel : t->channel;
        t->rx = w->rx_bytes;
        t->during += w->rx_during;
        snprintf(t->resource, sizeof(t->resource), "%s", intern_text(&s->names, w->resource));
    }
}

static void see(void *arg, const struct event *e)
{
    struct seen *s = arg;
    if (e->kind == EVENT_WAIT) {
        see_wait(s, &e->wait);
    } else if (e->kind == EVENT_CHANNEL && s->channel_count < 256) {
        s->channels[s->channel_count++] = e->channel;
    } else if (e->kind == EVENT_THREAD) {
        struct task *t = task_of(s, e->thread.tid);
        if (!t && s->count < TASKS)
            t = &s->tasks[s->count++];
        if (!t)
            return;
        t->tid = e->thread.tid;
        t->tgid = e->thread.tgid;
        snprintf(t->name, sizeof(t->name), "%s", e->thread.name);
    }
}

/* Is that all that there is to be seen? */
typedef bool (*enough_fn)(struct seen *s, const struct sampler_stats *st);

static bool no_getfd; /* as in a container that forbids pidfd_getfd(2) */

/* For ns, and until it is enough (NULL: it is), but no longer than PATIENCE. */
static struct sampler_stats watch(struct seen *s, pid_t root, int64_t ns, enough_fn enough)
{
    struct sampler *sampler;
    struct error e;
    struct resource_opts names = {.names = &s->names};
    struct resources *resources;
    if (resources_new(&resources, &names, &e))
        _exit(94);
    struct sampler_opts o = {.root_pid = (uint32_t)root, .resources = resources};
    if (sampler_open(&sampler, &o, &e)) {
        fprintf(stderr, "%s\n", e.text);
        _exit(93);
    }
    sampler->no_getfd = no_getfd;
    int64_t begin = now(), next = begin;
    for (bool more = true; more;) {
        int64_t t = now();
        if (t < next)
            sleep_ns(next - t);
        next = sampler_tick(sampler, now(), see, s);
        if (next < now())
            next = now();
        struct sampler_stats so_far = sampler_stats(sampler);
        more = next < begin + ns || (enough && next < begin + PATIENCE && !enough(s, &so_far));
    }
    s->watched = now() - begin;
    s->finishing = true;
    sampler_finish(sampler, now(), see, s);
    struct sampler_stats st = sampler_stats(sampler);
    sampler_close(sampler);
    resources_free(resources);
    return st;
}

static int failures;

static void check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "FAILED: %s\n", what);
        failures++;
    }
}

static int64_t slept(const struct task *t)
{
    int64_t all = 0;
    for (int i = 0; t && i < TARGET_COUNT; i++)
        all += i == TARGET_CORE ? 0 : t->target_ns[i];
    return all;
}

/* At least `least` of the time that the named thread slept was spent on the target. */
static struct task *waits_on(struct seen *s, const char *name, enum target target, double least)
{
    struct task *t = task_named(s, name);
    int64_t all = slept(t);
    double share = all ? (double)t->target_ns[target] / (double)all : 0;
    printf("  %-10s slept %6.0f ms, %5.1f %% on what it should\n", name,
           (double)all / (double)NS_PER_MS, share * 100);
    check(t && share >= least && all > SAMPLED / 4, name);
    return t;
}

/* Share of the waits of t that were ended by the named process (NULL: nobody known). */
static double woken_by(struct seen *s, const struct task *t, const char *name)
{
    int64_t all = 0;
    const struct task *w = name ? task_named(s, name) : NULL;
    for (int i = 0; t && i <= TASKS; i++)
        all += t->waker_ns[i];
    return all ? (double)t->waker_ns[w ? (size_t)(w - s->tasks) : TASKS] / (double)all : 0;
}

static size_t writers_of(const struct seen *s, uint64_t channel)
{
    size_t n = 0;
    for (size_t i = 0; i < s->channel_count; i++)
        n += s->channels[i].channel == channel && s->channels[i].writer;
    return n;
}

/* Name of the first thread of the process that waits: wakers are told by process. */
static const char *main_of(struct seen *s)
{
    const struct task *t = task_named(s, "w_futex");
    const struct task *m = t ? task_of(s, t->tgid) : NULL;
    return m ? m->name : NULL;
}

static void judge(struct seen *s)
{
    struct task *t = waits_on(s, "w_pipe", TARGET_PIPE, 0.9);
    check(t && t->channel && woken_by(s, t, "writer1") > 0.8, "w_pipe: waker");
    t = waits_on(s, "w_poll", TARGET_PIPE, 0.9);
    check(t && writers_of(s, t->channel) == 2, "w_poll: two candidates");
    check(woken_by(s, t, "writer1") + woken_by(s, t, "writer2") > 0, "w_poll: the one that wrote");
    check(woken_by(s, t, "w_pipe") == 0, "w_poll: never itself");
    t = waits_on(s, "w_unix", TARGET_PIPE, 0.9);
    check(t && woken_by(s, t, "writer1") > 0.8, "w_unix: waker");
    t = waits_on(s, "w_tcp", TARGET_SOCKET, 0.9);
    check(t && (t->flags & WAIT_LOOPBACK) && !strncmp(t->resource, "127.0.0.1:", 10),
          "w_tcp: peer");
    check(t && t->rx > 4096 && t->during > 4096, "w_tcp: bytes");
    check(t && woken_by(s, t, "server") > 0.8, "w_tcp: waker");
    waits_on(s, "w_sleep", TARGET_SLEEP, 0.9);
    t = waits_on(s, "w_futex", TARGET_FUTEX, 0.9);
    check(t && woken_by(s, t, NULL) + woken_by(s, t, main_of(s)) > 0.999,
          "w_futex: nobody of another process");
    waits_on(s, "signaller", TARGET_SLEEP, 0.9);
    t = task_named(s, "spin");
    check(t && t->target_ns[TARGET_SLEEP] + t->target_ns[TARGET_UNKNOWN] < s->watched / 50,
          "spin sleeps never");
}

#define PROCESSES 4
#define THREADS 12

/* Most of the waits of the named thread are known to have ended by the other one: before its descriptors are
 * read, nobody is known. */
static bool mostly_woken_by(struct seen *s, const char *name, const char *waker)
{
    return woken_by(s, task_named(s, name), waker) > 0.8;
}

/* All are there, each that sleeps has done so for a while, and who woke them was told. */
static bool targets_enough(struct seen *s, const struct sampler_stats *st)
{
    static const char *const names[] = {"w_pipe",  "w_poll",  "w_unix",   "w_tcp",
                                        "w_sleep", "w_futex", "signaller"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (slept(task_named(s, names[i])) <= SAMPLED / 2)
            return false;
    const struct task *t = task_named(s, "w_poll");
    return st->processes == PROCESSES && st->threads == THREADS && task_named(s, "spin") &&
           woken_by(s, t, "writer1") + woken_by(s, t, "writer2") > 0 &&
           mostly_woken_by(s, "w_pipe", "writer1") && mostly_woken_by(s, "w_unix", "writer1") &&
           mostly_woken_by(s, "w_tcp", "server");
}

/* Runs body as an ordinary user in a process of its own; its exit status is the verdict. */
static void as_user(void (*body)(pid_t job))
{
    int status;
    settled =
        mmap(NULL, sizeof(*settled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(settled, MAP_FAILED);
    pid_t child = fork();
    if (!child) {
        become_user();
        pid_t job = fork();
        if (!job)
            run_job();
        while (*settled < PROCESSES)
            sleep_ns(NS_PER_MS);
        body(job);
        kill(job, SIGKILL);
        fflush(stdout);
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    munmap((void *)settled, sizeof(*settled));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void see_targets(pid_t job)
{
    static struct seen s;
    struct sampler_stats st = watch(&s, job, SAMPLED, targets_enough);
    judge(&s);
    check(st.denied == 0, "nothing denied");
    check(st.processes == PROCESSES && st.threads == THREADS, "4 processes, 12 threads");
    printf("  %llu ticks, %.2f %% of a core\n", (unsigned long long)st.ticks,
           100.0 * (double)st.cpu_ns / (double)s.watched);
}

static void test_targets(void **state)
{
    as_user(see_targets);
}

static void test_targets_by_lists(void **state)
{
    no_getfd = true;
    as_user(see_targets);
    no_getfd = false;
}

/* Its wait does not end: that it is told comes with the sampler's end. */
static bool init_looked_at(struct seen *s, const struct sampler_stats *st)
{
    (void)s;
    return st->denied && st->ticks >= 5;
}

/* Processes that this user may not look into are counted, not guessed. */
static void see_denied(pid_t job)
{
    static struct seen s;
    struct sampler_stats st = watch(&s, 1, 200 * NS_PER_MS, init_looked_at);
    struct task *init = task_of(&s, 1);
    check(st.denied > 0, "init is denied");
    check(init && init->target_ns[TARGET_UNKNOWN] > 0, "its wait is unknown");
    for (int i = 0; init && i < TARGET_COUNT; i++)
        check(i == TARGET_UNKNOWN || i == TARGET_CORE || !init->target_ns[i], "nothing is guessed");
}

static void test_denied(void **state)
{
    if (geteuid() != 0)
        skip();
    as_user(see_denied);
}

static void *idle_body(void *arg)
{
    for (;;)
        sleep_ns(12 * NS_PER_MS);
    return NULL;
}

static bool all_sixty(struct seen *s, const struct sampler_stats *st)
{
    (void)s;
    return st->threads == 60;
}

/* 60 threads that all wake between any two looks: the dearest there is. The looks become as rare as what
 * they cost demands: 3 % of a core, here with some slack for costs that change. */
static void test_cost(void **state)
{
    static struct seen s;
    pid_t job = fork();
    if (!job) {
        pthread_t t;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < 59; i++)
            pthread_create(&t, NULL, idle_body, NULL);
        idle_body(NULL);
    }
    struct sampler_stats st = watch(&s, job, 2 * NS_PER_S, all_sixty);
    kill(job, SIGKILL);
    waitpid(job, NULL, 0);
    double ns = (double)s.watched, share = (double)st.cpu_ns / ns;
    double each = (double)st.cpu_ns / (double)st.ticks;
    printf("  60 threads: %.0f looks/s, %.2f %% of a core; a look costs %.2f ms, "
           "at 100 Hz %.1f %%\n",
           (double)st.ticks * (double)NS_PER_S / ns, share * 100, each / (double)NS_PER_MS,
           each / (double)NS_PER_MS * 10);
    assert_int_equal(st.threads, 60);
    assert_true(st.period_ns == SLOWEST || each / (double)st.period_ns < 2 * 0.03);
}

/* A job that is gone at once, a pid that never was. */
static void test_gone(void **state)
{
    static struct seen s;
    pid_t job = fork();
    if (!job)
        _exit(0);
    waitpid(job, NULL, 0);
    struct sampler_stats st = watch(&s, job, 50 * NS_PER_MS, NULL);
    assert_int_equal(st.processes, 0);
    assert_int_equal(s.count, 0);
}

/* Threads and processes that come and go: each start has its end, no waits outside. */
struct balance {
    int open, waits;
};

static void see_balance(void *arg, const struct event *e)
{
    struct balance *b = arg;
    if (e->kind == EVENT_THREAD && e->thread.change == THREAD_START)
        b->open++;
    if (e->kind == EVENT_THREAD && e->thread.change == THREAD_EXIT)
        b->open--;
    b->waits += e->kind == EVENT_WAIT;
}

static void test_churn(void **state)
{
    struct sampler *sampler;
    struct balance b = {0};
    pid_t job = fork();
    if (!job) {
        for (int i = 0; i < 30; i++) {
            if (!fork()) {
                sleep_ns(60 * NS_PER_MS);
                _exit(0);
            }
            sleep_ns(10 * NS_PER_MS);
        }
        while (wait(NULL) > 0)
            ;
        _exit(0);
    }
    struct sampler_opts o = {.root_pid = (uint32_t)job};
    assert_int_equal(sampler_open(&sampler, &o, NULL), 0);
    while (waitpid(job, NULL, WNOHANG) == 0) {
        sampler_tick(sampler, now(), see_balance, &b);
        sleep_ns(10 * NS_PER_MS);
    }
    sampler_tick(sampler, now(), see_balance, &b);
    sampler_tick(sampler, now() + NS_PER_S, see_balance, &b);
    assert_int_equal(b.open, 0);
    assert_true(b.waits > 0);
    assert_int_equal(sampler_stats(sampler).threads, 0);
    sampler_close(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets), cmocka_unit_test(test_targets_by_lists),
        cmocka_unit_test(test_denied),  cmocka_unit_test(test_cost),
        cmocka_unit_test(test_gone),    cmocka_unit_test(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
