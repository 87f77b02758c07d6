/* SPDX-License-Identifier: MIT */
/*
 * Logs of real PyTorch jobs (make scenarios, short, on a busy machine with two cores), and what the
 * same job saved when its cause was really taken away: within five points of the run's length.
 * Real logs miss takes and first deliveries and have some twice. logs/NAME.bin holds the chunks of
 * one recording, each after its size (32 bits, little endian).
 */
#include "plan/replay.h"

#include "base/mem.h"
#include "base/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define CORES 2
#define POINTS 0.05
#define IDENTITY 0.02
#define CHUNK_MAX (1u << 20)

enum asked { ASK_CAUSE, ASK_RESTARTS };

struct real {
    const char *name;
    double length, saved; /* seconds */
    enum asked asked;
    enum cause cause;
};

static const struct real table[] = {
    {"checkpoint", 3.96, 1.57, ASK_CAUSE, CAUSE_CHECKPOINT},
    {"launch", 8.83, 7.25, ASK_CAUSE, CAUSE_LAUNCH},
    {"neighbours", 17.92, 16.17, ASK_CAUSE, CAUSE_CPU_STARVED},
    {"restart", 6.05, 4.36, ASK_RESTARTS, CAUSE_NONE},
};

static const char *folder;

static bool read_size(FILE *f, uint32_t *ret)
{
    uint8_t b[4];
    if (fread(b, 1, sizeof(b), f) != sizeof(b))
        return false;
    *ret = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return true;
}

static struct replay_log *load(const char *name)
{
    char path[4096];
    uint32_t size;
    snprintf(path, sizeof(path), "%s/%s.bin", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot read '%s'", path);
    struct replay_log *log = replay_log_new(0);
    while (read_size(f, &size)) {
        struct error e;
        assert_true(size < CHUNK_MAX);
        uint8_t *chunk = mem_zalloc(size);
        assert_int_equal(fread(chunk, 1, size, f), size);
        assert_int_equal(replay_decode(log, chunk, size, &e), STATUS_OK);
        free(chunk);
    }
    fclose(f);
    return log;
}

static void check(const struct real *t)
{
    struct replay_log *log = load(t->name);
    struct replay_setup setup = {.cores = CORES};
    struct replay_scenario s = {.restarts_away = t->asked == ASK_RESTARTS};
    struct replay_learnt learnt;
    struct replay_result got;
    struct error e;
    struct replay *r = replay_new(log, &setup, &e);
    assert_non_null(r);
    assert_true(replay_learnt(r, 0, &learnt));
    if (t->asked == ASK_CAUSE)
        assert_true(replay_scenario_away(&s, t->cause, REPLAY_EVERYWHERE, 0, 0));
    assert_int_equal(replay_run(r, &s, &got, &e), STATUS_OK);
    double gain = (double)got.gain_ns / (double)NS_PER_S;
    double identity = fabs((double)(learnt.identity_ns - learnt.real_ns)) / (double)learnt.real_ns;
    print_message("%s: promised %.2f s, saved %.2f s of %.2f s; identity off by %.2f points\n",
                  t->name, gain, t->saved, t->length, 100 * identity);
    if (fabs(gain - t->saved) > POINTS * t->length || identity > IDENTITY)
        fail_msg("%s: too far off", t->name);
    replay_free(r);
    replay_log_free(log);
}

static void test_real(void **state)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        check(&table[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_real)};
    folder = argc > 1 ? argv[1] : "tests/plan/logs";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
