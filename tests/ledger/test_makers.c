/* SPDX-License-Identifier: MIT */
/* How many workers a loader has, and how often they were started anew. */
#include "ledger/makers.h"

#include "ledger/own_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "threads_of.h"

struct world {
    struct threads threads;
    struct intern names;
    struct replay_log *log;
    struct makers makers;
};

static struct world *begin(void)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->log = replay_log_new(0);
    w->makers = (struct makers){.threads = &w->threads,
                                .names = &w->names,
                                .log = w->log,
                                .consumer = replay_consumer(w->log, TRAINER, 0)};
    started(&w->threads, 0, TRAINER, TRAINER, 1);
    return w;
}

static void end(struct world *w)
{
    makers_clear(&w->makers);
    threads_clear(&w->threads);
    intern_clear(&w->names);
    replay_log_free(w->log);
    free(w);
}

/* A worker process with the thread of its queue, made at t. */
static void worker(struct world *w, int64_t t, uint32_t tid)
{
    started(&w->threads, t, tid, tid, TRAINER);
    started(&w->threads, t + MS, tid + 1, tid, TRAINER);
}

/* It reads for 20 ms from t on and hands over; the queue's thread had waited for that. */
static void made(struct world *w, int64_t t, uint32_t tid)
{
    reads(&w->threads, tid, tid, t, t + 20 * MS);
    woken(&w->threads, tid + 1, tid, TARGET_FUTEX, t + MS, t + 20 * MS + 100 * US, tid, tid);
}

/* The trainer has waited for it, at the queue's pipe (0: it is not known which). */
static struct made_by *awaited_at(struct world *w, int64_t t, uint32_t tid, uint64_t pipe)
{
    const struct thread *th = threads_find(&w->threads, TRAINER);
    struct event_wait wait = a_wait(TRAINER, TRAINER, TARGET_PIPE, t + 2 * MS, t + 21 * MS);
    bool fresh;
    wait.waker_tid = tid + 1;
    wait.waker_tgid = tid;
    wait.channel = pipe;
    made(w, t, tid);
    push(&w->threads, wait);
    struct made_by *m =
        makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh);
    assert_non_null(m);
    return m;
}

static void awaited(struct world *w, int64_t t, uint32_t tid)
{
    awaited_at(w, t, tid, 0);
}

static void look(struct world *w, int64_t now)
{
    makers_find_siblings(&w->makers, threads_find(&w->threads, TRAINER), now);
}

/* Nobody ever waited for the second worker; a short run looks for it when both have ended. */
static void test_found_late(void **state)
{
    struct world *w = begin();
    worker(w, 10 * MS, WORKER);
    worker(w, 11 * MS, OTHER);
    made(w, 20 * MS, OTHER);
    awaited(w, 30 * MS, WORKER);
    ended(&w->threads, 200 * MS, WORKER, WORKER);
    ended(&w->threads, 201 * MS, OTHER, OTHER);
    look(w, 400 * MS);
    assert_int_equal(w->makers.count, 2);
    assert_int_equal(w->makers.totals.workers, 2);
    assert_int_equal(w->makers.totals.generations, 0);
    end(w);
}

/* Those of the next epoch are started when the first ones have ended. */
static void test_started_anew(void **state)
{
    struct world *w = begin();
    worker(w, 10 * MS, WORKER);
    worker(w, 11 * MS, OTHER);
    made(w, 20 * MS, OTHER);
    awaited(w, 30 * MS, WORKER);
    ended(&w->threads, 200 * MS, WORKER, WORKER);
    ended(&w->threads, 201 * MS, OTHER, OTHER);
    worker(w, 210 * MS, 400);
    worker(w, 211 * MS, 500);
    made(w, 220 * MS, 400);
    awaited(w, 250 * MS, 500);
    ended(&w->threads, 500 * MS, 400, 400);
    ended(&w->threads, 501 * MS, 500, 500);
    look(w, 900 * MS);
    assert_int_equal(w->makers.count, 4);
    assert_int_equal(w->makers.totals.workers, 2);
    assert_int_equal(w->makers.totals.generations, 1);
    end(w);
}

/* Events come ahead of what is looked at: the next epoch's worker is known while this one's still works. */
static void test_known_ahead(void **state)
{
    struct world *w = begin();
    worker(w, 10 * MS, WORKER);
    awaited(w, 30 * MS, WORKER);
    ended(&w->threads, 200 * MS, WORKER, WORKER);
    worker(w, 210 * MS, OTHER);
    made(w, 220 * MS, OTHER);
    look(w, 150 * MS);
    assert_int_equal(w->makers.count, 1);
    look(w, 400 * MS);
    assert_int_equal(w->makers.count, 2);
    assert_int_equal(w->makers.totals.workers, 1);
    assert_int_equal(w->makers.totals.generations, 1);
    end(w);
}

/* One worker an epoch: each is a generation of its own. */
static void test_one_each(void **state)
{
    struct world *w = begin();
    for (uint32_t i = 0; i < 3; i++) {
        int64_t t = (int64_t)i * 200 * MS;
        worker(w, t + 10 * MS, WORKER + 100 * i);
        awaited(w, t + 30 * MS, WORKER + 100 * i);
        ended(&w->threads, t + 150 * MS, WORKER + 100 * i, WORKER + 100 * i);
    }
    look(w, 900 * MS);
    assert_int_equal(w->makers.totals.workers, 1);
    assert_int_equal(w->makers.totals.generations, 2);
    end(w);
}

static uint32_t queue_of(const struct world *w, uint32_t key)
{
    for (int i = 0; i < w->makers.count; i++)
        if (w->makers.maker[i]->key == key)
            return w->makers.maker[i]->outlet;
    fail_msg("%u makes nothing", key);
    return 0;
}

/* Beside the workers of one loader those of another are started. Two that nobody has waited for are of the
 * loader of the one made before them. */
static void test_two_queues(void **state)
{
    struct world *w = begin();
    worker(w, 10 * MS, WORKER);
    worker(w, 11 * MS, OTHER);
    made(w, 20 * MS, OTHER);
    awaited_at(w, 30 * MS, WORKER, 7);
    worker(w, 210 * MS, 400);
    worker(w, 211 * MS, 500);
    made(w, 220 * MS, 500);
    awaited_at(w, 230 * MS, 400, 9);
    look(w, 300 * MS);
    assert_int_equal(w->makers.count, 4);
    assert_int_equal(queue_of(w, OTHER), queue_of(w, WORKER));
    assert_int_equal(queue_of(w, 500), queue_of(w, 400));
    assert_int_not_equal(queue_of(w, 400), queue_of(w, WORKER));
    end(w);
}

/* Zipped loaders are started one right after the other: whose worker one is shows when it is awaited. */
static void test_zipped_queues(void **state)
{
    struct world *w = begin();
    for (uint32_t i = 0; i < 4; i++)
        worker(w, (10 + i) * MS, WORKER + 100 * i);
    for (uint32_t i = 1; i < 4; i++)
        made(w, (20 + 25 * i) * MS, WORKER + 100 * i);
    awaited_at(w, 120 * MS, WORKER, 7);
    look(w, 300 * MS);
    assert_int_equal(w->makers.count, 4);
    awaited_at(w, 320 * MS, WORKER + 200, 9);
    assert_int_equal(queue_of(w, WORKER + 100), queue_of(w, WORKER));
    assert_int_not_equal(queue_of(w, WORKER + 200), queue_of(w, WORKER));
    assert_int_equal(queue_of(w, WORKER + 300), queue_of(w, WORKER + 200));
    end(w);
}

/* Workers of a loader that is never waited for, made right before those of one that is: one of them puts
 * something in the midst of such waits, and that ends none of them. */
static void test_a_quick_loader(void **state)
{
    struct world *w = begin();
    const struct thread *th = threads_find(&w->threads, TRAINER);
    bool fresh;
    worker(w, 10 * MS, WORKER);
    worker(w, 11 * MS, OTHER);
    worker(w, 12 * MS, 400);
    worker(w, 13 * MS, 500);
    made(w, 20 * MS, WORKER); /* it answers what the trainer asks of it, on a socket of its own */
    started(&w->threads, 41 * MS, SHARER, WORKER, TRAINER);
    woken(&w->threads, SHARER, WORKER, TARGET_PIPE, 41 * MS, 42 * MS, TRAINER, TRAINER);
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 42 * MS, 43 * MS, SHARER, WORKER);
    assert_non_null(makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh));
    for (int64_t t = 50 * MS; t < 300 * MS; t += 50 * MS) {
        made(w, t - 10 * MS, OTHER);
        awaited_at(w, t, 400, 9);
        look(w, t + 30 * MS);
    }
    made(w, 300 * MS, 500);
    look(w, 450 * MS);
    assert_int_equal(w->makers.count, 4);
    assert_int_equal(queue_of(w, WORKER), queue_of(w, OTHER));
    assert_int_not_equal(queue_of(w, OTHER), queue_of(w, 400));
    assert_int_equal(queue_of(w, 500), queue_of(w, 400));
    end(w);
}

/* A queue's thread that wants for a core sends late: what was put long before wakes nobody, and tells
 * nothing. */
static void test_a_late_queue_thread(void **state)
{
    struct world *w = begin();
    worker(w, 10 * MS, WORKER);
    worker(w, 11 * MS, OTHER);
    for (int64_t t = 50 * MS; t < 300 * MS; t += 50 * MS) {
        struct event_wait late = a_wait(OTHER + 1, OTHER, TARGET_FUTEX, t - 20 * MS, t + 5 * MS);
        late.waker_tid = late.waker_tgid = OTHER;
        late.t_in = t + 22 * MS;
        reads(&w->threads, OTHER, OTHER, t - 10 * MS, t + 5 * MS);
        push(&w->threads, late);
        awaited_at(w, t, WORKER, 7);
        look(w, t + 30 * MS);
    }
    assert_int_equal(w->makers.count, 2);
    assert_int_equal(queue_of(w, OTHER), queue_of(w, WORKER));
    end(w);
}

/* Each epoch's workers put into a queue of their own. */
static void test_a_queue_each(void **state)
{
    struct world *w = begin();
    for (uint32_t i = 0; i < 3; i++) {
        int64_t t = (int64_t)i * 200 * MS;
        worker(w, t + 10 * MS, WORKER + 100 * i);
        awaited_at(w, t + 30 * MS, WORKER + 100 * i, 7 + i);
        awaited_at(w, t + 80 * MS, WORKER + 100 * i, 7 + i);
        assert_int_equal(queue_of(w, WORKER + 100 * i), i);
        ended(&w->threads, t + 150 * MS, WORKER + 100 * i, WORKER + 100 * i);
    }
    end(w);
}

/* A generation that is forgotten by when the next one delivers was no less ended. */
static void test_forgotten(void **state)
{
    struct world *w = begin();
    worker(w, 10 * MS, WORKER);
    awaited(w, 30 * MS, WORKER);
    ended(&w->threads, 150 * MS, WORKER + 1, WORKER);
    ended(&w->threads, 150 * MS, WORKER, WORKER);
    threads_trim(&w->threads, 20000 * MS);
    assert_null(threads_find(&w->threads, WORKER));
    worker(w, 30000 * MS, OTHER);
    awaited(w, 30020 * MS, OTHER);
    look(w, 31000 * MS);
    assert_int_equal(w->makers.totals.workers, 1);
    assert_int_equal(w->makers.totals.generations, 1);
    end(w);
}

/* Python's resource tracker beside spawned workers: the trainer waits until it has begun its program,
 * and for nothing of it after that. */
static void test_a_helper_that_is_started(void **state)
{
    struct world *w = begin();
    const struct thread *th = threads_find(&w->threads, TRAINER);
    struct event_thread exec = {
        .t = 14 * MS, .tid = OTHER, .tgid = OTHER, .change = THREAD_EXEC, .job = true};
    bool fresh;
    started(&w->threads, 10 * MS, OTHER, OTHER, TRAINER);
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 11 * MS, 13 * MS, OTHER, OTHER);
    assert_true(threads_change(&w->threads, &exec));
    const struct event_wait *wait = &th->waits.item[th->waits.count - 1];
    assert_null(makers_of_wake(&w->makers, th, wait, &fresh));
    worker(w, 20 * MS, WORKER);
    awaited(w, 40 * MS, WORKER);
    look(w, 400 * MS);
    assert_int_equal(w->makers.totals.workers, 1);
    assert_int_equal(w->makers.totals.generations, 0);
    end(w);
}

#define SERVER 400u /* a program that the trainer runs */

static void begins_program(struct world *w, int64_t t, uint32_t tid)
{
    struct event_thread exec = {
        .t = t, .tid = tid, .tgid = tid, .change = THREAD_EXEC, .job = true};
    assert_true(threads_change(&w->threads, &exec));
}

/* Is who ended the trainer's last wait a loader? */
static bool is_maker(struct world *w)
{
    const struct thread *th = threads_find(&w->threads, TRAINER);
    bool fresh;
    return makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh) != NULL;
}

/* multiprocessing's fork server makes the workers and says so: that is no delivery, and they are workers
 * like those that the trainer makes itself. */
static void test_a_fork_server(void **state)
{
    struct world *w = begin();
    (void)state;
    started(&w->threads, 10 * MS, SERVER, SERVER, TRAINER);
    begins_program(w, 11 * MS, SERVER);
    for (uint32_t i = 0; i < 2; i++) {
        int64_t t = (40 + i * 10) * MS;
        woken(&w->threads, SERVER, SERVER, TARGET_PIPE, t - 9 * MS, t, TRAINER, TRAINER);
        started(&w->threads, t + MS, WORKER + 100 * i, WORKER + 100 * i, SERVER);
        started(&w->threads, t + 2 * MS, WORKER + 100 * i + 1, WORKER + 100 * i, SERVER);
        woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, t, t + 3 * MS, SERVER, SERVER);
        assert_false(is_maker(w));
    }
    made(w, 70 * MS, OTHER); /* nobody waits for it */
    awaited(w, 100 * MS, WORKER);
    look(w, 400 * MS);
    assert_int_equal(w->makers.count, 2);
    assert_int_equal(w->makers.totals.workers, 2);
    assert_int_equal(w->makers.totals.generations, 0);
    ended(&w->threads, 500 * MS, WORKER, WORKER); /* which it tells the trainer, too */
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 499 * MS, 501 * MS, SERVER, SERVER);
    assert_false(is_maker(w));
    end(w);
}

/* What a worker runs, and what that makes, are none of the loader's workers. */
static void test_a_worker_s_commands(void **state)
{
    struct world *w = begin();
    (void)state;
    worker(w, 10 * MS, WORKER);
    awaited(w, 40 * MS, WORKER);
    started(&w->threads, 80 * MS, OTHER, OTHER, WORKER);
    started(&w->threads, 81 * MS, OTHER + 1, OTHER, WORKER);
    made(w, 90 * MS, OTHER);
    look(w, 400 * MS);
    assert_int_equal(w->makers.count, 1);
    end(w);
}

/* PyTorch's keeper of shared memory answers whenever a batch is unpacked, or made: it delivers nothing. */
static void test_a_keeper_of_memory(void **state)
{
    struct world *w = begin();
    (void)state;
    worker(w, 10 * MS, WORKER);
    started(&w->threads, 10 * MS + 500 * US, SERVER, SERVER, WORKER);
    begins_program(w, 10 * MS + 600 * US, SERVER);
    for (int64_t t = 40 * MS; t < 200 * MS; t += 40 * MS) {
        awaited(w, t, WORKER);
        woken(&w->threads, SERVER, SERVER, TARGET_POLL, t, t + 22 * MS, TRAINER, TRAINER);
        woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, t + 22 * MS, t + 22 * MS + 100 * US,
              SERVER, SERVER);
        assert_false(is_maker(w));
    }
    assert_int_equal(w->makers.totals.workers, 1);
    end(w);
}

/* The thread that hands over has made the keeper, and waited until it answered: most of the first batch's
 * making, of which the worker's main thread shows nothing. */
static void test_a_keeper_that_starts(void **state)
{
    struct world *w = begin();
    (void)state;
    worker(w, 10 * MS, WORKER);
    started(&w->threads, 12 * MS, SERVER, SERVER, WORKER);
    begins_program(w, 13 * MS, SERVER);
    woken(&w->threads, WORKER + 1, WORKER, TARGET_PIPE, 12 * MS, 90 * MS, SERVER, SERVER);
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 20 * MS, 91 * MS, WORKER + 1, WORKER);
    assert_true(is_maker(w));
    woken(&w->threads, SERVER, SERVER, TARGET_POLL, 91 * MS, 92 * MS, TRAINER, TRAINER);
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 92 * MS, 92 * MS + 100 * US, SERVER, SERVER);
    assert_false(is_maker(w));
    woken(&w->threads, SERVER, SERVER, TARGET_POLL, 93 * MS, 94 * MS, TRAINER, TRAINER);
    woken(&w->threads, SERVER, SERVER, TARGET_POLL, 95 * MS, 99 * MS, WORKER,
          WORKER); /* also asks */
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 99 * MS + 800 * US, 99 * MS + 900 * US,
          SERVER, SERVER);
    assert_false(is_maker(w));
    woken(&w->threads, SERVER, SERVER, TARGET_POLL, 100 * MS, 101 * MS, TRAINER, TRAINER);
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 101 * MS, 106 * MS, SERVER, SERVER);
    assert_false(is_maker(w)); /* it had no core meanwhile */
    end(w);
}

/* A thread of the trainer's process: asked at t0, it reads until t1, when the trainer, which has waited
 * since t0 + 1 ms, goes on. Is it a loader? */
static bool helped(struct world *w, uint32_t asker, int64_t t0, int64_t t1)
{
    const struct thread *th = threads_find(&w->threads, TRAINER);
    bool fresh;
    woken(&w->threads, PIN, TRAINER, TARGET_FUTEX, t0 - 30 * MS, t0, asker, TRAINER);
    reads(&w->threads, PIN, TRAINER, t0, t1);
    woken(&w->threads, TRAINER, TRAINER, TARGET_FUTEX, t0 + MS, t1, PIN, TRAINER);
    return makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh) != NULL;
}

/* Threads that read the files of one batch, asked when it is wanted, make nothing ahead. */
static void test_a_pool_is_no_loader(void **state)
{
    struct world *w = begin();
    struct launches launches = {.count = 0};
    struct event_span kernel = {.launch_t0 = 100 * MS, .launch_t1 = 101 * MS, .kind = SPAN_COMPUTE};
    w->makers.launches = &launches;
    started(&w->threads, 10 * MS, PIN, TRAINER, 1);
    assert_true(launches_add(&launches, &kernel, 10 * MS));
    called(&w->threads, TRAINER, CALL_SYNC, 102 * MS, 111 * MS);
    assert_false(helped(w, TRAINER, 120 * MS, 140 * MS));
    kernel.launch_t0 = 145 * MS;
    kernel.launch_t1 = 146 * MS;
    assert_true(launches_add(&launches, &kernel, 10 * MS));
    called(&w->threads, TRAINER, CALL_SYNC, 147 * MS, 156 * MS);
    assert_false(helped(w, PIN + 5, 190 * MS, 210 * MS)); /* another of the pool passes it on */
    assert_int_equal(w->makers.totals.workers, 0);
    launches_clear(&launches);
    end(w);
}

/* One that began before the last launch made its batch while the device computed. */
static void test_a_thread_ahead_is_a_loader(void **state)
{
    struct world *w = begin();
    const struct thread *th = threads_find(&w->threads, TRAINER);
    struct launches launches = {.count = 0};
    struct event_span kernel = {.launch_t0 = 124 * MS, .launch_t1 = 125 * MS, .kind = SPAN_COMPUTE};
    bool fresh;
    w->makers.launches = &launches;
    started(&w->threads, 10 * MS, PIN, TRAINER, 1);
    woken(&w->threads, PIN, TRAINER, TARGET_FUTEX, 90 * MS, 120 * MS, TRAINER, TRAINER);
    assert_true(launches_add(&launches, &kernel, 5 * MS));
    called(&w->threads, TRAINER, CALL_SYNC, 126 * MS, 130 * MS);
    reads(&w->threads, PIN, TRAINER, 120 * MS, 150 * MS);
    woken(&w->threads, TRAINER, TRAINER, TARGET_FUTEX, 131 * MS, 150 * MS, PIN, TRAINER);
    assert_non_null(makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh));
    launches_clear(&launches);
    end(w);
}

/* A thread of the process that computes something else and is awaited at its end only wants the interpreter lock
 * now and then. */
static void test_who_contends_is_no_loader(void **state)
{
    struct world *w = begin();
    const struct thread *th = threads_find(&w->threads, TRAINER);
    bool fresh;
    started(&w->threads, 10 * MS, PIN, TRAINER, 1);
    for (int64_t t = 100 * MS; t < 2000 * MS; t += 100 * MS) {
        struct event_wait lock = a_wait(TRAINER, TRAINER, TARGET_FUTEX, t, t + 4 * MS);
        lock.flags = WAIT_TIMED;
        lock.waker_tid = PIN;
        lock.waker_tgid = TRAINER;
        push(&w->threads, lock);
        woken(&w->threads, PIN, TRAINER, TARGET_FUTEX, t + 4 * MS + 10 * US, t + 4 * MS + 30 * US,
              TRAINER, TRAINER);
        assert_null(makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh));
    }
    ended(&w->threads, 2021 * MS, PIN, TRAINER);
    woken(&w->threads, TRAINER, TRAINER, TARGET_FUTEX, 2000 * MS, 2020 * MS, PIN, TRAINER);
    assert_null(makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh));
    end(w);
}

/* A worker whose main thread has others read for it: these were made before its queue's thread. */
static void test_a_worker_s_helpers(void **state)
{
    struct world *w = begin();
    struct threads *t = &w->threads;
    worker(w, 1 * MS, WORKER);
    started(t, 2 * MS, OTHER, OTHER, TRAINER);
    started(t, 4 * MS, OTHER + 2, OTHER, TRAINER); /* reads */
    started(t, 5 * MS, OTHER + 3, OTHER, TRAINER); /* prepares, and is waited for */
    started(t, 25 * MS, OTHER + 1, OTHER, TRAINER);
    for (int64_t at = 25 * MS; at < 31 * MS; at += 2 * MS) /* modules that it needs to send */
        reads(t, OTHER + 1, OTHER, at, at + MS);
    for (int64_t at = 10 * MS; at < 200 * MS; at += 50 * MS) {
        awaited(w, at, WORKER);
        for (uint32_t helper = OTHER + 2; helper < OTHER + 4; helper++)
            woken(t, helper, OTHER, TARGET_FUTEX, at - 8 * MS, at, OTHER, OTHER);
        struct event_wait socket = a_wait(OTHER + 2, OTHER, TARGET_SOCKET, at, at + 10 * MS);
        push(t, socket);
        woken(t, OTHER, OTHER, TARGET_FUTEX, at, at + 18 * MS, OTHER + 3, OTHER);
        woken(t, OTHER + 1, OTHER, TARGET_FUTEX, at + MS, at + 22 * MS, OTHER, OTHER);
    }
    look(w, 200 * MS);
    assert_int_equal(w->makers.count, 2);
    assert_int_equal(w->makers.maker[1]->key, OTHER);
    assert_int_equal(w->makers.maker[1]->hop, OTHER + 1);
    end(w);
}

/* Most of a batch another thread of the worker made: what the main thread did then is of the batch, too. */
static void test_a_worker_that_waits_for_a_helper(void **state)
{
    struct world *w = begin();
    struct threads *t = &w->threads;
    const struct thread *th = threads_find(t, TRAINER);
    struct made_by *m = NULL;
    bool fresh;
    worker(w, 75 * MS, WORKER);
    started(t, 78 * MS, SHARER, WORKER, TRAINER);
    for (int64_t at = 100 * MS; at < 400 * MS; at += 100 * MS) {
        woken(t, SHARER, WORKER, TARGET_POLL, at - 20 * MS, at, WORKER, WORKER);
        reads(t, SHARER, WORKER, at, at + 80 * MS);
        woken(t, WORKER, WORKER, TARGET_FUTEX, at, at + 80 * MS, SHARER, WORKER);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + MS, at + 95 * MS, WORKER, WORKER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, at + 2 * MS, at + 96 * MS, FEEDER, WORKER);
        m = makers_of_wake(&w->makers, th, &th->waits.item[th->waits.count - 1], &fresh);
    }
    assert_non_null(m);
    assert_int_equal(m->tid, WORKER);
    assert_int_equal(m->hop, FEEDER);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_late),
        cmocka_unit_test(test_started_anew),
        cmocka_unit_test(test_known_ahead),
        cmocka_unit_test(test_one_each),
        cmocka_unit_test(test_two_queues),
        cmocka_unit_test(test_zipped_queues),
        cmocka_unit_test(test_a_quick_loader),
        cmocka_unit_test(test_a_late_queue_thread),
        cmocka_unit_test(test_a_queue_each),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_a_helper_that_is_started),
        cmocka_unit_test(test_a_fork_server),
        cmocka_unit_test(test_a_worker_s_commands),
        cmocka_unit_test(test_a_keeper_of_memory),
        cmocka_unit_test(test_a_keeper_that_starts),
        cmocka_unit_test(test_a_pool_is_no_loader),
        cmocka_unit_test(test_a_thread_ahead_is_a_loader),
        cmocka_unit_test(test_who_contends_is_no_loader),
        cmocka_unit_test(test_a_worker_s_helpers),
        cmocka_unit_test(test_a_worker_that_waits_for_a_helper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
