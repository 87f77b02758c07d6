/* SPDX-License-Identifier: MIT */
/* Whatever is pushed, and whatever allocation fails: no crash, and the rows add up to the span. */
#include "ledger/ledger.h"
#include "stream.h"

#include "base/mem.h"
#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENTS 30000 /* of each seed */
#define SEEDS 4
#define DENSE 4000 /* events of seed 2 in which all threads wake each other all the time */

struct sums {
    int64_t ns[LEDGER_DEVICES_MAX];
    uint64_t rows, chains;
};

static uint64_t state;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void on_row(void *arg, const struct ledger_row *row)
{
    struct sums *s = arg;
    assert_true(row->ns > 0 && row->state < STATE_COUNT && row->cause < CAUSE_COUNT);
    assert_true(row->accelerator < LEDGER_DEVICES_MAX);
    s->ns[row->accelerator] += row->ns;
    s->rows++;
}

static void on_chain(void *arg, const struct chain_example *chain)
{
    struct sums *s = arg;
    assert_in_range(chain->count, 1, CHAIN_LINKS_MAX);
    for (int i = 0; i < chain->count; i++) {
        assert_true(memchr(chain->links[i].who, 0, sizeof(chain->links[i].who)) != NULL);
        assert_true(memchr(chain->links[i].did, 0, sizeof(chain->links[i].did)) != NULL);
    }
    s->chains++;
}

static int on_fact(void *arg, const struct fact *fact)
{
    (void)arg;
    assert_non_null(fact->kind);
    return 0;
}

/* Mostly near `now`, at times anything. */
static int64_t a_time(int64_t now)
{
    static const int64_t odd[] = {
        0, -1, 1, INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MAX / 2, INT64_MIN / 2};
    if (draw() % 50 == 0)
        return odd[draw() % (sizeof(odd) / sizeof(odd[0]))];
    if (draw() % 200 == 0)
        return (int64_t)draw();
    return now + (int64_t)(draw() % (40 * NS_PER_MS)) - 30 * NS_PER_MS;
}

/* t + ns, wrapping. */
static int64_t after(int64_t t, int64_t ns)
{
    return (int64_t)((uint64_t)t + (uint64_t)ns);
}

static uint32_t a_tid(void)
{
    return draw() % 30 == 0 ? (draw() % 2 ? 0 : UINT32_MAX) : 100 + (uint32_t)(draw() % 40);
}

static uint32_t a_device(void)
{
    return draw() % 30 == 0 ? (uint32_t)draw() : (uint32_t)(draw() % 3);
}

static void fill_span(struct event_span *s, int64_t now)
{
    s->t0 = a_time(now);
    s->t1 = draw() % 10 ? after(s->t0, (int64_t)(draw() % NS_PER_MS)) : a_time(now);
    s->launch_t0 = draw() % 4 ? after(s->t0, -(int64_t)(draw() % NS_PER_MS)) : a_time(now);
    s->launch_t1 = draw() % 4 ? after(s->launch_t0, 5000) : a_time(now);
    s->device = a_device();
    s->pid = a_tid();
    s->tid = a_tid();
    s->kind = (uint8_t)(draw() % 6);
    s->host_copy = draw() & 1;
    s->pageable = draw() & 1;
    s->sync_copy = draw() & 1;
    s->bytes = draw();
}

static void fill_wait(struct event_wait *w, int64_t now)
{
    w->t_out = a_time(now);
    w->t_wake = draw() % 4 ? after(w->t_out, (int64_t)(draw() % (10 * NS_PER_MS))) : a_time(now);
    w->t_in = draw() % 4 ? after(w->t_wake, (int64_t)(draw() % NS_PER_MS)) : a_time(now);
    w->tid = a_tid();
    w->tgid = a_tid();
    w->waker_tid = a_tid();
    w->waker_tgid = a_tid();
    w->resource = (uint32_t)(draw() % 5);
    w->target = (uint8_t)(draw() % (TARGET_COUNT + 2));
    w->flags = (uint8_t)(draw() % 10 ? 0 : draw());
    w->channel = draw() % 8;
    w->rx_bytes = draw();
    w->tx_bytes = draw();
    w->rx_during = (uint32_t)draw();
    w->tx_unsent = (uint32_t)draw();
    w->t_seen = a_time(now);
}

static struct event an_event(int64_t now)
{
    struct event e;
    memset(&e, 0, sizeof(e));
    unsigned kind = (unsigned)(draw() % 100);
    if (kind < 55) {
        e.kind = EVENT_WAIT;
        fill_wait(&e.wait, now);
    } else if (kind < 80) {
        e.kind = EVENT_SPAN;
        fill_span(&e.span, now);
    } else if (kind < 88) {
        e.kind = EVENT_CALL;
        e.call = (struct event_call){a_time(now), a_time(now), a_device(),
                                     a_tid(),     a_tid(),     (uint8_t)(draw() % 8)};
    } else if (kind < 94) {
        e.kind = EVENT_THREAD;
        e.thread = (struct event_thread){.t = a_time(now),
                                         .tid = a_tid(),
                                         .tgid = a_tid(),
                                         .parent_tgid = a_tid(),
                                         .change = (uint8_t)(draw() % 5),
                                         .job = draw() & 1};
        memset(e.thread.name, 'x', sizeof(e.thread.name));
    } else if (kind < 96) {
        e.kind = EVENT_DEVICE;
        e.device = (struct event_device){a_time(now), a_device(), a_tid(), draw() & 1};
    } else if (kind < 97) {
        e.kind = EVENT_LOST;
        e.lost = (struct event_lost){a_time(now), a_time(now), a_device(), draw() % 3, draw() & 1};
    } else if (kind < 99) {
        e.kind = EVENT_CHANNEL;
        e.channel =
            (struct event_channel){a_time(now), draw() % 8, a_tid(), draw() & 1, draw() & 1};
    } else {
        e.kind = (uint8_t)draw();
    }
    return e;
}

static struct ledger *make(struct sums *s, struct replay_log *log, const struct intern *names)
{
    struct ledger_options o = {
        .names = names, .log = log, .arg = s, .row = on_row, .chain = on_chain};
    return ledger_new(&o);
}

static void any_events(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct intern names = {0};
        struct sums s = {0};
        struct replay_log *log = replay_log_new(1024);
        struct ledger *l = make(&s, log, &names);
        int64_t now = seed == 1 ? 0 : 1000 * NS_PER_S, t0, t1;
        state = seed * UINT64_C(0x9e3779b97f4a7c15);
        if (seed % 2)
            ledger_watch_waits(l);
        if (seed == 3)
            ledger_calls_only(l);
        for (int i = 0; i < EVENTS; i++) {
            struct event e = an_event(now);
            ledger_push(l, &e);
            now += (int64_t)(draw() % (seed == 2 && i < DENSE ? 200 * NS_PER_US : 3 * NS_PER_MS));
            if (i % 500 == 0)
                ledger_advance(l, now - 30 * NS_PER_MS);
            if (i % 6000 == 0)
                ledger_advance(l, a_time(now) % now); /* time runs backwards */
        }
        ledger_finish(l, now);
        assert_true(ledger_span(l, &t0, &t1));
        assert_true(s.rows > 100 && s.chains > 0);
        assert_true(ledger_lost(l) > 0);
        for (int d = 0; d < LEDGER_DEVICES_MAX; d++)
            assert_in_range(s.ns[d], 0, t1 - t0);
        assert_int_equal(ledger_facts(l, on_fact, NULL), 0);
        ledger_free(l);
        replay_log_free(log);
        intern_clear(&names);
    }
}

/* Each failing allocation in turn: events are lost and counted, rows still add up. */
static void no_memory(void **unused)
{
    struct model_config c = model_random(1, 60);
    struct stream_job how = stream_job_random(2);
    struct stream stream = {0};
    struct model_trace trace = {0};
    struct model_truth truth;
    struct intern names = {0};
    int failed = 0;
    (void)unused;
    c.items = 60;
    model_run(&c, NULL, &truth, &trace);
    how.store = intern_put(&names, "nfs://10.0.0.4/data");
    stream_add(&stream, &how, &c, &trace, (int64_t)truth.total);
    stream_sort(&stream);
    for (long n = 0;; n++) {
        struct sums s = {0};
        int64_t t0, t1;
        struct replay_log *log = replay_log_new(0);
        mem_fail_after(n);
        struct ledger *l = make(&s, log, &names);
        if (l) {
            ledger_watch_waits(l);
            stream_feed(&stream, l, (int64_t)truth.total);
            ledger_facts(l, on_fact, NULL);
        }
        mem_fail_after(-1);
        uint64_t lost = l ? ledger_lost(l) : 1;
        if (l && s.rows) {
            assert_true(ledger_span(l, &t0, &t1));
            assert_int_equal(s.ns[0], t1 - t0);
        }
        ledger_free(l);
        replay_log_free(log);
        if (!lost && l)
            break;
        failed++;
    }
    assert_true(failed > 50);
    ledger_free(NULL);
    stream_clear(&stream);
    free(trace.v);
    intern_clear(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_events),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
