/* SPDX-License-Identifier: MIT */
/* Where turns begin and end, and what a wait was for, thread by thread. */
#include "threads_of.h"

#include "ledger/direct.h"
#include "ledger/relay.h"
#include "ledger/turn.h"
#include "ledger/walk.h"

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

/* The turn of x for `consumer`, at `at`, of a chain that begins with the trainer. */
static struct turn turn_of(uint32_t x, uint32_t consumer, int64_t at)
{
    const struct thread *chain[2] = {threads_find(&t, TRAINER), threads_find(&t, consumer)};
    struct turn turn;
    assert_true(
        turn_find(threads_find(&t, x), chain[1], chain, consumer == TRAINER ? 1 : 2, at, &turn));
    return turn;
}

static void a_turn_begins_at_the_delivery_before(void **state)
{
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 10 * MS, 100 * MS, WORKER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 110 * MS, 200 * MS, WORKER, WORKER);
    struct turn first = turn_of(WORKER, TRAINER, 100 * MS),
                second = turn_of(WORKER, TRAINER, 200 * MS);
    assert_true(first.first && first.from_start);
    assert_int_equal(first.t0, 1 * MS);
    assert_int_equal(first.born, 1 * MS);
    assert_int_equal(first.t1, 100 * MS);
    assert_false(second.first);
    assert_int_equal(second.t0, 100 * MS);
    assert_int_equal(second.t1, 200 * MS);
    assert_int_equal(second.idle_ns, 0);
    /* a little later it is the same turn */
    assert_int_equal(turn_of(WORKER, TRAINER, 230 * MS).t1, 200 * MS);
    const struct thread *x = threads_find(&t, WORKER), *c = threads_find(&t, TRAINER);
    assert_int_equal(turn_next(x, c, INT64_MIN), 100 * MS);
    assert_int_equal(turn_next(x, c, 100 * MS), 200 * MS);
    assert_int_equal(turn_next(x, c, 200 * MS), INT64_MAX);
}

static void a_turn_begins_with_work(void **state)
{
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 10 * MS, 100 * MS, WORKER, WORKER);
    woken(&t, WORKER, WORKER, TARGET_PIPE, 101 * MS, 150 * MS, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 160 * MS, 200 * MS, WORKER, WORKER);
    struct turn turn = turn_of(WORKER, TRAINER, 200 * MS);
    assert_int_equal(turn.t0, 150 * MS);
    assert_int_equal(turn.idle_ns, 49 * MS);
    /* nobody can have sent work in interrupt context */
    threads_find(&t, WORKER)->waits.item[0].flags = WAIT_WAKER_IRQ;
    assert_int_equal(turn_of(WORKER, TRAINER, 200 * MS).t0, 100 * MS);
}

/* Within one process a short wait on a futex is a lock, a long one a wait for work. */
static void locks_are_not_work(void **state)
{
    (void)state;
    started(&t, 1 * MS, PIN, TRAINER, 1);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 10 * MS, 100 * MS, PIN, TRAINER);
    woken(&t, PIN, TRAINER, TARGET_FUTEX, 120 * MS, 124 * MS, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 160 * MS, 200 * MS, PIN, TRAINER);
    assert_int_equal(turn_of(PIN, TRAINER, 200 * MS).t0, 100 * MS);
    woken(&t, PIN, TRAINER, TARGET_FUTEX, 210 * MS, 240 * MS, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 220 * MS, 300 * MS, PIN, TRAINER);
    assert_int_equal(turn_of(PIN, TRAINER, 300 * MS).t0, 240 * MS);
}

/* What is larger than a pipe is written in pieces: the reader makes room, which is no work that it gives,
 * and wakes for each piece, which is no delivery of its own. */
static void a_large_thing_through_a_pipe_is_one_delivery(void **state)
{
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    for (int64_t at = 0; at < 300 * MS; at += 100 * MS) { /* made at 90, in four pieces until 99 */
        for (int64_t piece = at + 90 * MS; piece < at + 99 * MS; piece += 3 * MS) {
            woken(&t, TRAINER, TRAINER, TARGET_PIPE, piece - 2 * MS, piece, WORKER, WORKER);
            struct event_wait room =
                a_wait(WORKER, WORKER, TARGET_PIPE, piece + 100 * US, piece + 3 * MS - 50 * US);
            room.flags = WAIT_ROOM;
            room.waker_tid = room.waker_tgid = TRAINER;
            push(&t, room);
        }
        woken(&t, TRAINER, TRAINER, TARGET_PIPE, at + 97 * MS, at + 99 * MS, WORKER, WORKER);
    }
    struct turn turn = turn_of(WORKER, TRAINER, 299 * MS);
    assert_int_equal(turn.t0, 190 * MS);
    assert_int_equal(turn.t1, 290 * MS);
    assert_int_equal(turn.idle_ns, 0);
    const struct thread *x = threads_find(&t, WORKER), *c = threads_find(&t, TRAINER);
    assert_int_equal(turn_next(x, c, 90 * MS), 190 * MS);
    /* a reader that was busy for long had left the queue full: the wait for it was one for work */
    struct event_wait full = a_wait(WORKER, WORKER, TARGET_PIPE, 310 * MS, 380 * MS);
    full.flags = WAIT_ROOM;
    full.waker_tid = full.waker_tgid = TRAINER;
    push(&t, full);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 390 * MS, 400 * MS, WORKER, WORKER);
    assert_int_equal(turn_of(WORKER, TRAINER, 400 * MS).t0, 380 * MS);
}

/* Condition, then the interpreter lock within 5 ms: one delivery. */
static void a_burst_is_one_delivery(void **state)
{
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 10 * MS, 100 * MS, WORKER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 150 * MS, 200 * MS, WORKER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 200 * MS + 50 * US, 200 * MS + 90 * US, WORKER,
          WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 200 * MS + 100 * US, 205 * MS, WORKER, WORKER);
    struct turn turn = turn_of(WORKER, TRAINER, 205 * MS);
    assert_int_equal(turn.t0, 100 * MS);
    assert_int_equal(turn.t1, 200 * MS);
    assert_int_equal(turn_next(threads_find(&t, WORKER), threads_find(&t, TRAINER), 150 * MS),
                     200 * MS);
    assert_int_equal(turn_next(threads_find(&t, WORKER), threads_find(&t, TRAINER), 200 * MS),
                     INT64_MAX);
}

/* A short item after a long one is no lock: the worker has read in between. */
static void who_blocked_has_let_go_of_the_lock(void **state)
{
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 10 * MS, 100 * MS, WORKER, WORKER);
    reads(&t, WORKER, WORKER, 101 * MS, 103 * MS);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 100 * MS + 50 * US, 104 * MS, WORKER, WORKER);
    assert_int_equal(turn_of(WORKER, TRAINER, 104 * MS).t0, 100 * MS);
    assert_int_equal(turn_of(WORKER, TRAINER, 104 * MS).t1, 104 * MS);
}

/* CPython's lock is waited for with a time limit, a queue without one; locks inside it are given away in a
 * moment. Neither is a delivery, though the worker reads on in between; what is waited for longer is. */
static void a_lock_between_reads_is_no_delivery(void **state)
{
    const struct thread *x, *hop;
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    started(&t, 1 * MS, FEEDER, WORKER, TRAINER);
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 2 * MS, 20 * MS, WORKER, WORKER);
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 22 * MS, 100 * MS, WORKER, WORKER);
    for (int64_t at = 101 * MS; at < 107 * MS; at += 2 * MS) {
        struct event_wait lock = a_wait(FEEDER, WORKER, TARGET_FUTEX, at, at + 1500 * US);
        lock.waker_tid = lock.waker_tgid = WORKER;
        lock.flags = WAIT_TIMED;
        reads(&t, WORKER, WORKER, at, at + 1400 * US);
        push(&t, lock);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 1600 * US, at + 1620 * US, WORKER, WORKER);
    }
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 108 * MS, 180 * MS, WORKER, WORKER);
    x = threads_find(&t, WORKER);
    hop = threads_find(&t, FEEDER);
    assert_int_equal(turn_next(x, hop, 20 * MS), 100 * MS);
    assert_int_equal(turn_next(x, hop, 100 * MS), 180 * MS);
    assert_int_equal(turn_of(WORKER, FEEDER, 180 * MS).t0, 100 * MS);
    assert_int_equal(turn_of(WORKER, FEEDER, 107 * MS).t1, 100 * MS);
    reads(&t, WORKER, WORKER, 181 * MS, 182 * MS);
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 181 * MS, 183 * MS, WORKER, WORKER);
    assert_int_equal(turn_next(x, hop, 180 * MS), 183 * MS); /* a short item */
}

/* What lies before the memory of a thread is unknown, not its start. */
static void a_horizon_is_no_start(void **state)
{
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    reads(&t, WORKER, WORKER, 50 * MS, 60 * MS);
    reads(&t, WORKER, WORKER, 150 * MS, 160 * MS);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 10 * MS, 200 * MS, WORKER, WORKER);
    threads_trim(&t, 100 * MS);
    struct turn turn = turn_of(WORKER, TRAINER, 200 * MS);
    assert_true(turn.from_horizon && !turn.first && !turn.from_start);
    assert_int_equal(turn.t0, 100 * MS);
}

/* CPython's queue makes its thread with the first delivery. */
static void a_queue_thread_made_late_stands_for_a_delivery(void **state)
{
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    started(&t, 80 * MS, FEEDER, WORKER, TRAINER);
    /* it is told of what it was made for, once it has started */
    woken(&t, WORKER, WORKER, TARGET_FUTEX, 80 * MS + 50 * US, 82 * MS, FEEDER, WORKER);
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 82 * MS + 1, 83 * MS, WORKER, WORKER);
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 84 * MS, 120 * MS, WORKER, WORKER);
    const struct thread *x = threads_find(&t, WORKER), *hop = threads_find(&t, FEEDER);
    assert_int_equal(turn_next(x, hop, INT64_MIN), 80 * MS);
    assert_int_equal(turn_next(x, hop, 80 * MS), 120 * MS);
    assert_int_equal(turn_of(WORKER, FEEDER, 83 * MS).t1, 80 * MS);
    assert_true(turn_of(WORKER, FEEDER, 83 * MS).first);
    struct turn first = turn_of(WORKER, FEEDER, 80 * MS),
                second = turn_of(WORKER, FEEDER, 120 * MS);
    assert_true(first.first);
    assert_int_equal(first.t0, 1 * MS);
    assert_false(second.first);
    assert_int_equal(second.t0, 80 * MS);
}

/* The consumer was busy: work, then more work, is a delivery that woke nobody. */
static void silent_turns(void **state)
{
    struct turn turn;
    const struct thread *chain[1];
    (void)state;
    started(&t, 1 * MS, WORKER, WORKER, TRAINER);
    woken(&t, WORKER, WORKER, TARGET_PIPE, 10 * MS, 20 * MS, TRAINER, TRAINER);
    woken(&t, WORKER, WORKER, TARGET_PIPE, 50 * MS, 90 * MS, TRAINER, TRAINER);
    const struct thread *x = threads_find(&t, WORKER);
    chain[0] = threads_find(&t, TRAINER);
    assert_true(turn_silent(x, chain, 1, 0, 100 * MS, &turn));
    assert_int_equal(turn.t0, 20 * MS);
    assert_int_equal(turn.t1, 50 * MS);
    assert_int_equal(turn.idle_ns, 10 * MS);
    assert_false(turn_silent(x, chain, 1, 0, 40 * MS, &turn));
    assert_false(turn_silent(x, chain, 1, 50 * MS, 200 * MS, &turn));
    assert_int_equal(turn_given_work(x, chain, 1, INT64_MIN, 100 * MS)->t_wake, 20 * MS);
    assert_int_equal(turn_given_work(x, chain, 1, 20 * MS, 100 * MS)->t_wake, 90 * MS);
    assert_null(turn_given_work(x, chain, 1, 20 * MS, 80 * MS));
}

/* ---- the walk ---- */

static struct shares walked(uint32_t x, int64_t at, struct chain_links *links)
{
    struct walk k;
    struct shares s = {.count = 0};
    walk_init(&k, &t, &names, threads_find(&t, TRAINER));
    k.links = links;
    assert_true(walk_turn(&k, threads_find(&t, x), threads_find(&t, TRAINER), at, &s));
    return s;
}

/* worker main -> its feeder -> a thread of the trainer's process -> trainer. */
static void a_chain_of_three(void **state)
{
    struct chain_links links = {.count = 0};
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
    struct shares s = walked(PIN, 300 * MS, &links);
    assert_in_range(shares_total(&s), 100 * MS, 100 * MS + 2); /* the feeder waited for that long */
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 79 * MS, 80 * MS);
    assert_in_range(shares_of(&s, CAUSE_PREPARE), 20 * MS, 21 * MS);
    assert_int_equal(links.count, 3);
    assert_non_null(strstr(links.link[0].did, "waited for python3 201"));
    assert_non_null(strstr(links.link[1].did, "waited for python3 200"));
    assert_string_equal(links.link[2].who, "python3 200");
    assert_non_null(strstr(links.link[2].did, "read from nfs://10.0.0.4/data"));
}

#define HELPER 203u /* further threads of the worker's process */
#define HELPER2 204u
#define PROGRAM 400u /* that the worker runs */

static struct turn turn_of_helper(int64_t at)
{
    const struct thread *chain[2] = {threads_find(&t, TRAINER), threads_find(&t, WORKER)};
    struct turn turn;
    assert_true(relay_turn(&t, threads_find(&t, HELPER), chain[1], chain, 2, at, &turn));
    return turn;
}

/* A thread of the worker reads for its main thread, is asked, and wakes it when all is there: what it waited
 * for before it was asked, while the main thread decoded, is no part of that. */
static void a_helper_begins_with_work(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 1 * MS, HELPER, WORKER, TRAINER);
    for (int64_t at = 100 * MS; at < 400 * MS; at += 100 * MS) {
        woken(&t, HELPER, WORKER, TARGET_POLL, at - 20 * MS, at, WORKER, WORKER);
        reads(&t, HELPER, WORKER, at + 1 * MS, at + 79 * MS);
        woken(&t, WORKER, WORKER, TARGET_FUTEX, at + 1 * MS, at + 80 * MS, HELPER, WORKER);
        woken(&t, TRAINER, TRAINER, TARGET_PIPE, at, at + 99 * MS, WORKER, WORKER);
    }
    /* a queue is waited for without a limit, however short that is */
    woken(&t, HELPER, WORKER, TARGET_FUTEX, 397 * MS, 400 * MS, WORKER, WORKER);
    reads(&t, HELPER, WORKER, 400 * MS, 401 * MS);
    woken(&t, WORKER, WORKER, TARGET_FUTEX, 400 * MS, 402 * MS, HELPER, WORKER);
    struct turn turn = turn_of_helper(402 * MS);
    assert_int_equal(turn.t0, 400 * MS);
    struct shares s = walked(WORKER, 399 * MS, NULL);
    assert_int_equal(shares_of(&s, CAUSE_LOCK), 0);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 76 * MS, 79 * MS);
}

/* In a pool one thread tells the next that there is more to do. */
static void a_pool_hands_work_on(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 1 * MS, HELPER, WORKER, TRAINER);
    started(&t, 1 * MS, HELPER2, WORKER, TRAINER);
    for (int64_t at = 100 * MS; at < 400 * MS; at += 100 * MS) {
        woken(&t, HELPER, WORKER, TARGET_FUTEX, at - 20 * MS, at, WORKER, WORKER);
        woken(&t, HELPER2, WORKER, TARGET_FUTEX, at - 20 * MS, at + 1 * MS, HELPER, WORKER);
        reads(&t, HELPER, WORKER, at + 1 * MS, at + 39 * MS);
        reads(&t, HELPER2, WORKER, at + 1 * MS, at + 79 * MS);
        woken(&t, WORKER, WORKER, TARGET_FUTEX, at + 1 * MS, at + 40 * MS, HELPER, WORKER);
        woken(&t, WORKER, WORKER, TARGET_FUTEX, at + 40 * MS + 1, at + 80 * MS, HELPER2, WORKER);
        woken(&t, TRAINER, TRAINER, TARGET_PIPE, at, at + 99 * MS, WORKER, WORKER);
    }
    struct shares s = walked(WORKER, 399 * MS, NULL);
    assert_int_equal(shares_of(&s, CAUSE_LOCK), 0);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 75 * MS, 79 * MS);
}

/* CPython's lock: `by`, of the same worker, lets x have it at last. */
static void lock_given(uint32_t x, int64_t t_out, int64_t t_wake, uint32_t by)
{
    struct event_wait w = a_wait(x, WORKER, TARGET_FUTEX, t_out, t_wake);
    w.flags = WAIT_TIMED;
    w.waker_tid = by;
    w.waker_tgid = WORKER;
    push(&t, w);
}

/* Between reading and decoding the helper lets another one have the interpreter lock, and waits until that has it,
 * which wants for a core: it was at work all the time. */
static void who_gives_a_lock_has_work(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 1 * MS, HELPER, WORKER, TRAINER);
    started(&t, 1 * MS, HELPER2, WORKER, TRAINER);
    for (int64_t at = 100 * MS; at < 400 * MS; at += 100 * MS) {
        struct event_wait lock = a_wait(HELPER2, WORKER, TARGET_FUTEX, at + 45 * MS, at + 50 * MS);
        lock.flags = WAIT_TIMED | WAIT_WAKER_IRQ;
        lock.t_in = at + 60 * MS;
        woken(&t, HELPER, WORKER, TARGET_FUTEX, at - 20 * MS, at, WORKER, WORKER);
        reads(&t, HELPER, WORKER, at + 1 * MS, at + 49 * MS);
        push(&t, lock);
        woken(&t, HELPER, WORKER, TARGET_FUTEX, at + 50 * MS, at + 60 * MS + 8 * US, HELPER2,
              WORKER);
        woken(&t, WORKER, WORKER, TARGET_FUTEX, at + 1 * MS, at + 80 * MS, HELPER, WORKER);
        woken(&t, WORKER, WORKER, TARGET_FUTEX, at + 80 * MS, at + 81 * MS, HELPER2, WORKER);
        woken(&t, TRAINER, TRAINER, TARGET_PIPE, at, at + 99 * MS, WORKER, WORKER);
    }
    struct shares s = walked(WORKER, 399 * MS, NULL);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 44 * MS, 60 * MS);
}

/* A program of the worker's own reads for 40 ms, and more than the pipe holds: until the worker, which decodes,
 * has taken it the program waits for room. No lock has kept it from reading. */
static void a_program_that_waits_for_room(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 10 * MS, PROGRAM, PROGRAM, WORKER);
    for (int64_t at = 100 * MS; at < 400 * MS; at += 100 * MS) {
        struct event_wait room = a_wait(PROGRAM, PROGRAM, TARGET_PIPE, at + 41 * MS, at + 55 * MS);
        reads(&t, PROGRAM, PROGRAM, at, at + 40 * MS);
        woken(&t, WORKER, WORKER, TARGET_PIPE, at + 1 * MS, at + 41 * MS, PROGRAM, PROGRAM);
        room.flags = WAIT_ROOM;
        room.waker_tid = room.waker_tgid = WORKER;
        push(&t, room);
        woken(&t, TRAINER, TRAINER, TARGET_PIPE, at + 1 * MS, at + 99 * MS, WORKER, WORKER);
    }
    struct shares s = walked(WORKER, 399 * MS, NULL);
    assert_int_equal(shares_of(&s, CAUSE_LOCK), 0);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 15 * MS, 40 * MS);
}

/* Per batch of 100 ms: 80 ms of reading, then the queue's thread is told; both fight for the
 * interpreter lock, and the worker waits for it too before it reads on. */
static void made_with_a_lock(int batches)
{
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    started(&t, 0, SHARER, WORKER, TRAINER);
    for (int64_t at = 0; at < batches * 100 * MS; at += 100 * MS) {
        reads(&t, WORKER, WORKER, at + 5 * MS, at + 95 * MS);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, at + 100 * MS, WORKER, WORKER);
        woken(&t, WORKER, WORKER, TARGET_FUTEX, at + 100 * MS + 200 * US, at + 101 * MS, FEEDER,
              WORKER);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 101 * MS + 10 * US, at + 102 * MS, WORKER,
              WORKER);
    }
}

static struct shares delivered(uint32_t by, int64_t at)
{
    struct walk k;
    struct shares s = {.count = 0};
    walk_init(&k, &t, &names, threads_find(&t, TRAINER));
    assert_true(walk_delivery(&k, &t, threads_find(&t, by), at, &s));
    return s;
}

/* A thread that hands on waited for one worker, then found the other's thing ready too: that was made all the
 * while, and the little that the thread did between the two is not what was waited for. */
static void what_a_relay_hands_on_was_made_beside(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, OTHER, OTHER, TRAINER);
    started(&t, 0, PIN, TRAINER, 1);
    for (int64_t at = 100 * MS; at < 400 * MS; at += 100 * MS) {
        reads(&t, OTHER, OTHER, at + 2 * MS, at + 90 * MS);
        reads(&t, WORKER, WORKER, at + 2 * MS, at + 91 * MS);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 5 * MS, at + 98 * MS, OTHER, OTHER);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 98 * MS + 300 * US, at + 98 * MS + 400 * US,
              WORKER, WORKER);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, at + 50 * MS, at + 99 * MS, PIN, TRAINER);
    }
    struct shares s = walked(PIN, 399 * MS, NULL);
    assert_true(shares_of(&s, CAUSE_STORAGE) > 80 * MS);
    assert_true(shares_of(&s, CAUSE_STORAGE) * 100 > 85 * shares_total(&s));
}

#define OTHER_FEEDER 301u
#define OTHER_SHARER 302u

/* PIN asks the sharer of a worker for what a batch holds. */
static void fetched(uint32_t sharer, uint32_t worker, int64_t since, int64_t at)
{
    woken(&t, sharer, worker, TARGET_PIPE, since, at, PIN, TRAINER);
    woken(&t, PIN, TRAINER, TARGET_PIPE, at, at + 200 * US, sharer, worker);
}

/* Two workers read for 86 and 87 of 100 ms. The second one's batch wakes the trainer, which puts it aside; that
 * of the first, which it had waited for, lies there by then: the relay only fetches what it holds. */
static void a_relay_that_only_fetches_hands_on_what_was_made(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, OTHER, OTHER, TRAINER);
    started(&t, 0, PIN, TRAINER, 1);
    for (int64_t at = 100 * MS; at < 500 * MS; at += 100 * MS) {
        int64_t got = at + 96 * MS;
        reads(&t, OTHER, OTHER, at + 4 * MS, at + 90 * MS);
        reads(&t, WORKER, WORKER, at + 4 * MS, at + 91 * MS);
        woken(&t, OTHER_FEEDER, OTHER, TARGET_FUTEX, at + 3 * MS, got - MS, OTHER, OTHER);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, got, WORKER, WORKER);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 5 * MS, got, OTHER_FEEDER, OTHER);
        fetched(OTHER_SHARER, OTHER, at, got + 100 * US);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, at + 50 * MS, got + MS, PIN, TRAINER);
        fetched(SHARER, WORKER, at, got + 1500 * US);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, got + 1100 * US, got + 2500 * US, PIN, TRAINER);
    }
    struct shares s = delivered(PIN, 498500 * US);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 86 * MS, 88 * MS);
    assert_true(shares_of(&s, CAUSE_STORAGE) * 100 > 80 * shares_total(&s));
}

/* As above, but what the first worker handed over lay in the queue by then, and nothing had to be fetched: the
 * relay did not wait for it at all, as it does at other times. */
static void what_a_relay_found_was_made(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, OTHER, OTHER, TRAINER);
    started(&t, 0, PIN, TRAINER, 1);
    woken(&t, PIN, TRAINER, TARGET_PIPE, 50 * MS, 60 * MS, FEEDER, WORKER);
    for (int64_t at = 100 * MS; at < 500 * MS; at += 100 * MS) {
        int64_t got = at + 96 * MS;
        reads(&t, OTHER, OTHER, at + 4 * MS, at + 80 * MS);
        reads(&t, WORKER, WORKER, at + 4 * MS, at + 91 * MS);
        woken(&t, OTHER_FEEDER, OTHER, TARGET_FUTEX, at + 3 * MS, got - MS, OTHER, OTHER);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, got, WORKER, WORKER);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 5 * MS, got, OTHER_FEEDER, OTHER);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, at + 50 * MS, got + MS, PIN, TRAINER);
        /* it lets go of the interpreter lock between the two */
        woken(&t, PIN, TRAINER, TARGET_FUTEX, got + 1100 * US, got + 1200 * US, TRAINER, TRAINER);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, got + 1200 * US, got + 2500 * US, PIN, TRAINER);
    }
    struct shares s = delivered(PIN, 498500 * US);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 86 * MS, 88 * MS);
}

/* Who only answers what the relay asks of all of them, and makes nothing, is not who made it. */
static void who_only_answers_made_nothing(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    started(&t, 0, OTHER, OTHER, WORKER);
    started(&t, 0, PIN, TRAINER, 1);
    for (int64_t at = 0; at < 400 * MS; at += 100 * MS) {
        int64_t got = at + 100 * MS;
        reads(&t, WORKER, WORKER, at, at + 80 * MS);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 1, got, WORKER, WORKER);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 30 * MS, got, FEEDER, WORKER);
        fetched(OTHER, OTHER, at + 3 * MS, got + 100 * US);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, at + 50 * MS, got + MS, PIN, TRAINER);
    }
    struct shares s = delivered(PIN, 401 * MS);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 79 * MS, 81 * MS);
    assert_true(shares_of(&s, CAUSE_STORAGE) * 10 > shares_total(&s) * 5);
}

/* The relay works for 30 ms on each batch that the worker makes in 100: both count. */
static void a_relay_s_own_work_is_beside_the_making(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    started(&t, 0, PIN, TRAINER, 1);
    for (int64_t at = 0; at < 400 * MS; at += 100 * MS) {
        reads(&t, WORKER, WORKER, at, at + 80 * MS);
        woken(&t, FEEDER, WORKER, TARGET_FUTEX, at + 1, at + 100 * MS, WORKER, WORKER);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 30 * MS, at + 100 * MS, FEEDER, WORKER);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, at + 90 * MS, at + 130 * MS, PIN, TRAINER);
    }
    struct shares s = delivered(PIN, 430 * MS);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 79 * MS, 81 * MS);
    assert_in_range(shares_of(&s, CAUSE_PREPARE), 49 * MS, 51 * MS);
}

/* ... but what another rank did meanwhile was not for this one. */
static void another_rank_makes_nothing(void **state)
{
    (void)state;
    started(&t, 0, OTHER, OTHER, 1);
    started(&t, 0, PIN, TRAINER, 1);
    assert_true(threads_launch(&t, threads_find(&t, OTHER)));
    for (int64_t at = 0; at < 300 * MS; at += 100 * MS) {
        reads(&t, OTHER, OTHER, at + 5 * MS, at + 90 * MS);
        woken(&t, PIN, TRAINER, TARGET_PIPE, at + 97 * MS, at + 98 * MS, OTHER, OTHER);
        woken(&t, TRAINER, TRAINER, TARGET_FUTEX, at + 50 * MS, at + 99 * MS, PIN, TRAINER);
    }
    struct shares s = delivered(PIN, 299 * MS);
    assert_int_equal(shares_total(&s), 100 * MS);
}

static void a_lock_given_away_is_no_delivery(void **state)
{
    (void)state;
    made_with_a_lock(3);
    const struct thread *x = threads_find(&t, WORKER), *hop = threads_find(&t, FEEDER);
    assert_int_equal(turn_put(x, hop, 250 * MS), 200 * MS);
    assert_int_equal(turn_put(x, hop, 200 * MS), 200 * MS);
    assert_int_equal(turn_put(x, hop, 50 * MS), 50 * MS); /* none yet */
}

/* The batch was there already; the launching thread only fetches what it holds from the sharer. */
static void an_answer_stands_for_what_was_put_before(void **state)
{
    (void)state;
    made_with_a_lock(3);
    woken(&t, SHARER, WORKER, TARGET_PIPE, 10 * MS, 250 * MS, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 250 * MS, 250 * MS + 50 * US, SHARER, WORKER);
    struct shares s = delivered(SHARER, 250 * MS + 50 * US);
    assert_true(shares_of(&s, CAUSE_STORAGE) * 10 > shares_total(&s) * 8);
}

/* ... though the sharer had to wait for the interpreter lock that the worker held; not even when that was so
 * before, and the sharer seemed to hand over what the worker makes. */
static void an_answer_may_wait_for_a_lock(void **state)
{
    (void)state;
    made_with_a_lock(3);
    threads_set_maker(&t, threads_find(&t, WORKER), threads_find(&t, SHARER));
    woken(&t, SHARER, WORKER, TARGET_PIPE, 10 * MS, 250 * MS, TRAINER, TRAINER);
    woken(&t, SHARER, WORKER, TARGET_FUTEX, 250 * MS + 50 * US, 255 * MS, WORKER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 250 * MS, 255 * MS + 50 * US, SHARER, WORKER);
    struct shares s = delivered(SHARER, 255 * MS + 50 * US);
    assert_in_range(shares_of(&s, CAUSE_STORAGE), 90 * MS, 91 * MS);
    assert_true(shares_of(&s, CAUSE_STORAGE) * 10 > shares_total(&s) * 8);
}

/* The first batch of a worker, put into the pipe while the trainer was awake: its feeder has woken nobody
 * but the main thread that made it, and the sharer nobody but the feeder. */
static void an_answer_about_the_first_thing_put(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 70 * MS, FEEDER, WORKER, TRAINER);
    woken(&t, WORKER, WORKER, TARGET_FUTEX, 70 * MS + 10 * US, 70 * MS + 50 * US, FEEDER, WORKER);
    started(&t, 72 * MS, SHARER, WORKER, TRAINER);
    woken(&t, FEEDER, WORKER, TARGET_FUTEX, 72 * MS + 10 * US, 72 * MS + 50 * US, SHARER, WORKER);
    woken(&t, SHARER, WORKER, TARGET_PIPE, 72 * MS + 300 * US, 73 * MS, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 73 * MS + 10 * US, 73 * MS + 200 * US, SHARER, WORKER);
    struct shares s = delivered(SHARER, 73 * MS + 200 * US);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 70 * MS);
}

/* ... or waited for it, and fetched it then: the queue's thread handed it over. */
static void an_answer_follows_a_delivery(void **state)
{
    (void)state;
    made_with_a_lock(3);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 10 * MS, 103 * MS, FEEDER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 120 * MS, 203 * MS, FEEDER, WORKER);
    woken(&t, SHARER, WORKER, TARGET_PIPE, 10 * MS, 203 * MS + 100 * US, TRAINER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 203 * MS + 100 * US, 203 * MS + 150 * US, SHARER,
          WORKER);
    struct shares s = delivered(SHARER, 203 * MS + 150 * US);
    assert_in_range(shares_total(&s), 99 * MS, 101 * MS); /* the feeder's turn, not the worker's */
    assert_true(shares_of(&s, CAUSE_STORAGE) > 80 * MS);
}

/* Two threads that wait for each other all the time. */
static void a_cycle_ends(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    for (int64_t at = 10 * MS; at < 100 * MS; at += 10 * MS) {
        lock_given(WORKER, at, at + 4 * MS, FEEDER);
        lock_given(FEEDER, at + 5 * MS, at + 9 * MS, WORKER);
    }
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 5 * MS, 9 * MS, WORKER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 15 * MS, 100 * MS, WORKER, WORKER);
    struct shares s = walked(WORKER, 100 * MS, NULL);
    assert_int_equal(shares_total(&s), 91 * MS);
    assert_true(shares_of(&s, CAUSE_LOCK) > 0);
}

/* A chain longer than WALK_DEPTH_MAX: what lies beyond is unknown, the sum is kept. */
static void a_chain_without_end(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 30; i++)
        started(&t, 0, WORKER + 10 * i, WORKER + 10 * i, TRAINER);
    for (int64_t at = 0; at <= 100 * MS; at += 100 * MS)
        for (uint32_t i = 29; i > 0; i--)
            woken(&t, WORKER + 10 * (i - 1), WORKER + 10 * (i - 1), TARGET_PIPE, at + 1 * MS,
                  at + 100 * MS - (int64_t)i, WORKER + 10 * i, WORKER + 10 * i);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 1 * MS, 100 * MS, WORKER, WORKER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 101 * MS, 200 * MS, WORKER, WORKER);
    struct shares s = walked(WORKER, 200 * MS, NULL);
    assert_int_equal(shares_total(&s), 100 * MS);
    assert_true(shares_of(&s, CAUSE_UNKNOWN) > 80 * MS);
}

static enum cause socket_cause(uint32_t tid, uint32_t tgid, struct event_wait w)
{
    struct walk k;
    walk_init(&k, &t, &names, threads_find(&t, TRAINER));
    w.tid = tid;
    w.tgid = tgid;
    w.target = TARGET_SOCKET;
    struct thread *th = threads_get(&t, tid, tgid);
    return direct_cause(k.threads, th, &w);
}

/* The rule of TCP peers. */
static void what_a_tcp_peer_is(void **state)
{
    struct event_wait fetch = {.rx_bytes = 100000, .tx_bytes = 2000};
    struct event_wait ring = {.rx_bytes = 100000, .tx_bytes = 90000};
    (void)state;
    assert_int_equal(socket_cause(WORKER, WORKER, fetch), CAUSE_STORAGE);
    assert_int_equal(socket_cause(TRAINER, TRAINER, fetch), CAUSE_STORAGE);
    assert_int_equal(socket_cause(WORKER, WORKER, ring), CAUSE_LATE_PEER);
    assert_int_equal(socket_cause(PIN, TRAINER, fetch), CAUSE_STORAGE); /* a thread that loads */
    ring.rx_during = 1;
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_NETWORK);
    ring.rx_during = 0;
    ring.tx_unsent = 1;
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_NETWORK);
    ring.flags = WAIT_STORAGE_PEER;
    assert_int_equal(socket_cause(PIN, TRAINER, ring), CAUSE_STORAGE);
    fetch.flags = WAIT_ACCEPTED; /* a client sends us much and gets little: no store */
    assert_int_equal(socket_cause(TRAINER, TRAINER, fetch), CAUSE_LATE_PEER);
    fetch.flags = 0;
    ring = (struct event_wait){.rx_bytes = 100000, .tx_bytes = 90000, .t_wake = 30 * MS};
    ring.rx_during =
        200; /* it ended when the other one sent, not when a line was through with it */
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_LATE_PEER);
    ring.rx_during = 1 << 20;
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_NETWORK);
    ring.rx_during = 1448; /* the first of what a line lets through at once */
    ring.t_wake = 3 * MS;
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_NETWORK);
    ring.flags = WAIT_ACCEPTED; /* a client asks when it likes */
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_LATE_PEER);
    ring.rx_during = 64 << 10; /* an image, from far away or from a process beside it */
    ring.t_wake = 20 * MS;
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_NETWORK);
    ring.flags |= WAIT_LOOPBACK;
    assert_int_equal(socket_cause(TRAINER, TRAINER, ring), CAUSE_LATE_PEER);
    fetch.rx_bytes = 4000; /* too little to tell */
    fetch.tx_bytes = 1;
    assert_int_equal(socket_cause(WORKER, WORKER, fetch), CAUSE_LATE_PEER);
}

/* A rank of this machine that only sends is no store. */
static void a_rank_is_no_store(void **state)
{
    struct event_wait sent = a_wait(TRAINER, TRAINER, TARGET_SOCKET, 0, 10 * MS);
    struct event_wait theirs = a_wait(OTHER, OTHER, TARGET_SOCKET, 0, 1 * MS);
    (void)state;
    sent.rx_bytes = 1 << 20;
    sent.rx_during = 1 << 16;
    sent.channel = theirs.channel = 77;
    push(&t, sent);
    push(&t, theirs);
    assert_int_equal(socket_cause(TRAINER, TRAINER, sent), CAUSE_STORAGE);
    assert_true(threads_launch(&t, threads_find(&t, OTHER)));
    assert_int_equal(socket_cause(TRAINER, TRAINER, sent), CAUSE_NETWORK);
}

static void targets_decide(void **state)
{
    static const struct {
        enum target target;
        enum cause cause;
    } want[] = {{TARGET_CORE, CAUSE_CPU_STARVED}, {TARGET_FILE, CAUSE_STORAGE},
                {TARGET_FAULT, CAUSE_STORAGE},    {TARGET_WRITE, CAUSE_CHECKPOINT},
                {TARGET_SLEEP, CAUSE_SLEEP},      {TARGET_DEVICE, CAUSE_LAUNCH},
                {TARGET_MEMORY, CAUSE_MEMORY},    {TARGET_CHILD, CAUSE_STARTUP},
                {TARGET_PIPE, CAUSE_NONE},        {TARGET_FUTEX, CAUSE_NONE},
                {TARGET_POLL, CAUSE_NONE},        {TARGET_UNKNOWN, CAUSE_NONE}};
    struct walk k;
    (void)state;
    walk_init(&k, &t, &names, threads_find(&t, TRAINER));
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct event_wait w = a_wait(TRAINER, TRAINER, want[i].target, 1, 2);
        assert_int_equal(direct_cause(k.threads, k.root, &w), want[i].cause);
    }
    struct event_wait disk = a_wait(TRAINER, TRAINER, TARGET_UNKNOWN, 1, 2);
    disk.flags = WAIT_IOWAIT;
    assert_int_equal(direct_cause(k.threads, k.root, &disk), CAUSE_STORAGE);
    struct event_wait file_lock = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 1, 2);
    file_lock.resource = STORE; /* flock(): whoever holds it makes nothing for this thread */
    assert_int_equal(direct_cause(k.threads, k.root, &file_lock), CAUSE_LOCK);
}

/* 3 s of imports, then 40 ms reading and 10 ms of decoding an item: doc/ARCHITECTURE.md, example 3.
 */
static void a_first_turn_holds_the_start(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    for (int64_t i = 0; i < 5; i++) {
        int64_t at = 3000 * MS + i * 50 * MS;
        reads(&t, WORKER, WORKER, at, at + 40 * MS);
        woken(&t, TRAINER, TRAINER, TARGET_PIPE, at + 20 * MS, at + 50 * MS, WORKER, WORKER);
    }
    struct shares s = walked(WORKER, 3050 * MS, NULL);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 3000 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 40 * MS);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 10 * MS);
    s = walked(WORKER, 3100 * MS, NULL);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 0);
    assert_int_equal(shares_total(&s), 50 * MS);
}

/* What a worker does when it ends stands behind its last delivery; what it does for one begins with the work
 * that it is given. */
static void a_start_is_told_by_what_items_take(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 10 * MS, 75 * MS, WORKER,
          WORKER); /* the first item: 5 */
    woken(&t, WORKER, WORKER, TARGET_PIPE, 140 * MS, 200 * MS, TRAINER,
          TRAINER); /* 65 of other things */
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 80 * MS, 205 * MS, WORKER, WORKER); /* the second: 5 */
    struct shares s = walked(WORKER, 75 * MS, NULL);
    assert_int_equal(shares_of(&s, CAUSE_STARTUP), 70 * MS);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 5 * MS);
}

/* Short work between two waits on the same store is the reading itself. */
static void work_inside_a_read_is_reading(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 1 * MS, 2 * MS, WORKER, WORKER);
    for (int64_t i = 0; i < 10; i++)
        reads(&t, WORKER, WORKER, 10 * MS + i * MS, 10 * MS + i * MS + 800 * US);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 5 * MS, 30 * MS, WORKER, WORKER);
    struct shares s = walked(WORKER, 30 * MS, NULL);
    assert_int_equal(shares_total(&s), 28 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 10 * 800 * US + 9 * 200 * US);
}

/* A connection made anew asks for more CPU, and loses its core in between. */
static void a_read_goes_on_without_a_core(void **state)
{
    (void)state;
    started(&t, 0, WORKER, WORKER, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 1 * MS, 2 * MS, WORKER, WORKER);
    reads(&t, WORKER, WORKER, 2 * MS, 22 * MS);
    push(&t, a_wait(WORKER, WORKER, TARGET_CORE, 22 * MS + 300 * US, 22 * MS + 300 * US));
    struct event_wait *core =
        &threads_find(&t, WORKER)->waits.item[threads_find(&t, WORKER)->waits.count - 1];
    core->t_in = 22 * MS + 600 * US;
    reads(&t, WORKER, WORKER, 23 * MS, 23 * MS + 50 * US);
    reads(&t, WORKER, WORKER, 23 * MS + 600 * US, 43 * MS);
    woken(&t, TRAINER, TRAINER, TARGET_PIPE, 5 * MS, 46 * MS, WORKER, WORKER);
    struct shares s = walked(WORKER, 46 * MS, NULL);
    assert_int_equal(shares_of(&s, CAUSE_CPU_STARVED), 300 * US);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 41 * MS - 300 * US);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 3 * MS);
}

/* A thread of the launching process receives in pieces; what it does between them, bytes in flight,
 * is the network's. The thread that it works for is woken with each piece. */
static void pieces_of_a_collective_are_network(void **state)
{
    (void)state;
    started(&t, 0, PIN, TRAINER, 1);
    started(&t, 0, 102, TRAINER, 1);
    for (int64_t at = 10 * MS; at < 90 * MS; at += 10 * MS) {
        struct event_wait w = a_wait(PIN, TRAINER, TARGET_SOCKET, at, at + 9 * MS);
        w.resource = STORE;
        w.rx_during = 65536;
        push(&t, w);
        woken(&t, 102, TRAINER, TARGET_FUTEX, at + 500 * US, at + 9 * MS + 500 * US, PIN, TRAINER);
    }
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 5 * MS, 9 * MS, 102, TRAINER);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 10 * MS, 90 * MS, 102, TRAINER);
    struct shares s = walked(102, 90 * MS, NULL);
    assert_true(shares_of(&s, CAUSE_NETWORK) > 78 * MS);
    assert_int_equal(shares_of(&s, CAUSE_COLLECTIVE), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_turn_begins_at_the_delivery_before),
        T(a_turn_begins_with_work),
        T(locks_are_not_work),
        T(a_large_thing_through_a_pipe_is_one_delivery),
        T(a_burst_is_one_delivery),
        T(who_blocked_has_let_go_of_the_lock),
        T(a_lock_between_reads_is_no_delivery),
        T(a_horizon_is_no_start),
        T(a_queue_thread_made_late_stands_for_a_delivery),
        T(silent_turns),
        T(a_chain_of_three),
        T(a_helper_begins_with_work),
        T(a_pool_hands_work_on),
        T(who_gives_a_lock_has_work),
        T(a_program_that_waits_for_room),
        T(what_a_relay_hands_on_was_made_beside),
        T(a_relay_that_only_fetches_hands_on_what_was_made),
        T(what_a_relay_found_was_made),
        T(who_only_answers_made_nothing),
        T(a_relay_s_own_work_is_beside_the_making),
        T(another_rank_makes_nothing),
        T(a_lock_given_away_is_no_delivery),
        T(an_answer_stands_for_what_was_put_before),
        T(an_answer_about_the_first_thing_put),
        T(an_answer_may_wait_for_a_lock),
        T(an_answer_follows_a_delivery),
        T(a_cycle_ends),
        T(a_chain_without_end),
        T(what_a_tcp_peer_is),
        T(a_rank_is_no_store),
        T(targets_decide),
        T(a_first_turn_holds_the_start),
        T(a_start_is_told_by_what_items_take),
        T(work_inside_a_read_is_reading),
        T(a_read_goes_on_without_a_core),
        T(pieces_of_a_collective_are_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
