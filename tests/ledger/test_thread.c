/* SPDX-License-Identifier: MIT */
/* What is remembered of threads, and for how long. */
#include "ledger/thread.h"

#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS NS_PER_MS

static void change(struct threads *t, int64_t at, uint32_t tid, uint32_t tgid,
                   enum thread_change what)
{
    struct event_thread e = {
        .t = at, .tid = tid, .tgid = tgid, .parent_tgid = 1, .change = (uint8_t)what, .job = true};
    assert_true(threads_change(t, &e));
}

static void wait(struct threads *t, uint32_t tid, int64_t t_out, int64_t t_in, uint32_t waker)
{
    struct event_wait e = {.t_out = t_out,
                           .t_wake = t_in,
                           .t_in = t_in,
                           .tid = tid,
                           .tgid = tid,
                           .waker_tid = waker,
                           .waker_tgid = waker,
                           .target = TARGET_PIPE};
    assert_true(threads_wait(t, &e));
}

static size_t waits_of(const struct threads *t, uint32_t tid)
{
    const struct thread *th = threads_find(t, tid);
    return th ? th->waits.count - th->waits.first : 0;
}

static void waits_are_kept_in_order(void **state)
{
    struct threads t = {0};
    (void)state;
    wait(&t, 7, 10, 20, 8);
    wait(&t, 7, 30, 40, 8);
    wait(&t, 7, 12, 18, 8); /* out of order: the earlier word stays */
    assert_int_equal(waits_of(&t, 7), 2);
    assert_int_equal(waits_after(&threads_find(&t, 7)->waits, 19), 0);
    assert_int_equal(waits_after(&threads_find(&t, 7)->waits, 20), 1);
    assert_int_equal(waits_after(&threads_find(&t, 7)->waits, 40), 2);
    assert_int_equal(threads_find(&t, 8)->wakes.count, 2); /* the waker was made */
    assert_null(threads_find(&t, 9));
    assert_null(threads_find(&t, 0));
    threads_clear(&t);
}

static void an_open_end_gives_way_to_the_whole(void **state)
{
    struct threads t = {0};
    struct event_wait e = {.t_out = 10,
                           .t_wake = 50,
                           .t_in = 50,
                           .tid = 7,
                           .tgid = 7,
                           .target = TARGET_FILE,
                           .flags = WAIT_SAMPLED | WAIT_OPEN_END};
    (void)state;
    assert_true(threads_wait(&t, &e));
    e.t_wake = e.t_in = 90;
    e.flags = WAIT_SAMPLED;
    assert_true(threads_wait(&t, &e));
    assert_int_equal(waits_of(&t, 7), 1);
    assert_int_equal(t.waits_held, 1);
    assert_int_equal(threads_find(&t, 7)->waits.item[0].t_in, 90);
    threads_clear(&t);
}

/* A number that is used again is another thread; the old one stays until it is forgotten. */
static void a_number_used_again_is_another_thread(void **state)
{
    struct threads t = {0};
    (void)state;
    change(&t, 0, 7, 7, THREAD_START);
    wait(&t, 7, 10, 20, 0);
    change(&t, 30, 7, 7, THREAD_EXIT);
    const struct thread *old = threads_find(&t, 7);
    assert_false(old->alive);
    assert_int_equal(old->exit, 30);
    change(&t, 40, 7, 7, THREAD_START);
    assert_ptr_not_equal(threads_find(&t, 7), old);
    assert_int_equal(threads_find(&t, 7)->start, 40);
    assert_int_equal(waits_of(&t, 7), 0);
    assert_int_equal(t.count, 2);
    threads_trim(&t, 35); /* the old one ended before */
    assert_int_equal(t.count, 1);
    assert_int_equal(threads_find(&t, 7)->start, 40);
    assert_int_equal(t.waits_held, 0);
    threads_clear(&t);
}

static void the_dead_are_forgotten_and_the_living_found(void **state)
{
    struct threads t = {0};
    (void)state;
    for (uint32_t tid = 1; tid <= 1000; tid++) {
        change(&t, tid, tid, tid, THREAD_START);
        wait(&t, tid, tid, tid + 1, 0);
        if (tid % 3)
            change(&t, tid + 2, tid, tid, THREAD_EXIT);
    }
    threads_trim(&t, 600);
    for (uint32_t tid = 1; tid <= 1000; tid++) {
        const struct thread *th = threads_find(&t, tid);
        bool dead = tid % 3 && tid + 2 < 600;
        assert_int_equal(th == NULL, dead);
        assert_true(!th || th->tid == tid);
    }
    size_t held = 0;
    for (size_t i = 0; i < t.count; i++)
        held += t.list[i]->waits.count - t.list[i]->waits.first;
    assert_int_equal(t.waits_held, held);
    threads_clear(&t);
}

static void what_ended_before_the_horizon_is_forgotten(void **state)
{
    struct threads t = {0};
    struct event_call c = {.tid = 7, .pid = 7, .kind = CALL_SYNC};
    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        wait(&t, 7, i * MS, i * MS + MS / 2, 8);
        c.t0 = i * MS + MS / 2;
        c.t1 = c.t0 + 10;
        assert_true(threads_call(&t, &c));
    }
    threads_trim(&t, 900 * MS);
    const struct thread *th = threads_find(&t, 7), *by = threads_find(&t, 8);
    assert_int_equal(th->waits.item[th->waits.first].t_out, 900 * MS);
    assert_int_equal(waits_of(&t, 7), 100);
    assert_int_equal(th->calls.item[th->calls.first].t0, 900 * MS + MS / 2);
    assert_int_equal(by->wakes.item[by->wakes.first].t, 900 * MS + MS / 2);
    assert_true(th->waits.count < 500); /* memory was given back */
    assert_int_equal(th->known_since, 900 * MS);
    assert_int_equal(t.forgotten, 0);
    threads_clear(&t);
}

/* More waits than may be held: the busiest threads forget their older half, and it is counted. */
static void memory_is_bounded(void **state)
{
    struct threads t = {0};
    (void)state;
    wait(&t, 1, 0, 5, 0); /* a quiet one keeps its history */
    for (int64_t i = 0; i < 3 * (int64_t)THREADS_WAITS_MAX; i++) {
        wait(&t, 2 + (uint32_t)(i % 2), i * 10, i * 10 + 5, 0);
        if (i % 10000 == 0)
            threads_trim(&t, 0);
    }
    threads_trim(&t, 0);
    assert_true(t.waits_held <= THREADS_WAITS_MAX);
    assert_true(t.forgotten > THREADS_WAITS_MAX);
    assert_int_equal(waits_of(&t, 1), 1);
    assert_true(threads_find(&t, 2)->known_since > 0);
    threads_clear(&t);
}

static void channels_and_sockets(void **state)
{
    struct threads t = {0};
    struct event_channel c = {.channel = 5, .tgid = 70, .writer = true};
    struct event_wait w = {.t_out = 1,
                           .t_wake = 2,
                           .t_in = 2,
                           .tid = 7,
                           .tgid = 7,
                           .target = TARGET_SOCKET,
                           .channel = 9,
                           .rx_bytes = 100,
                           .tx_bytes = 10};
    uint64_t rx, tx;
    (void)state;
    assert_false(threads_channel_known(&t, 5));
    assert_true(threads_hold_channel(&t, &c));
    assert_true(threads_channel_known(&t, 5) && threads_writes(&t, 5, 70));
    assert_false(threads_writes(&t, 5, 71));
    c.writer = false;
    assert_true(threads_hold_channel(&t, &c));
    assert_true(threads_channel_known(&t, 5) && !threads_writes(&t, 5, 70));
    assert_true(threads_wait(&t, &w));
    struct event_wait early = w;
    w.t_out = 3, w.t_wake = w.t_in = 4, w.rx_bytes = 900;
    assert_true(threads_wait(&t, &w));
    threads_socket(&t, &early, &rx, &tx); /* what the connection brought later counts */
    assert_int_equal(rx, 900);
    assert_int_equal(tx, 10);
    threads_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_kept_in_order),
        cmocka_unit_test(an_open_end_gives_way_to_the_whole),
        cmocka_unit_test(a_number_used_again_is_another_thread),
        cmocka_unit_test(the_dead_are_forgotten_and_the_living_found),
        cmocka_unit_test(what_ended_before_the_horizon_is_forgotten),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(channels_and_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
