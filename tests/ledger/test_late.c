/* SPDX-License-Identifier: MIT */
/* Which rank came late, and what it did meanwhile. */
#include "threads_of.h"

#include "ledger/late.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RANK 400u /* the other rank's launching thread */
#define GLOO 401u /* a thread of it that talks */

static struct threads t;
static struct intern names;

/* Two ranks with a connection; the trainer waits for its bytes from 0 to 100 ms. */
static int begin(void **state)
{
    struct event_wait mine = a_wait(PIN, TRAINER, TARGET_SOCKET, -79 * MS, 100 * MS);
    struct event_wait theirs = a_wait(GLOO, RANK, TARGET_SOCKET, -97 * MS, -50 * MS);
    (void)state;
    started(&t, -100 * MS, TRAINER, TRAINER, 1);
    started(&t, -100 * MS, PIN, TRAINER, TRAINER);
    started(&t, -100 * MS, RANK, RANK, 1);
    started(&t, -100 * MS, GLOO, RANK, RANK);
    assert_true(threads_launch(&t, threads_find(&t, TRAINER)));
    assert_true(threads_launch(&t, threads_find(&t, RANK)));
    mine.channel = theirs.channel = 77;
    push(&t, mine);
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, -90 * MS, -80 * MS, PIN,
          TRAINER); /* an earlier one */
    woken(&t, TRAINER, TRAINER, TARGET_FUTEX, 0, 100 * MS, PIN, TRAINER);
    woken(&t, RANK, RANK, TARGET_FUTEX, -99 * MS, -98 * MS, GLOO, RANK); /* an earlier collective */
    push(&t, theirs);
    return 0;
}

static int end(void **state)
{
    (void)state;
    threads_clear(&t);
    intern_clear(&names);
    return 0;
}

/* The other rank's talking thread waits for bytes. */
static void talks(int64_t t_out, int64_t t_wake)
{
    struct event_wait w = a_wait(GLOO, RANK, TARGET_SOCKET, t_out, t_wake);
    w.channel = 77;
    w.rx_during = 1 << 20;
    push(&t, w);
}

/* The gap of 100 ms, of which `late` were late-peer and the rest network before. */
static struct shares explained(int64_t late, struct late *ret)
{
    struct gap g = {.t0 = 0,
                    .t1 = 100 * MS,
                    .launch_t0 = 100 * MS,
                    .launch_t1 = 100 * MS,
                    .thread = threads_find(&t, TRAINER),
                    .waits_seen = true};
    struct shares s = {.count = 0};
    shares_add(&s, CAUSE_NETWORK, STORE, 100 * MS - late);
    shares_add(&s, CAUSE_LATE_PEER, STORE, late);
    late_explain(&t, &names, &g, &s, ret);
    assert_int_equal(shares_total(&s), 100 * MS);
    return s;
}

static void a_rank_that_sleeps(void **state)
{
    struct late late;
    (void)state;
    push(&t, a_wait(RANK, RANK, TARGET_SLEEP, -5 * MS, 80 * MS));
    woken(&t, RANK, RANK, TARGET_FUTEX, 80 * MS, 100 * MS, GLOO, RANK);
    talks(-50 * MS, 79 * MS);
    talks(80 * MS, 100 * MS);
    struct shares s = explained(0, &late);
    assert_int_equal(shares_of(&s, CAUSE_LATE_PEER), 80 * MS);
    assert_int_equal(shares_of(&s, CAUSE_NETWORK), 20 * MS);
    assert_int_equal(late.rank->tid, RANK);
    assert_int_equal(shares_of(&late.did, CAUSE_SLEEP), 80 * MS);
    /* true of the time that was looked at; why it is late need not lie in it */
    struct chain_links links = {.count = 0};
    late_tell(&links, &late, &names);
    assert_int_equal(links.count, 1);
    assert_string_equal(links.link[0].did, "had not come yet; meanwhile it slept for 80 ms");
}

/* It synchronises with its device, works, and has no core; and its late-peer share does not shrink. */
static void a_rank_that_is_busy(void **state)
{
    struct late late;
    (void)state;
    called(&t, RANK, CALL_SYNC, 0, 40 * MS);
    push(&t, a_wait(RANK, RANK, TARGET_FUTEX, 1 * MS, 40 * MS));
    push(&t, a_wait(RANK, RANK, TARGET_CORE, 60 * MS, 70 * MS));
    reads(&t, RANK, RANK, 70 * MS, 100 * MS);
    struct shares s = explained(10 * MS, &late);
    assert_int_equal(shares_of(&s, CAUSE_LATE_PEER), 100 * MS);
    assert_int_equal(shares_of(&late.did, CAUSE_NONE), 40 * MS);
    assert_int_equal(shares_of(&late.did, CAUSE_HOST), 20 * MS);
    assert_int_equal(shares_of(&late.did, CAUSE_CPU_STARVED), 10 * MS);
    assert_int_equal(shares_of(&late.did, CAUSE_STORAGE), 30 * MS);
}

/* It waits for bytes too: the line is slow, though nobody shows who woke it. */
static void a_rank_that_has_come(void **state)
{
    struct late late;
    (void)state;
    push(&t, a_wait(RANK, RANK, TARGET_FUTEX, -5 * MS, 100 * MS));
    struct shares s = explained(30 * MS, &late);
    assert_int_equal(shares_of(&s, CAUSE_LATE_PEER), 30 * MS);
    assert_null(late.rank);
}

/* What its talking thread lacks of a core is no lateness of the rank. */
static void a_rank_that_has_come_without_a_core(void **state)
{
    struct late late;
    (void)state;
    talks(-50 * MS, 20 * MS);
    push(&t, a_wait(GLOO, RANK, TARGET_CORE, 20 * MS, 99 * MS));
    woken(&t, RANK, RANK, TARGET_FUTEX, -5 * MS, 100 * MS, GLOO, RANK);
    struct shares s = explained(0, &late);
    assert_int_equal(shares_of(&s, CAUSE_NETWORK), 100 * MS);
    assert_null(late.rank);
}

/* It got its bytes first and went on, while ours were still on the way. */
static void a_rank_that_has_gone_on(void **state)
{
    struct late late;
    (void)state;
    push(&t, a_wait(RANK, RANK, TARGET_SLEEP, -5 * MS, 30 * MS));
    push(&t, a_wait(RANK, RANK, TARGET_FUTEX, 30 * MS, 60 * MS));
    push(&t, a_wait(RANK, RANK, TARGET_SLEEP, 60 * MS, 150 * MS));
    struct shares s = explained(0, &late);
    assert_int_equal(shares_of(&s, CAUSE_LATE_PEER), 30 * MS);
    assert_int_equal(late.ns, 30 * MS);
}

/* Samples do not tell where the wait in a driver call ends and that for the other rank begins: it is for the
 * other rank from the end of the call on. */
static void samples_beside_a_call(void **state)
{
    struct gap g = {.t0 = 200 * MS,
                    .t1 = 240 * MS,
                    .launch_t0 = 240 * MS,
                    .launch_t1 = 240 * MS,
                    .thread = threads_find(&t, TRAINER),
                    .waits_seen = true};
    struct event_wait sync = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 185 * MS, 206 * MS);
    struct event_wait mine = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 206 * MS, 235 * MS);
    struct event_wait next = a_wait(TRAINER, TRAINER, TARGET_FUTEX, 235 * MS, 250 * MS);
    struct shares s = {.count = 0};
    struct late late;
    (void)state;
    sync.flags = mine.flags = next.flags = WAIT_SAMPLED;
    sync.t_seen = 196 * MS;
    mine.t_seen = 230 * MS;
    next.t_seen = 246 * MS;
    called(&t, TRAINER, CALL_SYNC, 181 * MS, 200 * MS);
    called(&t, TRAINER, CALL_SYNC, 239 * MS, 260 * MS);
    push(&t, sync);
    push(&t, mine);
    push(&t, next);
    push(&t, a_wait(RANK, RANK, TARGET_SLEEP, 190 * MS, 238 * MS));
    push(&t, a_wait(RANK, RANK, TARGET_FUTEX, 238 * MS, 240 * MS));
    shares_add(&s, CAUSE_NETWORK, STORE, 40 * MS);
    late_explain(&t, &names, &g, &s, &late);
    assert_int_equal(shares_of(&s, CAUSE_LATE_PEER), 38 * MS);
    assert_int_equal(shares_of(&s, CAUSE_NETWORK), 2 * MS);
}

/* While it waits for something else it does not matter whether the other rank has come. */
static void loading_first(void **state)
{
    struct gap g = {.t0 = 200 * MS,
                    .t1 = 300 * MS,
                    .launch_t0 = 300 * MS,
                    .launch_t1 = 300 * MS,
                    .thread = threads_find(&t, TRAINER),
                    .waits_seen = true};
    struct shares s = {.count = 0};
    struct late late;
    (void)state;
    reads(&t, TRAINER, TRAINER, 200 * MS, 260 * MS);
    struct event_wait mine = a_wait(TRAINER, TRAINER, TARGET_SOCKET, 260 * MS, 300 * MS);
    mine.channel = 77;
    push(&t, mine);
    push(&t, a_wait(RANK, RANK, TARGET_SLEEP, 190 * MS, 290 * MS));
    push(&t, a_wait(RANK, RANK, TARGET_FUTEX, 290 * MS, 300 * MS));
    shares_add(&s, CAUSE_STORAGE, STORE, 60 * MS);
    shares_add(&s, CAUSE_NETWORK, STORE, 40 * MS);
    late_explain(&t, &names, &g, &s, &late);
    assert_int_equal(shares_of(&s, CAUSE_LATE_PEER), 30 * MS);
    assert_int_equal(shares_of(&s, CAUSE_NETWORK), 10 * MS);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), 60 * MS);
}

static void strangers_are_not_asked(void **state)
{
    struct late late;
    (void)state;
    started(&t, -100 * MS, OTHER, OTHER, 1);
    assert_true(threads_launch(&t, threads_find(&t, OTHER)));
    push(&t, a_wait(OTHER, OTHER, TARGET_SLEEP, -5 * MS, 100 * MS));
    push(&t, a_wait(RANK, RANK, TARGET_FUTEX, -5 * MS, 100 * MS));
    struct shares s = explained(0, &late);
    assert_int_equal(shares_of(&s, CAUSE_NETWORK), 100 * MS);
    assert_null(late.rank);
}

static void a_rank_launches_by_a_thread_that_lives(void **state)
{
    struct late late;
    (void)state;
    ended(&t, -60 * MS, RANK, RANK);
    started(&t, -55 * MS, OTHER, RANK, RANK);
    assert_true(threads_launch(&t, threads_find(&t, OTHER)));
    push(&t, a_wait(OTHER, RANK, TARGET_SLEEP, -5 * MS, 100 * MS));
    explained(0, &late);
    assert_non_null(late.rank);
    assert_int_equal(late.rank->tid, OTHER);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_rank_that_sleeps),
        T(a_rank_that_is_busy),
        T(a_rank_that_has_come),
        T(a_rank_that_has_come_without_a_core),
        T(a_rank_that_has_gone_on),
        T(loading_first),
        T(samples_beside_a_call),
        T(strangers_are_not_asked),
        T(a_rank_launches_by_a_thread_that_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
