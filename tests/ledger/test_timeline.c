/* SPDX-License-Identifier: MIT */
/* Property: the exclusive states equal a brute-force painting of every nanosecond. */
#include "ledger/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH 2000
#define SPANS 60

struct seen {
    int64_t at;
    unsigned char paint[LENGTH];
    int64_t adds;
};

static void segment(void *arg, enum segment_class class, int64_t t0, int64_t t1,
                    const struct event_span *next)
{
    struct seen *s = arg;
    assert_int_equal(t0, s->at);
    assert_true(t1 > t0);
    if (class == SEGMENT_IDLE && next)
        assert_int_equal(next->t0, t1);
    memset(s->paint + t0, class, (size_t)(t1 - t0));
    s->at = t1;
}

static void walked(void *arg, const struct event_span *span, int64_t adds)
{
    struct seen *s = arg;
    assert_true(adds >= 0 && adds <= span->t1 - span->t0);
    s->adds += adds;
}

static void paint(unsigned char *want, const struct event_span *s)
{
    unsigned char c = s->kind == SPAN_COMM   ? SEGMENT_COMM
                      : s->kind == SPAN_COPY ? (s->pageable ? SEGMENT_PAGEABLE : SEGMENT_COPY)
                                             : SEGMENT_COMPUTE;
    for (int64_t t = s->t0; t < s->t1; t++)
        if (c < want[t])
            want[t] = c;
}

static void random_spans_match_painting(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct timeline t;
        struct seen seen = {0};
        unsigned char want[LENGTH];
        srand(seed);
        memset(want, SEGMENT_IDLE, sizeof(want));
        timeline_init(&t);
        timeline_begin(&t, 0);
        for (int batch = 0; batch < 4; batch++) {
            int64_t lo = batch * 500;
            for (int i = 0; i < SPANS / 4; i++) {
                struct event_span s = {.t0 = lo + rand() % 450, .kind = (uint8_t)(rand() % 4)};
                s.t1 = s.t0 + rand() % 60;
                s.host_copy = true;
                s.pageable = rand() % 2;
                if (s.t1 > LENGTH)
                    s.t1 = LENGTH;
                paint(want, &s);
                assert_true(timeline_push(&t, &s));
            }
            timeline_advance(&t, lo + 450, false, segment, walked, &seen);
        }
        timeline_advance(&t, LENGTH, true, segment, walked, &seen);
        assert_int_equal(seen.at, LENGTH);
        assert_memory_equal(seen.paint, want, LENGTH);
        int64_t busy = 0;
        for (int i = 0; i < LENGTH; i++)
            busy += want[i] != SEGMENT_IDLE;
        assert_int_equal(seen.adds, busy);
        assert_int_equal(t.late_ns, 0);
        timeline_clear(&t);
    }
}

static void a_late_span_is_counted(void **state)
{
    (void)state;
    struct timeline t;
    struct seen seen = {0};
    timeline_init(&t);
    timeline_begin(&t, 0);
    struct event_span a = {.t0 = 10, .t1 = 100}, b = {.t0 = 20, .t1 = 120};
    timeline_push(&t, &a);
    timeline_advance(&t, 100, false, segment, walked, &seen);
    timeline_push(&t, &b);
    timeline_advance(&t, 200, true, segment, walked, &seen);
    assert_int_equal(t.late_ns, 80);
    assert_int_equal(seen.paint[110], SEGMENT_COMPUTE);
    assert_int_equal(seen.paint[130], SEGMENT_IDLE);
    timeline_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_spans_match_painting),
        cmocka_unit_test(a_late_span_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
