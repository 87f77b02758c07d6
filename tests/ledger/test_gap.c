/* SPDX-License-Identifier: MIT */
/* What the launching thread did in a gap; and, where nobody saw who woke it, what the others did.
 */
#include "threads_of.h"

#include "ledger/crowd.h"
#include "ledger/gap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct threads t;
static struct intern names;

static int begin(void **state)
{
    (void)state;
    started(&t, 0, TRAINER, TRAINER, 1);
    threads_find(&t, TRAINER)->launches = true;
    threads_find(&t, TRAINER)->first_launch = 1;
    intern_put(&names, "nfs://10.0.0.4/data");
    return 0;
}

static int end(void **state)
{
    (void)state;
    threads_clear(&t);
    intern_clear(&names);
    return 0;
}

static struct gap a_gap(int64_t t0, int64_t t1, int64_t launch_t0, int64_t launch_t1)
{
    return (struct gap){.t0 = t0,
                        .t1 = t1,
                        .launch_t0 = launch_t0,
                        .launch_t1 = launch_t1,
                        .thread = threads_find(&t, TRAINER),
                        .waits_seen = true};
}

static struct shares explained(const struct gap *g)
{
    struct shares s = {.count = 0};
    enum evidence evidence;
    gap_explain(&t, &names, g, &s, &evidence, NULL);
    assert_int_equal(shares_total(&s), g->t1 - g->t0);
    return s;
}

/* From the launch on it is launching; before, short work too and longer work is other code. */
static void launch_and_host(void **state)
{
    struct gap g = a_gap(0, 200 * US, 150 * US, 160 * US);
    (void)state;
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH), 200 * US);
    g = a_gap(0, 900 * US, 800 * US, 810 * US);
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_HOST), 800 * US);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH), 100 * US);
    g.thread = NULL;
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 900 * US);
}

static void before_the_first_launch_it_is_startup(void **state)
{
    struct gap g = a_gap(0, 500 * MS, 480 * MS, 481 * MS);
    struct event_wait local = a_wait(TRAINER, TRAINER, TARGET_FILE, 100 * MS, 150 * MS);
    struct event_wait remote = a_wait(TRAINER, TRAINER, TARGET_FILE, 200 * MS, 230 * MS);
    (void)state;
    threads_find(&t, TRAINER)->first_launch = 480 * MS;
    remote.flags = WAIT_REMOTE_FS;
    push(&t, local); /* the program itself */
    push(&t, remote);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 30 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 450 * MS);
}

/* A job that is stopped before its first launch: what it waited for nobody knows, but it was starting. One that
 * ran before anybody looked may have done anything. */
static void a_wait_before_the_first_launch(void **state)
{
    struct gap g = a_gap(0, 500 * MS, 500 * MS, 500 * MS);
    (void)state;
    threads_find(&t, TRAINER)->first_launch = INT64_MAX;
    woken(&t, TRAINER, TRAINER, TARGET_POLL, 100 * MS, 500 * MS, 0, 0);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 500 * MS);
    t.attached = true;
    s = explained(&g);
    t.attached = false;
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 400 * MS);
}

/* Work up to the last fork of the gap is the making of workers. */
static void making_workers_is_startup(void **state)
{
    struct gap g = a_gap(10 * MS, 60 * MS, 59 * MS, 60 * MS);
    (void)state;
    started(&t, 20 * MS, WORKER, WORKER, TRAINER);
    started(&t, 30 * MS, OTHER, OTHER, TRAINER);
    started(&t, 50 * MS, 400, 400, 1); /* not its child */
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 20 * MS);
    assert_int_equal(shares_of(&s, CAUSE_HOST), 29 * MS);
}

/* A child's end that wakes is no batch, unless something was launched before it ended. */
static void a_child_that_ends(void **state)
{
    struct gap g = a_gap(100 * MS, 200 * MS, 199 * MS, 200 * MS);
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    reads(&t, WORKER, WORKER, 100 * MS, 140 * MS);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 100 * MS, 150 * MS, WORKER, WORKER);
    ended(&t, 151 * MS, WORKER, WORKER);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 50 * MS);
    threads_find(&t, WORKER)->exit = 210 * MS; /* it lived on for some time after the launch */
    s = explained(&g);
    assert_true(shares_of(&s, CAUSE_STORAGE) > 0);
}

/* Its last batch was there, and launched at once: that it ended meanwhile kept nobody waiting. */
static void a_child_that_ends_with_its_last_batch(void **state)
{
    struct gap g = a_gap(100 * MS, 151 * MS, 150 * MS + 500 * US, 151 * MS);
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    reads(&t, WORKER, WORKER, 100 * MS, 149 * MS);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 100 * MS, 150 * MS, WORKER, WORKER);
    ended(&t, 150 * MS + 200 * US, WORKER, WORKER);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 0);
    assert_true(shares_of(&s, CAUSE_STORAGE) > 0);
    threads_find(&t, WORKER)->exit = 150 * MS; /* that it ended is what woke the thread */
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 50 * MS);
}

/* The trainer wanted the interpreter lock at `at`, which the other thread kept for its 5 ms and then gave away. */
static void contends(int64_t at)
{
    struct event_wait w = a_wait(TRAINER, TRAINER, TARGET_FUTEX, at, at + 5 * MS);
    w.flags = WAIT_TIMED | WAIT_WAKER_IRQ;
    push(&t, w);
    w = a_wait(TRAINER, TRAINER, TARGET_FUTEX, at + 5 * MS + 20 * US, at + 5 * MS + 60 * US);
    w.flags = WAIT_TIMED;
    w.waker_tid = PIN;
    w.waker_tgid = TRAINER;
    push(&t, w);
    woken(&t, PIN, TRAINER, TARGET_FUTEX, at + 5 * MS + 70 * US, at + 5 * MS + 90 * US, TRAINER,
          TRAINER);
}

/* A thread of the process that computes something else, and told when it had started and that it ends: what it
 * does on a core is no batch. */
static void another_thread_has_the_lock(void **state)
{
    struct gap g = a_gap(30 * MS, 36 * MS, 35 * MS + 900 * US, 36 * MS);
    (void)state;
    started(&t, 10 * MS, PIN, TRAINER, 1);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 10 * MS, 17 * MS, PIN, TRAINER);
    for (int i = 0; i < 5; i++)
        contends(30 * MS + i * 10 * MS);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 1900 * MS, 1920 * MS, PIN, TRAINER);
    ended(&t, 1921 * MS, PIN, TRAINER);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_LOCK), 5 * MS + 40 * US);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 0);
}

/* One for which the trainer also waits longer makes something. */
static void another_thread_makes_something(void **state)
{
    struct gap g = a_gap(60 * MS, 66 * MS, 65 * MS + 900 * US, 66 * MS);
    (void)state;
    started(&t, 1 * MS, PIN, TRAINER, 1);
    for (int i = 0; i < 5; i++)
        contends(30 * MS + i * 10 * MS);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 100 * MS, 120 * MS, PIN, TRAINER);
    struct shares s = explained(&g);
    assert_true(shares_of(&s, CAUSE_LOCK) < MS);
    assert_true(shares_of(&s, CAUSE_PREPARE) > 4 * MS);
}

/* Up to its first launch the thread itself starts: it is not told to have waited for processes. */
static void a_start_is_told(void **state)
{
    struct gap g = a_gap(0, 500 * MS, 480 * MS, 481 * MS);
    struct shares s = {.count = 0};
    struct chain_links links = {.count = 0};
    enum evidence evidence;
    (void)state;
    threads_find(&t, TRAINER)->first_launch = 480 * MS;
    gap_explain(&t, &names, &g, &s, &evidence, &links);
    assert_int_equal(links.count, 1);
    assert_string_equal(links.link[0].did, "was starting for 480 ms");
}

static void calls_in_a_gap(void **state)
{
    struct gap g = a_gap(0, 100 * MS, 99 * MS, 100 * MS);
    (void)state;
    called(&t, TRAINER, CALL_SYNC, 10 * MS, 30 * MS);    /* spins */
    called(&t, TRAINER, CALL_CONTEXT, 40 * MS, 45 * MS); /* in part off its core */
    woken(&t, TRAINER, TRAINER, TARGET_POLL, 41 * MS, 44 * MS, PIN, TRAINER);
    called(&t, TRAINER, CALL_MEMORY, 50 * MS, 52 * MS);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH), 20 * MS + 1 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 5 * MS);
    assert_int_equal(shares_of(&s, CAUSE_HOST), 100 * MS - 26 * MS);
}

static void a_core_lost_in_the_launch(void **state)
{
    struct gap g = a_gap(0, 50 * MS, 10 * MS, 45 * MS);
    struct event_wait w = a_wait(TRAINER, TRAINER, TARGET_CORE, 12 * MS, 12 * MS);
    (void)state;
    w.t_in = 40 * MS;
    push(&t, w);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_CPU_STARVED), 28 * MS);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH), 12 * MS);
    g.ended_by_copy_call = true;
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_PAGEABLE_COPY), 12 * MS);
}

/* The gap belongs to the last delivery before the launch: the other worker's was put aside. */
static void deliver_two(uint32_t a, uint32_t a_tgid, uint32_t b, uint32_t b_tgid,
                        enum target target)
{
    woken(&t, TRAINER, TRAINER, target, 1 * MS, 2 * MS, a, a_tgid);
    woken(&t, TRAINER, TRAINER, target, 3 * MS, 4 * MS, b, b_tgid);
    reads(&t, a, a_tgid, 10 * MS, 100 * MS);
    woken(&t, TRAINER, TRAINER, target, 50 * MS, 101 * MS, a, a_tgid);
    woken(&t, TRAINER, TRAINER, target, 102 * MS, 150 * MS, b, b_tgid); /* all on a core */
}

static void the_last_delivery_takes_the_gap(void **state)
{
    struct gap g = a_gap(50 * MS, 151 * MS, 150 * MS, 151 * MS);
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, OTHER, OTHER, TRAINER);
    deliver_two(WORKER, WORKER, OTHER, OTHER, TARGET_PIPE);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 0);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 99 * MS);
}

/* What a worker's queue hands over, and the keeper of shared memory only answers about, was made by the
 * worker. */
static void who_answers_made_nothing(void **state)
{
    struct gap g = a_gap(50 * MS, 151 * MS, 150 * MS, 151 * MS);
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    started(&t, 0, OTHER, OTHER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 1 * MS, 2 * MS, FEEDER, WORKER);
    reads(&t, WORKER, WORKER, 3 * MS, 147 * MS);
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 3 * MS, 147 * MS, WORKER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 51 * MS, 147 * MS, FEEDER, WORKER);
    woken(&t, OTHER, OTHER, TARGET_POLL, 3 * MS, 148 * MS, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 148 * MS, 149 * MS, OTHER, OTHER);
    struct shares s = explained(&g);
    assert_true(shares_of(&s, CAUSE_STORAGE) > 90 * MS);
}

/* A worker with the thread of its queue, whose batch is put at t: it has read since its last, or computed. */
static void batch(uint32_t tid, int64_t last, int64_t t_put, bool read)
{
    if (read)
        reads(&t, tid, tid, last, t_put - MS);
    woken(&t, tid + 1, tid, TARGET_FUTEX, last + MS, t_put, tid, tid);
}

/* The trainer gets at t what it has waited for since t_out, on that channel. */
static void got(uint32_t tid, uint64_t channel, int64_t t_out, int64_t at)
{
    struct event_wait w = a_wait(TRAINER, TRAINER, TARGET_PIPE, t_out, at);
    w.waker_tid = tid + 1;
    w.waker_tgid = tid;
    w.channel = channel;
    push(&t, w);
}

/* Others hold the ended child's pipe (torch_shm_manager does), so waiting for its end times out: no batch was
 * awaited, whatever else woke the thread. On a pipe that a batch came by, one was. */
static void a_child_s_end_that_times_out(void **state)
{
    struct gap g = a_gap(100 * MS, 700 * MS, 699 * MS, 700 * MS);
    struct event_wait w = a_wait(TRAINER, TRAINER, TARGET_PIPE, 150 * MS, 650 * MS);
    (void)state;
    w.flags = WAIT_WAKER_IRQ;
    w.channel = 7;
    for (uint32_t i = 0; i < 2; i++)
        started(&t, 0, OTHER + i, OTHER, TRAINER);
    started(&t, 0, WORKER, WORKER, TRAINER);
    ended(&t, 120 * MS, WORKER, WORKER);
    batch(OTHER, 1 * MS, 656 * MS, true);
    push(&t, w);
    got(OTHER, 8, 652 * MS, 656 * MS);
    struct shares s = explained(&g);
    assert_in_range(shares_of(&s, CAUSE_STARTUP), 500 * MS, 501 * MS); /* + the batch's own */
    got(OTHER, 7, 657 * MS, 660 * MS);
    s = explained(&g);
    assert_true(shares_of(&s, CAUSE_STARTUP) < 5 * MS);
}

/* both: the trainer has waited for either. */
static void two_workers(bool both)
{
    for (uint32_t tid = WORKER; tid <= OTHER; tid += OTHER - WORKER)
        for (uint32_t i = 0; i < 3; i++)
            started(&t, 0, tid + i, tid, TRAINER);
    batch(WORKER, 1 * MS, 100 * MS, true);
    batch(OTHER, 1 * MS, 100 * MS, false);
    got(WORKER, 7, 90 * MS, 101 * MS);
    struct gap g = a_gap(90 * MS, 103 * MS, 102 * MS, 103 * MS);
    explained(&g); /* who makes them is known by now */
    if (!both)
        return;
    got(OTHER, 9, 104 * MS, 105 * MS);
    g = a_gap(104 * MS, 107 * MS, 106 * MS, 107 * MS);
    explained(&g);
}

/* Two loaders are zipped, and a batch of each is waited for: each takes its own wait. */
static void each_loader_takes_its_wait(void **state)
{
    (void)state;
    two_workers(true);
    batch(WORKER, 102 * MS, 140 * MS, true);
    got(WORKER, 7, 120 * MS, 140 * MS);
    batch(OTHER, 106 * MS, 150 * MS, false);
    got(OTHER, 9, 140 * MS, 150 * MS);
    struct gap g = a_gap(120 * MS, 151 * MS, 150 * MS, 151 * MS);
    struct shares s = explained(&g);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 14 * MS, 20 * MS);
    assert_in_range(shares_of(&s, CAUSE_PREPARE), 10 * MS, 16 * MS);
}

/* One of the other loader was put long before; only what it holds is fetched, after the wait. */
static void put_long_before(int64_t put)
{
    two_workers(false);
    batch(OTHER, 105 * MS, put, false);
    batch(WORKER, 102 * MS, 140 * MS, true);
    got(WORKER, 7, 120 * MS, 140 * MS);
    woken(&t, OTHER + 2, OTHER, TARGET_PIPE, 106 * MS, 141 * MS, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 141 * MS, 142 * MS, OTHER + 2, OTHER);
    struct gap g = a_gap(120 * MS, 151 * MS, 150 * MS, 151 * MS);
    struct shares s = explained(&g);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 14 * MS, 21 * MS);
    assert_in_range(shares_of(&s, CAUSE_PREPARE), 0, 7 * MS);
}

/* Before the trainer began to wait, or meanwhile: that would have woken it, had it come where it waited. */
static void what_was_there_takes_no_wait(void **state)
{
    (void)state;
    put_long_before(111 * MS);
}

static void what_did_not_wake_takes_no_wait(void **state)
{
    (void)state;
    put_long_before(128 * MS);
}

/* The same with threads of the process as workers. */
static void threads_are_one_loader(void **state)
{
    struct gap g = a_gap(50 * MS, 151 * MS, 150 * MS, 151 * MS);
    (void)state;
    started(&t, 0, PIN, TRAINER, 1);
    started(&t, 0, PIN + 1, TRAINER, 1);
    deliver_two(PIN, TRAINER, PIN + 1, TRAINER, TARGET_FUTEX);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 0);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 99 * MS);
}

/* More threads than there are groups: the time stays. */
static void many_threads_in_one_gap(void **state)
{
    struct gap g = a_gap(0, 1000 * MS, 999 * MS, 1000 * MS);
    (void)state;
    for (uint32_t i = 0; i < 90; i++) {
        started(&t, 0, 400 + i, TRAINER, 1);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, i * 11 * MS, i * 11 * MS + 10 * MS, 400 + i,
              TRAINER);
    }
    struct shares s = explained(&g);
    assert_true(shares_of(&s, CAUSE_UNKNOWN) == 0);
}

/* Where many waits were lost, a thread may have waited for anything in what looks like work. */
static void where_waits_were_lost(void **state)
{
    struct gap g = a_gap(100 * MS, 200 * MS, 199 * MS, 200 * MS);
    (void)state;
    threads_lose(&t, 10 * MS, 90 * MS);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_HOST), 99 * MS);
    threads_lose(&t, 90 * MS, 110 * MS);
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 99 * MS);
    started(&t, 0, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 100 * MS, 198 * MS, WORKER, WORKER);
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 0);
}

/* Nobody watches threads: only calls are known. */
static void without_a_source_of_waits(void **state)
{
    struct gap g = a_gap(0, 10 * MS, 9 * MS, 10 * MS);
    struct shares s = {.count = 0};
    enum evidence evidence;
    (void)state;
    g.waits_seen = false;
    called(&t, TRAINER, CALL_SYNC, 1 * MS, 3 * MS);
    gap_explain(&t, &names, &g, &s, &evidence, NULL);
    assert_int_equal(evidence, EVIDENCE_DEVICE);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 7 * MS);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH), 3 * MS);
}

static void the_longest_wait_is_told(void **state)
{
    struct gap g = a_gap(0, 100 * MS, 99 * MS, 100 * MS);
    struct shares s = {.count = 0};
    struct chain_links links = {.count = 0};
    enum evidence evidence;
    (void)state;
    reads(&t, TRAINER, TRAINER, 10 * MS, 90 * MS);
    gap_explain(&t, &names, &g, &s, &evidence, &links);
    assert_int_equal(links.count, 1);
    assert_string_equal(links.link[0].who, "python3 100");
    assert_non_null(strstr(links.link[0].did, "nfs://10.0.0.4/data"));
}

/* Once it is known who makes the batches, each link says who it is. */
static void roles_are_told(void **state)
{
    struct shares s = {.count = 0};
    struct chain_links links = {.threads = &t};
    enum evidence evidence;
    (void)state;
    two_workers(false);
    batch(WORKER, 102 * MS, 190 * MS, true);
    got(WORKER, 7, 104 * MS, 191 * MS);
    struct gap g = a_gap(104 * MS, 193 * MS, 192 * MS, 193 * MS);
    gap_explain(&t, &names, &g, &s, &evidence, &links);
    assert_in_range(links.count, 2, 3);
    assert_string_equal(links.link[0].who, "launching thread python3 100");
    assert_non_null(strstr(links.link[0].did, "waited for feeder python3 201 for"));
    assert_string_equal(links.link[links.count - 1].who, "worker python3 200");
    char who[64];
    chain_who(&links, threads_find(&t, SHARER), who, sizeof(who));
    assert_string_equal(who, "worker's thread python3 202");
    links.threads = NULL;
    links.count = 0;
    gap_explain(&t, &names, &g, &s, &evidence, &links);
    assert_string_equal(links.link[0].who, "python3 100");
}

/* A thread between the workers and the one that launches, which hands on what they made. */
static void a_relay_is_told(void **state)
{
    const struct chain_links links = {.threads = &t};
    char who[64];
    (void)state;
    started(&t, 0, PIN, TRAINER, 1);
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    for (int64_t at = 0; at < 300 * MS; at += 100 * MS) {
        reads(&t, WORKER, WORKER, at, at + 80 * MS);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 1, at + 100 * MS, WORKER, WORKER);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 2, at + 100 * MS, FEEDER, WORKER);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, at + 85 * MS, at + 100 * MS, PIN, TRAINER);
    }
    struct gap g = a_gap(285 * MS, 302 * MS, 301 * MS, 302 * MS);
    explained(&g);
    chain_who(&links, threads_find(&t, PIN), who, sizeof(who));
    assert_string_equal(who, "relay python3 101");
    chain_who(&links, threads_find(&t, TRAINER), who, sizeof(who));
    assert_string_equal(who, "launching thread python3 100");
}

/* "python3 100 slept for 5 ms", with and without a resource: never the bare name of a cause. */
static void every_cause_makes_a_sentence(void **state)
{
    const struct thread *th = threads_find(&t, TRAINER);
    (void)state;
    for (int c = CAUSE_NONE; c < CAUSE_COUNT; c++)
        for (int k = 0; k < 2; k++) {
            struct chain_links links = {.count = 0};
            struct shares s = {.count = 0};
            shares_add(&s, (enum cause)c, k ? STORE : 0, 5 * MS);
            chain_tell_did(&links, th, "", &s.part[0], &names);
            chain_tell_largest(&links, th, &s, &names);
            assert_int_equal(links.count, 2);
            for (int l = 0; l < links.count; l++) {
                const char *did = links.link[l].did;
                const char *title = cause_title((enum cause)c);
                assert_int_not_equal(strncmp(did, title, strlen(title)), 0);
                assert_null(strstr(did, "from for"));
                assert_null(strstr(did, "over for"));
                assert_null(strstr(did, ": for"));
                if (c == CAUSE_STARTUP && l) /* the ending of processes is booked there, too */
                    assert_non_null(
                        strstr(did, k ? "start or end, which read from nfs" : "start or end"));
                if (c == CAUSE_STARTUP && k && !l)
                    assert_non_null(strstr(did, "was starting, reading from nfs"));
                assert_int_equal(strstr(did, "nfs://10.0.0.4/data") != NULL, k);
                assert_non_null(strstr(did, " for 5 ms"));
            }
        }
}

/* A write() that only copies is on a core all the time: a checkpoint all the same. */
static void filling_a_file_is_a_checkpoint(void **state)
{
    struct gap g = a_gap(0, 100 * MS, 99 * MS, 100 * MS);
    struct event_wait w = a_wait(TRAINER, TRAINER, TARGET_WRITE, 10 * MS, 90 * MS);
    (void)state;
    w.resource = STORE;
    push(&t, w);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_CHECKPOINT), 80 * MS);
    assert_int_equal(shares_of(&s, CAUSE_HOST), 19 * MS);
}

/* A helper's first turn: its writing is no start, though no next turn is known. */
static void a_helper_fills_a_file(void **state)
{
    struct gap g = a_gap(0, 100 * MS, 99 * MS, 100 * MS);
    (void)state;
    started(&t, 5 * MS, PIN, TRAINER, 1);
    push(&t, a_wait(PIN, TRAINER, TARGET_WRITE, 10 * MS, 90 * MS));
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 4 * MS, 95 * MS, PIN, TRAINER);
    struct shares s = explained(&g);
    assert_true(shares_of(&s, CAUSE_CHECKPOINT) >= 78 * MS);
}

/* Samples of connections that were made for one request each: none tells what it brought, but
 * their ends do. */
static void short_connections_to_a_store(void **state)
{
    struct gap g = a_gap(0, 400 * MS, 399 * MS, 400 * MS);
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct event_wait w =
            a_wait(TRAINER, TRAINER, TARGET_SOCKET, (i * 20 + 1) * MS, (i * 20 + 19) * MS);
        w.flags = WAIT_SAMPLED;
        w.channel = 1000 + (uint64_t)i;
        w.resource = STORE;
        w.tx_bytes = 200; /* asked; the answer came after the last look */
        push(&t, w);
    }
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 0);
    for (uint64_t i = 0; i < 20; i++) {
        struct event_closed c = {400 * MS, 1000 + i, STORE, 65536, 200};
        assert_true(threads_closed(&t, &c));
    }
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 360 * MS);
}

/* ---- the crowd ---- */

static struct shares crowd(struct event_wait w)
{
    struct walk k;
    struct shares s = {.count = 0};
    walk_init(&k, &t, &names, threads_find(&t, TRAINER));
    crowd_share(&k, &w, &s);
    return s;
}

/* Who holds the other end of the pipe, else the children; for a lock the other threads. */
static void who_could_have_ended_it(void **state)
{
    struct event_channel holds = {.channel = 5, .tgid = WORKER, .writer = true};
    struct event_wait pipe = a_wait(TRAINER, TRAINER, TARGET_PIPE, 400 * MS, 500 * MS);
    struct event_wait futex = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 400 * MS, 500 * MS);
    (void)state;
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, OTHER, OTHER, TRAINER);
    reads(&t, WORKER, WORKER, 10 * MS, 490 * MS);
    woken(&t, OTHER, OTHER, TARGET_SLEEP, 10 * MS, 20 * MS, 0, 0);
    struct shares s = crowd(pipe); /* both children */
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 480 * MS);
    assert_true(shares_of(&s, CAUSE_PREPARE) > 400 * MS);
    pipe.channel = 5;
    assert_true(threads_hold_channel(&t, &holds));
    s = crowd(pipe); /* one of them */
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 480 * MS);
    assert_true(shares_of(&s, CAUSE_PREPARE) < 30 * MS);
    s = crowd(futex); /* no other thread: the children again */
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 480 * MS);
    started(&t, 0, PIN, TRAINER, 1);
    s = crowd(futex);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 0);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 100 * MS);
}

/* A worker that writes to `channel`, and another thread of the trainer's process. */
static void a_relay(uint64_t channel)
{
    struct event_channel holds = {.channel = channel, .tgid = WORKER, .writer = true};
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, PIN, TRAINER, 1);
    assert_true(threads_hold_channel(&t, &holds));
}

/* A thread that takes batches from the workers and hands them on: who waits for it waits for them. */
static void a_relay_s_makers_tell(void **state)
{
    struct event_wait futex = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 400 * MS, 500 * MS);
    (void)state;
    a_relay(5);
    reads(&t, WORKER, WORKER, 1 * MS, 300 * MS);
    reads(&t, WORKER, WORKER, 320 * MS, 490 * MS);
    struct event_wait w = a_wait(PIN, TRAINER, TARGET_PIPE, 300 * MS, 492 * MS);
    w.channel = 5;
    push(&t, w);
    struct shares s = crowd(futex);
    assert_true(shares_of(&s, CAUSE_STORAGE) > 80 * MS); /* of 92 ms */
    assert_in_range(shares_of(&s, CAUSE_PREPARE), 8 * MS,
                    16 * MS); /* its own 8, and the workers' */
    assert_in_range(shares_total(&s), 100 * MS, 101 * MS);
}

/* A socket whose other end is not known has channel 0, as have waits for locks: the thread that waits for
 * a lock relays nothing. */
static void an_unknown_channel_is_nobody_s(void **state)
{
    struct event_wait futex = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 400 * MS, 500 * MS);
    (void)state;
    a_relay(0);
    reads(&t, WORKER, WORKER, 1 * MS, 490 * MS);
    push(&t, a_wait(PIN, TRAINER, TARGET_FUTEX, 300 * MS, 450 * MS));
    struct shares s = crowd(futex);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 0);
    assert_int_equal(shares_total(&s), 50 * MS);
    push(&t, a_wait(PIN, TRAINER, TARGET_POLL, 450 * MS, 490 * MS)); /* nor one that polls */
    s = crowd(futex);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 0);
    assert_int_equal(shares_total(&s), 10 * MS);
}

/* A worker that sleeps (a lock that it polls) makes what is awaited; a process that only is a child, and
 * threads beside the work, sleep for reasons of their own. */
static void a_maker_s_sleep_tells(void **state)
{
    struct event_channel holds = {.channel = 5, .tgid = WORKER, .writer = true};
    struct event_wait pipe = a_wait(TRAINER, TRAINER, TARGET_PIPE, 400 * MS, 500 * MS);
    (void)state;
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    reads(&t, WORKER, WORKER, 1 * MS, 100 * MS);
    woken(&t, WORKER, WORKER, TARGET_SLEEP, 100 * MS, 490 * MS, 0, 0);
    woken(&t, FEEDER, WORKER, TARGET_SLEEP, 1 * MS, 500 * MS, 0, 0);
    struct shares s = crowd(pipe); /* who holds the pipe is not known */
    assert_int_equal(shares_of(&s, CAUSE_SLEEP), 0);
    pipe.channel = 5;
    assert_true(threads_hold_channel(&t, &holds));
    s = crowd(pipe);
    assert_int_equal(shares_of(&s, CAUSE_SLEEP), 390 * MS);
}

/* Nobody has looked yet at what new workers hold; the old one held the pipe, and is gone. */
static void new_workers_could_have_ended_it(void **state)
{
    struct event_channel holds = {.channel = 5, .tgid = WORKER, .writer = true};
    struct event_wait pipe = a_wait(TRAINER, TRAINER, TARGET_PIPE, 300 * MS, 400 * MS);
    (void)state;
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    started(&t, 0, WORKER, WORKER, TRAINER);
    assert_true(threads_hold_channel(&t, &holds));
    ended(&t, 200 * MS, WORKER, WORKER);
    started(&t, 250 * MS, OTHER, OTHER, TRAINER);
    pipe.channel = 5;
    struct shares s = crowd(pipe);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 150 * MS);
    assert_int_equal(shares_total(&s), 150 * MS);
}

/* The launching thread has gone on since: it had started by then. */
static void a_worker_that_had_started(void **state)
{
    (void)state;
    called(&t, TRAINER, CALL_SYNC, 250 * MS, 260 * MS);
    threads_find(&t, TRAINER)->last_call_end = 260 * MS;
    started(&t, 200 * MS, WORKER, WORKER, TRAINER);
    struct shares s = crowd(a_wait(TRAINER, TRAINER, TARGET_PIPE, 300 * MS, 400 * MS));
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 50 * MS);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 150 * MS);
}

/* A thread that receives runs in between, bytes in flight: the launching thread waits for the network. */
static void a_collective_s_thread_is_the_network(void **state)
{
    (void)state;
    started(&t, 0, PIN, TRAINER, 1);
    for (int64_t at = 300 * MS; at < 400 * MS; at += 20 * MS) {
        struct event_wait w = a_wait(PIN, TRAINER, TARGET_SOCKET, at, at + 14 * MS);
        w.resource = STORE;
        w.rx_during = 65536;
        push(&t, w);
    }
    struct shares s = crowd(a_wait(TRAINER, TRAINER, TARGET_FUTEX, 300 * MS, 400 * MS));
    assert_int_equal(shares_of(&s, CAUSE_NETWORK), 100 * MS);
    assert_int_equal(shares_total(&s), 100 * MS);
}

/* Samples tell its start some ms too early, in the call that went before: it has not started by that. */
static void a_worker_told_too_early(void **state)
{
    (void)state;
    called(&t, TRAINER, CALL_SYNC, 190 * MS, 203 * MS);
    called(&t, TRAINER, CALL_SYNC, 390 * MS, 400 * MS);
    called(&t, TRAINER, CALL_SYNC, 420 * MS, 430 * MS);
    threads_find(&t, TRAINER)->last_call_end = 430 * MS;
    started(&t, 200 * MS, WORKER, WORKER, TRAINER);
    ended(&t, 431 * MS, WORKER, WORKER);
    struct shares s = crowd(a_wait(TRAINER, TRAINER, TARGET_PIPE, 206 * MS, 389 * MS));
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 189 * MS);
    assert_int_equal(shares_total(&s), 189 * MS);
}

/* Its end is known already, and no call after its start is yet: it lived on when the wait was over. */
static void a_worker_whose_end_is_known_first(void **state)
{
    (void)state;
    called(&t, TRAINER, CALL_SYNC, 150 * MS, 180 * MS);
    threads_find(&t, TRAINER)->last_call_end = 180 * MS;
    started(&t, 200 * MS, WORKER, WORKER, TRAINER);
    ended(&t, 431 * MS, WORKER, WORKER);
    struct shares s = crowd(a_wait(TRAINER, TRAINER, TARGET_PIPE, 206 * MS, 389 * MS));
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 189 * MS);
}

static void a_crowd_of_none(void **state)
{
    (void)state;
    assert_int_equal(crowd(a_wait(TRAINER, TRAINER, TARGET_PIPE, 1, 2)).count, 0);
}

/* A worker made since the last launch starts until it first reads from a store. */
static void a_worker_that_starts(void **state)
{
    struct event_wait first = a_wait(WORKER, WORKER, TARGET_SOCKET, 300 * MS, 350 * MS);
    (void)state;
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    started(&t, 200 * MS, WORKER, WORKER, TRAINER);
    first.flags = WAIT_STORAGE_PEER;
    push(&t, first);
    struct shares s = crowd(a_wait(TRAINER, TRAINER, TARGET_PIPE, 200 * MS, 400 * MS));
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 100 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 50 * MS);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 50 * MS);
}

/* ---- processes and threads made for one thing each ---- */

#define DECODER 400u /* made by a worker, or by the trainer */

/* The worker waits for a program that decodes each file: what that does is the worker's making. */
static void a_worker_s_programs(void **state)
{
    struct event_channel holds = {.channel = 5, .tgid = WORKER, .writer = true};
    struct event_wait pipe = a_wait(TRAINER, TRAINER, TARGET_PIPE, 400 * MS, 500 * MS);
    (void)state;
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    called(&t, TRAINER, CALL_SYNC, 90 * MS, 100 * MS);
    started(&t, 0, WORKER, WORKER, TRAINER);
    assert_true(threads_hold_channel(&t, &holds));
    for (uint32_t i = 0; i < 12; i++) {
        int64_t at = i * 40 * MS;
        started(&t, at, DECODER + i, DECODER + i, WORKER);
        reads(&t, DECODER + i, DECODER + i, at, at + 10 * MS);
        ended(&t, at + 40 * MS, DECODER + i, DECODER + i);
        push(&t, a_wait(WORKER, WORKER, i % 2 ? TARGET_CHILD : TARGET_PIPE, at, at + 40 * MS));
    }
    pipe.channel = 5;
    struct shares s = crowd(pipe);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 115 * MS, 121 * MS); /* of 480 ms */
    assert_in_range(shares_of(&s, CAUSE_PREPARE), 360 * MS, 385 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 0);
}

/* It is known which worker delivered, but not who wrote what that waited for: its program did. */
static void a_program_s_item_is_delivered(void **state)
{
    struct gap g = a_gap(100 * MS, 200 * MS, 199 * MS, 200 * MS);
    struct event_channel holds = {.channel = 6, .tgid = DECODER, .writer = true};
    struct event_wait item = a_wait(WORKER, WORKER, TARGET_PIPE, 60 * MS, 190 * MS);
    struct event_wait delivery = a_wait(TRAINER, TRAINER, TARGET_PIPE, 100 * MS, 190 * MS);
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 60 * MS, DECODER, DECODER, WORKER);
    assert_true(threads_hold_channel(&t, &holds));
    reads(&t, DECODER, DECODER, 60 * MS, 125 * MS);
    ended(&t, 190 * MS, DECODER, DECODER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 50 * MS, 59 * MS, WORKER, WORKER); /* the one before */
    item.flags = delivery.flags = WAIT_SAMPLED;
    item.channel = 6;
    push(&t, item);
    delivery.waker_tid = delivery.waker_tgid = WORKER;
    push(&t, delivery);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 0);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 43 * MS, 46 * MS); /* half of 90 */
}

/* The trainer makes a program for each file itself: nothing is launched before it has ended. */
static void a_trainer_s_program(void **state)
{
    (void)state;
    called(&t, TRAINER, CALL_SYNC, 90 * MS, 100 * MS);
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    started(&t, 110 * MS, DECODER, DECODER, TRAINER);
    ended(&t, 200 * MS, DECODER, DECODER);
    called(&t, TRAINER, CALL_SYNC, 210 * MS, 220 * MS);
    threads_find(&t, TRAINER)->last_call_end = 220 * MS;
    struct shares s = crowd(a_wait(TRAINER, TRAINER, TARGET_PIPE, 111 * MS, 200 * MS));
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 90 * MS);
    assert_int_equal(shares_total(&s), 90 * MS);
}

/* The trainer waits for a process to end: what that did meanwhile, not that it is a process. */
static void a_process_that_is_awaited(void **state)
{
    struct event_wait child = a_wait(TRAINER, TRAINER, TARGET_CHILD, 100 * MS, 200 * MS);
    struct gap g = a_gap(90 * MS, 210 * MS, 209 * MS, 210 * MS);
    (void)state;
    child.flags = WAIT_SAMPLED;
    struct shares s = crowd(child);
    assert_int_equal(s.count, 0);
    threads_find(&t, TRAINER)->first_launch = 0;
    push(&t, child);
    s = explained(&g); /* nobody saw a process: no guess */
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 100 * MS);
    started(&t, 100 * MS, DECODER, DECODER, TRAINER);
    push(&t, a_wait(DECODER, DECODER, TARGET_WRITE, 110 * MS, 200 * MS));
    ended(&t, 200 * MS, DECODER, DECODER);
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_CHECKPOINT), 90 * MS);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 10 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 10 * MS); /* until it was made */
}

/* A worker of an epoch that is over ends, or the job has not begun yet: no making is awaited. */
static void a_process_that_ends_or_starts(void **state)
{
    struct event_wait child = a_wait(TRAINER, TRAINER, TARGET_CHILD, 100 * MS, 200 * MS);
    struct gap g = a_gap(90 * MS, 210 * MS, 209 * MS, 210 * MS);
    (void)state;
    child.flags = WAIT_SAMPLED;
    push(&t, child);
    struct shares s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 100 * MS);
    threads_find(&t, TRAINER)->first_launch = 209 * MS;
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 0);
    threads_find(&t, TRAINER)->first_launch = 1;
    started(&t, 10 * MS, WORKER, WORKER, TRAINER);
    ended(&t, 195 * MS, WORKER, WORKER);
    threads_find(&t, TRAINER)->last_call_end = 90 * MS;
    s = explained(&g);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 100 * MS);
}

/* The process was not seen, but one that lived as short was; the loader's worker has no part in it. */
static void a_process_like_others(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 20 * MS, DECODER, DECODER, TRAINER);
    push(&t, a_wait(DECODER, DECODER, TARGET_WRITE, 21 * MS, 24 * MS));
    ended(&t, 24 * MS, DECODER, DECODER);
    threads_find(&t, TRAINER)->last_call_end = 90 * MS;
    struct shares s = crowd(a_wait(TRAINER, TRAINER, TARGET_CHILD, 100 * MS, 104 * MS));
    assert_int_equal(shares_of(&s, CAUSE_CHECKPOINT), 3 * MS);
    assert_int_equal(shares_total(&s), 4 * MS);
}

/* A private futex is ended by a thread of the process: where none was seen, nobody knows which. The
 * loader's workers have no part in it. */
static void a_lock_that_no_process_can_end(void **state)
{
    struct event_wait futex = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 400 * MS, 500 * MS);
    (void)state;
    threads_find(&t, TRAINER)->last_call_end = 100 * MS;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, PIN, TRAINER, 1);
    push(&t, a_wait(PIN, TRAINER, TARGET_FUTEX, 1 * MS, 600 * MS));
    struct shares s = crowd(futex);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 500 * MS);
    futex.flags = WAIT_PRIVATE;
    s = crowd(futex);
    assert_int_equal(s.count, 0);
    started(&t, 200 * MS, DECODER, TRAINER, 1); /* one like it was seen before */
    push(&t, a_wait(DECODER, TRAINER, TARGET_WRITE, 201 * MS, 204 * MS));
    ended(&t, 204 * MS, DECODER, TRAINER);
    s = crowd(futex);
    assert_int_equal(shares_of(&s, CAUSE_CHECKPOINT), 3 * MS);
    assert_int_equal(shares_total(&s), 4 * MS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(launch_and_host),
        T(before_the_first_launch_it_is_startup),
        T(a_wait_before_the_first_launch),
        T(making_workers_is_startup),
        T(a_child_that_ends),
        T(a_child_that_ends_with_its_last_batch),
        T(another_thread_has_the_lock),
        T(another_thread_makes_something),
        T(a_start_is_told),
        T(a_child_s_end_that_times_out),
        T(calls_in_a_gap),
        T(a_core_lost_in_the_launch),
        T(the_last_delivery_takes_the_gap),
        T(who_answers_made_nothing),
        T(threads_are_one_loader),
        T(many_threads_in_one_gap),
        T(without_a_source_of_waits),
        T(where_waits_were_lost),
        T(the_longest_wait_is_told),
        T(every_cause_makes_a_sentence),
        T(filling_a_file_is_a_checkpoint),
        T(a_helper_fills_a_file),
        T(short_connections_to_a_store),
        T(who_could_have_ended_it),
        T(roles_are_told),
        T(a_relay_is_told),
        T(a_worker_that_had_started),
        T(new_workers_could_have_ended_it),
        T(a_collective_s_thread_is_the_network),
        T(a_relay_s_makers_tell),
        T(an_unknown_channel_is_nobody_s),
        T(a_maker_s_sleep_tells),
        T(a_worker_told_too_early),
        T(a_worker_whose_end_is_known_first),
        T(a_crowd_of_none),
        T(a_worker_that_starts),
        T(a_worker_s_programs),
        T(a_program_s_item_is_delivered),
        T(a_trainer_s_program),
        T(a_process_that_is_awaited),
        T(a_process_that_ends_or_starts),
        T(a_process_like_others),
        T(a_lock_that_no_process_can_end),
        T(each_loader_takes_its_wait),
        T(what_was_there_takes_no_wait),
        T(what_did_not_wake_takes_no_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
