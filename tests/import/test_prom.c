/* SPDX-License-Identifier: MIT */
/* Scrapes of exporters: the format's lines, rates and resets of counters, the ledger between scrapes. */
#include "facts_of.h"

#include "base/unit.h"
#include "import/prom_ledger.h"

static struct prom_line line(char *buf, const char *text)
{
    struct prom_line l;
    strcpy(buf, text);
    prom_line_read(buf, &l);
    return l;
}

static void test_lines(void **state)
{
    char b[512], label[64];
    (void)state;
    struct prom_line l = line(b, "a_total{x=\"1\",y=\"q\\\"}\\n,z\"} 1.5e3 1700000000123");
    assert_int_equal(l.kind, PROM_SAMPLE);
    assert_string_equal(l.name, "a_total");
    assert_true(l.value == 1500);
    assert_true(l.t_ms == INT64_C(1700000000123));
    assert_true(prom_label(l.labels, "x", label, sizeof(label)));
    assert_string_equal(label, "1");
    assert_true(prom_label(l.labels, "y", label, sizeof(label)));
    assert_string_equal(label, "q\"}\n,z");
    assert_false(prom_label(l.labels, "z", label, sizeof(label)));
    l = line(b, "  up 1");
    assert_int_equal(l.kind, PROM_SAMPLE);
    assert_true(l.t_ms == PROM_NO_TIME);
    l = line(b, "a{} NaN\r");
    assert_int_equal(l.kind, PROM_SAMPLE);
    assert_true(isnan(l.value));
    l = line(b, "a_count{b=\"c\"} 17 1700000000.5 # {trace=\"x\"} 0.6"); /* OpenMetrics */
    assert_int_equal(l.kind, PROM_SAMPLE);
    assert_true(l.t_ms == INT64_C(1700000000500));
    l = line(b, "# TYPE a_b counter");
    assert_int_equal(l.kind, PROM_TYPE);
    assert_int_equal(l.type, PROM_COUNTER);
    assert_int_equal(line(b, "# HELP a b c").kind, PROM_BLANK);
    assert_int_equal(line(b, "# EOF").kind, PROM_BLANK);
    assert_int_equal(line(b, "").kind, PROM_BLANK);
    static const char *const broken[] = {
        "a",      "a{",     "a{b} 1",  "a{b=\"c} 1", "a{b=\"c\"", "a{b=\"c\"} x",
        "1a 2",   "a 1 x",  "a 1 2 3", "a{b=\"c\\",  "a 1x",      "a 1 9000000000000000",
        "a 1 -5", "a 1 nan"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        if (line(b, broken[i]).kind != PROM_BROKEN)
            fail_msg("%s", broken[i]);
}

static void test_recognise(void **state)
{
    static const char yes[] = "# HELP a b\n# TYPE a gauge\na 1\n", also[] = "node_load1 0.5\n";
    static const char no[] = "hello world\nthis is 1 text\n", log[] = "h:1:2 [0] NCCL INFO x\n";
    (void)state;
    assert_true(prom_recognise(yes, sizeof(yes) - 1));
    assert_true(prom_recognise(also, sizeof(also) - 1));
    assert_false(prom_recognise(no, sizeof(no) - 1));
    assert_false(prom_recognise(log, sizeof(log) - 1));
    assert_false(prom_recognise("", 0));
    assert_false(prom_recognise("word 5\n", 7)); /* any line of a table */
}

static void scrape(struct prom_set *s, const char *text, int64_t t)
{
    char *copy = strdup(text), *save = NULL;
    for (char *p = strtok_r(copy, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
        prom_set_line(s, p);
    prom_set_end(s, t);
    free(copy);
}

static void test_rates(void **state)
{
    struct prom_set s = {.node_time = NAN};
    struct facts all = {0};
    (void)state;
    scrape(&s,
           "# TYPE rx_bytes_total counter\nrx_bytes_total{d=\"a\"} 1000\nx_total 50\n# TYPE g "
           "gauge\ng 1\n"
           "# TYPE h histogram\nh_bucket{le=\"1\"} 5\nh_sum 10\nh_count 5\ngo_threads 7\nbad line "
           "here\n",
           10 * NS_PER_S);
    scrape(&s,
           "# TYPE rx_bytes_total counter\nrx_bytes_total{d=\"a\"} 3000\nx_total 20\n# TYPE g "
           "gauge\ng 3\n"
           "# TYPE h histogram\nh_sum 40\nh_count 10\n",
           20 * NS_PER_S);
    prom_set_sort(&s);
    assert_int_equal(s.broken, 1);
    assert_int_equal(prom_facts(&s, facts_add, &all, NULL), 0);
    HAS(&all, "metric|rx_bytes_total{d=\"a\"}|rate|200");
    HAS(&all, "metric|rx_bytes_total{d=\"a\"}|total|3000");
    HAS(&all, "metric|x_total|rate|2"); /* began anew: 20 since */
    HAS(&all, "metric|g|value|2");
    HAS(&all, "metric|h_sum|mean|6");
    HAS(&all, "metrics||resets|1");
    HAS(&all, "metrics||scrapes|2");
    HAS(&all, "metrics||seconds|10");
    HAS_NOT(&all, "metric|go_threads|");
    HAS_NOT(&all, "metric|h_bucket{le=\"1\"}|");
    facts_clear(&all);
    prom_set_clear(&s);
}

static void test_one_scrape(void **state)
{
    struct prom_set s = {.node_time = NAN};
    struct facts all = {0};
    (void)state;
    scrape(&s, "x_total 50\ng 1\n", PROM_NO_TIME);
    prom_set_sort(&s);
    assert_int_equal(prom_facts(&s, facts_add, &all, NULL), 0);
    HAS(&all, "metric|g|value|1");
    HAS(&all, "metric|x_total|total|50");
    HAS_NOT(&all, "metric|x_total|rate|");
    HAS_NOT(&all, "metrics||seconds|");
    facts_clear(&all);
    prom_set_clear(&s);
}

/* The node exporter tells when it was asked. */
static void test_node_time(void **state)
{
    struct prom_set s = {.node_time = NAN};
    (void)state;
    scrape(&s, "a_total 1\nnode_time_seconds 1.7e9\n", 5);
    scrape(&s, "a_total 9\nnode_time_seconds 1.700000004e9\n", 6);
    prom_set_sort(&s);
    uint64_t resets = 0;
    const struct prom_sample *p = prom_samples(&s, &s.series[0]);
    assert_int_equal(prom_span(p, 2), 4 * NS_PER_S);
    assert_true(prom_growth(p, 2, &resets) == 8);
    prom_set_clear(&s);
}

struct sums {
    int64_t state[4][STATE_COUNT];
    char id[4][96], name[4][96];
    int gpus;
};

static bool on_gpu(void *arg, const struct prom_gpu *g)
{
    struct sums *x = arg;
    assert_int_equal(g->number, x->gpus);
    strcpy(x->id[x->gpus], g->id);
    strcpy(x->name[x->gpus++], g->name);
    return true;
}

static void on_row(void *arg, const struct ledger_row *row)
{
    struct sums *x = arg;
    assert_int_equal(row->evidence, EVIDENCE_COUNTERS);
    assert_true(row->ns > 0);
    x->state[row->accelerator][row->state] += row->ns;
}

#define GPU(n, util, active, used)                                                                 \
    "DCGM_FI_DEV_GPU_UTIL{gpu=\"" #n "\",UUID=\"GPU-" #n "\",modelName=\"H100\"} " #util "\n"      \
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"" #n "\",UUID=\"GPU-" #n                                  \
    "\",modelName=\"H100\"} " #active "\n"                                                         \
    "DCGM_FI_DEV_FB_USED{gpu=\"" #n "\",UUID=\"GPU-" #n "\",modelName=\"H100\"} " #used "\n"

/* Every nanosecond of each device is in one row; a device that a job holds waits, another is unused. */
static void test_ledger(void **state)
{
    struct prom_set s = {.node_time = NAN};
    struct sums x = {0};
    struct prom_ledger_sink sink = {&x, on_gpu, on_row};
    (void)state;
    scrape(&s,
           GPU(0, 90, 0.5, 70000) GPU(1, 0, 0, 4)
               GPU(2, 0, 0, 70000) "DCGM_FI_DEV_GPU_UTIL{gpu=\"3\",Hostname=\"n\"} 25\n",
           NS_PER_S);
    scrape(&s,
           GPU(0, 90, 0.7, 70000) GPU(1, 0, 0, 4)
               GPU(2, 0, 0, 70000) "DCGM_FI_DEV_GPU_UTIL{gpu=\"3\",Hostname=\"n\"} 25\n",
           11 * NS_PER_S);
    prom_set_sort(&s);
    assert_int_equal(prom_ledger(&s, 333 * NS_PER_MS, &sink, NULL), 0);
    assert_int_equal(x.gpus, 4);
    assert_string_equal(x.id[0], "GPU-0");
    assert_string_equal(x.name[0], "H100");
    assert_string_equal(x.id[3], "gpu 3 on n");
    for (int g = 0; g < 4; g++) {
        int64_t sum = 0;
        for (int i = 0; i < STATE_COUNT; i++)
            sum += x.state[g][i];
        assert_int_equal(sum, 10 * NS_PER_S);
    }
    assert_true(llabs(x.state[0][STATE_COMPUTE] - 6 * NS_PER_S) < 100);
    assert_true(llabs(x.state[0][STATE_WAIT] - 4 * NS_PER_S) < 100);
    assert_int_equal(x.state[1][STATE_UNUSED], 10 * NS_PER_S);
    assert_int_equal(x.state[2][STATE_WAIT], 10 * NS_PER_S);
    assert_true(llabs(x.state[3][STATE_COMPUTE] - 25 * NS_PER_S / 10) < 100);
    prom_set_clear(&s);
}

/* Values and a time beyond what is possible, times that go back, equal times: the rest is read. */
static void test_hostile(void **state)
{
    struct prom_set s = {.node_time = NAN};
    struct sums x = {0};
    struct prom_ledger_sink sink = {&x, on_gpu, on_row};
    struct facts all = {0};
    (void)state;
    scrape(
        &s,
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 7 9000000000000000\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} -5 "
        "2000\n"
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 5 2000\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} +Inf 3000\n"
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 1e300 4000\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 1e300 3000\n"
        "x_total 1e308 1000\nx_total -1e308 2000\n",
        PROM_NO_TIME);
    prom_set_sort(&s);
    assert_int_equal(s.broken, 1);
    assert_int_equal(prom_ledger(&s, NS_PER_S, &sink, NULL), 0);
    assert_int_equal(x.gpus, 1);
    assert_int_equal(x.state[0][STATE_COMPUTE] + x.state[0][STATE_WAIT], 2 * NS_PER_S);
    assert_true(x.state[0][STATE_COMPUTE] >= NS_PER_S); /* from the third second on it is busy */
    assert_int_equal(prom_facts(&s, facts_add, &all, NULL), 0);
    HAS(&all, "metrics||seconds|3");
    facts_clear(&all);
    prom_set_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_recognise),
        cmocka_unit_test(test_rates),     cmocka_unit_test(test_one_scrape),
        cmocka_unit_test(test_node_time), cmocka_unit_test(test_ledger),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
