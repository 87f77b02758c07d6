/* SPDX-License-Identifier: MIT */
/* Where the steps of a launching thread begin: what the replay log is told of a take. */
#include "ledger/steps.h"

#include "ledger/shares.h"

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
    struct steps *steps;
};

/* A trainer and a worker with the thread of its queue and the sharer. */
static struct world *begin(void)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->log = replay_log_new(0);
    started(&w->threads, 0, TRAINER, TRAINER, 1);
    started(&w->threads, 0, WORKER, WORKER, TRAINER);
    started(&w->threads, 0, FEEDER, WORKER, TRAINER);
    started(&w->threads, 0, SHARER, WORKER, TRAINER);
    intern_put(&w->names, "nfs://10.0.0.4/data");
    w->steps = steps_new(&w->threads, &w->names, w->log, TRAINER, 0, 0);
    return w;
}

static void end(struct world *w)
{
    steps_free(w->steps);
    threads_clear(&w->threads);
    intern_clear(&w->names);
    replay_log_free(w->log);
    free(w);
}

static void launched(struct steps *s, int64_t t)
{
    struct event_span span = {.t0 = t + 10 * US,
                              .t1 = t + 30 * MS,
                              .launch_t0 = t,
                              .launch_t1 = t + 10 * US,
                              .pid = TRAINER,
                              .tid = TRAINER};
    assert_true(steps_span(s, &span, 30 * MS));
}

/* Batches every 100 ms: read, handed over by the queue's thread, then their memory is fetched from the
 * sharer, which answers after `unpack`. */
static void batches(struct threads *t, struct steps *s, int count, int64_t unpack)
{
    for (int64_t at = 0; at < count * 100 * MS; at += 100 * MS) {
        int64_t put = at + 100 * MS, got = put + 200 * US;
        reads(t, WORKER, WORKER, at + 5 * MS, put - 5 * MS);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, put, WORKER, WORKER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, at + 50 * MS, got, FEEDER, WORKER);
        woken(t, SHARER, WORKER, TARGET_PIPE, at + 4 * MS, got + 100 * US, TRAINER, TRAINER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, got + 100 * US, got + unpack, SHARER, WORKER);
        launched(s, got + unpack + MS);
    }
}

/* It waited for the batch until that was handed over; the time to fetch what it holds stays the
 * thread's own, whatever becomes of the waiting. */
static void unpacking_is_the_thread_s_own_time(void **state)
{
    struct world *w = begin();
    struct replay_step step;
    int seen = 0;
    (void)state;
    batches(&w->threads, w->steps, 10, 3 * MS);
    steps_advance(w->steps, 1100 * MS);
    for (uint64_t i = 0; replay_log_step(w->log, 0, i, &step); i++) {
        int64_t own = 0;
        if (step.delivery == REPLAY_NONE || step.t1 == step.t0)
            continue;
        seen++;
        assert_int_equal((step.t1 - 200 * US) % (100 * MS), 0); /* when it was handed over */
        for (int k = 0; k < step.op_count; k++)
            own += step.ops[k].kind == REPLAY_THREAD ? step.ops[k].what.ns : 0;
        assert_true(own >= 4 * MS); /* 3 ms of it, and 1 ms before the launch */
    }
    assert_true(seen >= 5);
    end(w);
}

/* Each step waits for the interpreter lock, whose holder keeps it for its 5 ms: nobody ends that wait. */
static void a_lock_that_nobody_gives_is_told(void **state)
{
    struct world *w = begin();
    struct replay_step step;
    int64_t locked = 0;
    (void)state;
    for (int64_t at = 10 * MS; at < 110 * MS; at += 10 * MS) {
        struct event_wait wait = a_wait(TRAINER, TRAINER, TARGET_FUTEX, at, at + 5 * MS);
        wait.flags = WAIT_TIMED | WAIT_WAKER_IRQ;
        push(&w->threads, wait);
        called(&w->threads, TRAINER, CALL_SYNC, at + 6 * MS, at + 9 * MS);
    }
    steps_advance(w->steps, 200 * MS);
    for (uint64_t i = 0; replay_log_step(w->log, 0, i, &step); i++)
        for (int k = 0; k < step.op_count; k++)
            locked += step.ops[k].what.cause == CAUSE_LOCK ? step.ops[k].what.ns : 0;
    assert_int_equal(locked, 50 * MS);
    end(w);
}

/* As `batches`, but a thread of the trainer's process takes each batch, fetches what it holds, and hands
 * it on (PyTorch's pin_memory). */
static void pinned_batches(struct threads *t, struct steps *s, int count)
{
    for (int64_t at = 0; at < count * 100 * MS; at += 100 * MS) {
        int64_t put = at + 100 * MS, got = put + 200 * US;
        reads(t, WORKER, WORKER, at + 5 * MS, put - 5 * MS);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, put, WORKER, WORKER);
        woken(t, PIN, TRAINER, TARGET_PIPE, at + 5 * MS, got, FEEDER, WORKER);
        woken(t, SHARER, WORKER, TARGET_PIPE, at + 4 * MS, got + 100 * US, PIN, TRAINER);
        woken(t, PIN, TRAINER, TARGET_PIPE, got + 100 * US, got + 500 * US, SHARER, WORKER);
        woken(t, TRAINER, TRAINER, TARGET_FUTEX, at + 50 * MS, got + MS, PIN, TRAINER);
        launched(s, got + 2 * MS);
    }
}

/* The trainer waited for the batch, whoever handed it on. */
static void a_wait_for_a_pinned_batch_is_for_the_batch(void **state)
{
    struct world *w = begin();
    struct replay_step step;
    int seen = 0, steps = 0;
    (void)state;
    started(&w->threads, 0, PIN, TRAINER, 1);
    pinned_batches(&w->threads, w->steps, 10);
    steps_advance(w->steps, 1100 * MS);
    for (uint64_t i = 0; replay_log_step(w->log, 0, i, &step); i++) {
        int64_t own = 0;
        for (int k = 0; k < step.op_count; k++)
            own += step.ops[k].what.cause == CAUSE_STORAGE ? step.ops[k].what.ns : 0;
        steps += step.delivery != REPLAY_NONE;
        if (step.delivery == REPLAY_NONE || step.t1 == step.t0)
            continue;
        seen++;
        assert_true(step.t1 - step.t0 > 40 * MS);
        assert_true(own < MS); /* none of the worker's reading is the thread's own time */
    }
    assert_true(seen >= 5 && seen >= steps - 1);
    end(w);
}

/* As `batches`, but the worker reads for 10 ms only and has a child decode: for 60 ms on a core, after
 * 15 ms without one. */
static void decoded_by_a_child(struct threads *t, struct steps *s, int count)
{
    for (int64_t at = 0; at < count * 100 * MS; at += 100 * MS) {
        int64_t put = at + 100 * MS, got = put + 200 * US, asked = at + 20 * MS;
        reads(t, WORKER, WORKER, at + 5 * MS, at + 15 * MS);
        struct event_wait w = a_wait(OTHER, OTHER, TARGET_PIPE, at + 3 * MS, asked);
        w.t_in = asked + 15 * MS;
        w.waker_tid = w.waker_tgid = WORKER;
        push(t, w);
        woken(t, WORKER, WORKER, TARGET_PIPE, asked, asked + 75 * MS, OTHER, OTHER);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, put, WORKER, WORKER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, at + 50 * MS, got, FEEDER, WORKER);
        launched(s, got + MS);
    }
}

/* What others did while the worker waited for them is told as what they did, though the worker does the
 * same things itself: away with it, and the delivery is there sooner. */
static void what_a_child_did_is_told(void **state)
{
    struct world *w = begin();
    struct replay_delivery d;
    int seen = 0;
    (void)state;
    started(&w->threads, 0, OTHER, OTHER, WORKER);
    decoded_by_a_child(&w->threads, w->steps, 10);
    steps_advance(w->steps, 1100 * MS);
    for (uint64_t i = 0; replay_log_delivery(w->log, 0, i, &d); i++) {
        struct shares sum = {.count = 0};
        for (int k = 0; k < d.part_count; k++)
            shares_add(&sum, (enum cause)d.parts[k].cause, 0, d.parts[k].ns);
        if (d.startup)
            continue;
        seen++;
        assert_int_equal(shares_of(&sum, CAUSE_UNKNOWN), 0);
        assert_int_equal(shares_of(&sum, CAUSE_STORAGE), 10 * MS);
        assert_int_equal(shares_of(&sum, CAUSE_CPU_STARVED), 15 * MS);
        assert_int_equal(shares_of(&sum, CAUSE_PREPARE), 75 * MS);
    }
    assert_true(seen >= 5);
    end(w);
}

#define OTHER_FEEDER 301u
#define OTHER_SHARER 302u

/* Two workers make their batches in the same 100 ms: the second one's wakes the trainer, which puts it
 * aside and finds that of the first, for which it had waited, there; then it takes the other. */
static void pairs(struct threads *t, struct steps *s, int count)
{
    for (int64_t at = 0; at < count * 100 * MS; at += 100 * MS) {
        int64_t put = at + 100 * MS, got = put + 200 * US;
        reads(t, WORKER, WORKER, at + 5 * MS, put - 5 * MS);
        reads(t, OTHER, OTHER, at + 5 * MS, put - 5 * MS);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, put, WORKER, WORKER);
        woken(t, OTHER_FEEDER, OTHER, TARGET_FUTEX, at + 3 * MS, put, OTHER, OTHER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, at + 50 * MS, got, OTHER_FEEDER, OTHER);
        woken(t, OTHER_SHARER, OTHER, TARGET_PIPE, at + 4 * MS, got + 100 * US, TRAINER, TRAINER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, got + 100 * US, got + 200 * US, OTHER_SHARER,
              OTHER);
        woken(t, SHARER, WORKER, TARGET_PIPE, at + 4 * MS, got + 300 * US, TRAINER, TRAINER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, got + 300 * US, got + 400 * US, SHARER, WORKER);
        launched(s, got + MS);
        launched(s, got + 32 * MS);
    }
}

/* The trainer waited, though what it waited for did not wake it. */
static void a_batch_that_another_one_woke_for_was_awaited(void **state)
{
    struct world *w = begin();
    struct replay_step step;
    int waited = 0;
    (void)state;
    started(&w->threads, 0, OTHER, OTHER, TRAINER);
    started(&w->threads, 0, OTHER_FEEDER, OTHER, TRAINER);
    started(&w->threads, 0, OTHER_SHARER, OTHER, TRAINER);
    pairs(&w->threads, w->steps, 10);
    steps_advance(w->steps, 1100 * MS);
    for (uint64_t i = 0; replay_log_step(w->log, 0, i, &step); i++) {
        int64_t own = 0;
        for (int k = 0; k < step.op_count; k++)
            own += step.ops[k].what.cause == CAUSE_STORAGE ? step.ops[k].what.ns : 0;
        waited += step.t1 - step.t0 > 40 * MS;
        assert_true(step.delivery == REPLAY_NONE ||
                    own < MS); /* the workers' reading is not its own */
    }
    assert_true(waited >= 8);
    end(w);
}

/* The trainer fetches what the batch of `tid`, which lies there, holds. */
static void unpacks(struct threads *t, struct steps *s, int64_t at, uint32_t tid)
{
    woken(t, tid + 2, tid, TARGET_PIPE, at - 50 * MS, at + 100 * US, TRAINER, TRAINER);
    woken(t, TRAINER, TRAINER, TARGET_PIPE, at + 100 * US, at + 300 * US, tid + 2, tid);
    launched(s, at + MS);
}

/* Two workers that have each a batch lie there whenever the trainer takes one of the first, and 50 ms later one
 * of the second. */
static void there_in_pairs(struct threads *t, struct steps *s, int count)
{
    for (int64_t at = 0; at < count * 100 * MS; at += 100 * MS) {
        reads(t, WORKER, WORKER, at + 5 * MS, at + 10 * MS);
        reads(t, OTHER, OTHER, at + 5 * MS, at + 15 * MS);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, at + 10 * MS, WORKER, WORKER);
        woken(t, OTHER_FEEDER, OTHER, TARGET_FUTEX, at + 3 * MS, at + 15 * MS, OTHER, OTHER);
        unpacks(t, s, at + 40 * MS, WORKER);
        unpacks(t, s, at + 90 * MS, OTHER);
    }
}

/* Nobody waits for them, so nothing tells in which order they are taken: as they came. */
static void what_came_later_is_not_taken_first(void **state)
{
    struct world *w = begin();
    struct replay_step step;
    int taken = 0;
    (void)state;
    started(&w->threads, 0, OTHER, OTHER, TRAINER);
    started(&w->threads, 0, OTHER_FEEDER, OTHER, TRAINER);
    started(&w->threads, 0, OTHER_SHARER, OTHER, TRAINER);
    there_in_pairs(&w->threads, w->steps, 60);
    steps_advance(w->steps, 6000 * MS);
    for (uint64_t i = 1; replay_log_step(w->log, 0, i, &step); i++) {
        assert_true(step.delivery != REPLAY_NONE);
        taken++;
    }
    assert_in_range(taken, 115, 121);
    end(w);
}

/* The trainer zips two loaders: each step takes a batch of the one, then one of the other, and waits for
 * both. */
static void zipped(struct threads *t, struct steps *s, int count)
{
    for (int64_t at = 0; at < count * 100 * MS; at += 100 * MS) {
        int64_t put = at + 60 * MS, got = put + 200 * US, other = at + 100 * MS;
        struct event_wait one = a_wait(TRAINER, TRAINER, TARGET_PIPE, at + 30 * MS, got);
        struct event_wait two = a_wait(TRAINER, TRAINER, TARGET_PIPE, got + MS, other + 200 * US);
        reads(t, WORKER, WORKER, at + 5 * MS, put - 5 * MS);
        reads(t, OTHER, OTHER, at + 5 * MS, other - 5 * MS);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, put, WORKER, WORKER);
        woken(t, OTHER_FEEDER, OTHER, TARGET_FUTEX, at + 3 * MS, other, OTHER, OTHER);
        one.waker_tid = FEEDER;
        one.waker_tgid = WORKER;
        one.channel = 7;
        two.waker_tid = OTHER_FEEDER;
        two.waker_tgid = OTHER;
        two.channel = 9;
        push(t, one);
        push(t, two);
        launched(s, other + MS);
    }
}

/* Both batches of a step were awaited, each for its own time. */
static void both_of_zipped_loaders_are_awaited(void **state)
{
    struct world *w = begin();
    struct replay_step step;
    struct replay_delivery d;
    int waited[2] = {0};
    (void)state;
    started(&w->threads, 0, OTHER, OTHER, TRAINER);
    started(&w->threads, 0, OTHER_FEEDER, OTHER, TRAINER);
    zipped(&w->threads, w->steps, 10);
    steps_advance(w->steps, 1100 * MS);
    for (uint64_t i = 0; replay_log_step(w->log, 0, i, &step); i++) {
        if (step.delivery == REPLAY_NONE || step.t1 - step.t0 < 10 * MS)
            continue;
        assert_true(replay_log_delivery(w->log, 0, step.delivery, &d));
        assert_true(d.queue < 2);
        waited[d.queue]++;
        assert_in_range(step.t1 - step.t0, d.queue ? 37 * MS : 29 * MS,
                        d.queue ? 41 * MS : 31 * MS);
    }
    assert_true(waited[0] >= 8 && waited[1] >= 8);
    end(w);
}

/* The trainer zips a slow loader with a quick one, whose batch is always there, put `early`: it only fetches
 * what that holds, from the sharer. */
static void zipped_with_a_quick_one(struct threads *t, struct steps *s, int count, int64_t put_at)
{
    for (int64_t at = 0; at < count * 100 * MS; at += 100 * MS) {
        int64_t put = at + 100 * MS, got = put + 200 * US, early = at + put_at;
        reads(t, OTHER, OTHER, at + 5 * MS, early - MS);
        woken(t, OTHER_FEEDER, OTHER, TARGET_FUTEX, at + 3 * MS, early, OTHER, OTHER);
        reads(t, WORKER, WORKER, at + 5 * MS, put - 5 * MS);
        woken(t, FEEDER, WORKER, TARGET_FUTEX, at + 3 * MS, put, WORKER, WORKER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, at + 50 * MS, got, FEEDER, WORKER);
        woken(t, OTHER_SHARER, OTHER, TARGET_PIPE, at + 4 * MS, got + 100 * US, TRAINER, TRAINER);
        woken(t, TRAINER, TRAINER, TARGET_PIPE, got + 100 * US, got + 200 * US, OTHER_SHARER,
              OTHER);
        launched(s, got + MS);
    }
}

static void quick_one_is_not_awaited(int64_t put_at)
{
    struct world *w = begin();
    struct replay_step step;
    struct replay_delivery d;
    int waited = 0, there = 0;
    started(&w->threads, 0, OTHER, OTHER, TRAINER);
    started(&w->threads, 0, OTHER_FEEDER, OTHER, TRAINER);
    started(&w->threads, 0, OTHER_SHARER, OTHER, TRAINER);
    zipped_with_a_quick_one(&w->threads, w->steps, 10, put_at);
    steps_advance(w->steps, 1100 * MS);
    for (uint64_t i = 0; replay_log_step(w->log, 0, i, &step); i++) {
        if (step.delivery == REPLAY_NONE)
            continue;
        assert_true(replay_log_delivery(w->log, 0, step.delivery, &d));
        bool slow = d.end_ns % (100 * MS) == 0;
        waited += slow && step.t1 - step.t0 > 49 * MS;
        there += !slow && step.t1 - step.t0 < MS;
    }
    assert_true(waited >= 8 && there >= 8);
    end(w);
}

/* What was there before the trainer began to wait is not what it waited for, nor what came meanwhile and did not
 * wake it. */
static void what_was_there_was_not_awaited(void **state)
{
    (void)state;
    quick_one_is_not_awaited(20 * MS);
    quick_one_is_not_awaited(70 * MS);
}

/* The trainer waits for it on the pipe of its loader. */
static void awaits(struct threads *t, uint32_t tid, uint64_t pipe, int64_t t_out, int64_t got)
{
    struct event_wait w = a_wait(TRAINER, TRAINER, TARGET_PIPE, t_out, got);
    w.waker_tid = tid + 1;
    w.waker_tgid = tid;
    w.channel = pipe;
    reads(t, tid, tid, got - 90 * MS, got - 5 * MS);
    woken(t, tid + 1, tid, TARGET_FUTEX, got - 95 * MS, got - 200 * US, tid, tid);
    push(t, w);
}

/* A worker that ends wakes the trainer once more; then the next epoch's are made, and awaited. */
static void workers_that_end_hand_nothing_over(void **state)
{
    struct world *w = begin();
    struct replay_step step;
    bool found = false;
    (void)state;
    for (int64_t at = 100 * MS; at < 400 * MS; at += 100 * MS) {
        awaits(&w->threads, WORKER, 7, at - 40 * MS, at);
        launched(w->steps, at + MS);
    }
    woken(&w->threads, TRAINER, TRAINER, TARGET_PIPE, 340 * MS, 350 * MS, FEEDER, WORKER);
    ended(&w->threads, 351 * MS, FEEDER, WORKER);
    ended(&w->threads, 351 * MS, WORKER, WORKER);
    started(&w->threads, 355 * MS, OTHER, OTHER, TRAINER);
    started(&w->threads, 356 * MS, OTHER_FEEDER, OTHER, TRAINER);
    awaits(&w->threads, OTHER, 9, 360 * MS, 460 * MS);
    launched(w->steps, 461 * MS);
    steps_advance(w->steps, 600 * MS);
    steps_finish(w->steps, 600 * MS);
    for (uint64_t i = 0; replay_log_step(w->log, 0, i, &step); i++)
        found |= step.t0 == 340 * MS && step.t1 == 460 * MS;
    assert_true(found);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking_is_the_thread_s_own_time),
        cmocka_unit_test(a_lock_that_nobody_gives_is_told),
        cmocka_unit_test(a_wait_for_a_pinned_batch_is_for_the_batch),
        cmocka_unit_test(what_a_child_did_is_told),
        cmocka_unit_test(a_batch_that_another_one_woke_for_was_awaited),
        cmocka_unit_test(what_came_later_is_not_taken_first),
        cmocka_unit_test(both_of_zipped_loaders_are_awaited),
        cmocka_unit_test(what_was_there_was_not_awaited),
        cmocka_unit_test(workers_that_end_hand_nothing_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
