/* SPDX-License-Identifier: MIT */
/* Where the steps of a launching thread begin: what the replay log is told of a take. */
#include "ledger/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "threads_of.h"

static void launched(struct steps *s, int64_t t)
{
    struct event_span span = {.t0 = t + 10 * US, .t1 = t + 30 * MS, .launch_t0 = t,
                              .launch_t1 = t + 10 * US, .pid = TRAINER, .tid = TRAINER};
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
    struct threads t = {0};
    struct intern names = {0};
    struct replay_log *log = replay_log_new(0);
    struct replay_step step;
    int seen = 0;
    (void)state;
    started(&t, 0, TRAINER, TRAINER, 1);
    started(&t, 0, WORKER, WORKER, TRAINER);
    started(&t, 0, FEEDER, WORKER, TRAINER);
    started(&t, 0, SHARER, WORKER, TRAINER);
    intern_put(&names, "nfs://10.0.0.4/data");
    struct steps *s = steps_new(&t, &names, log, TRAINER, 0, 0);
    batches(&t, s, 10, 3 * MS);
    steps_advance(s, 1100 * MS);
    for (uint64_t i = 0; replay_log_step(log, 0, i, &step); i++) {
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
    steps_free(s);
    threads_clear(&t);
    intern_clear(&names);
    replay_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking_is_the_thread_s_own_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
