/* SPDX-License-Identifier: MIT */
/*
 * Dumps of the flight recorder (flight/ holds real ones of PyTorch 2.13 with Gloo: rank 1 has not entered the third
 * all_reduce of group 0, and runs another collective in group 1), pickles that would run code, answers of NCCL RAS
 * and lines of NCCL's Inspector.
 */
#include "facts_of.h"

#include "import/flight.h"
#include "import/inspector.h"
#include "import/pickle.h"
#include "import/ras.h"

static void add_dump(struct flight *f, const char *name, int rank)
{
    char path[64], bytes[8192];
    struct values v = {0};
    struct error e = {0};
    snprintf(path, sizeof(path), "flight/%s", name);
    size_t n = read_data(path, bytes, sizeof(bytes));
    const struct value *dump = pickle_recognise(bytes, n) ? pickle_read(&v, bytes, n, name, &e)
                                                          : value_parse(&v, bytes, n);
    if (!dump)
        fail_msg("%s: %s", name, e.text);
    assert_int_equal(flight_add(f, dump, rank, name, &e), 0);
    values_clear(&v);
}

static void check_hang(const char *const names[2])
{
    struct facts all = {0};
    struct flight *f = flight_new();
    for (int i = 0; i < 2; i++)
        add_dump(f, names[i], flight_rank_of_name(names[i]));
    assert_int_equal(flight_facts(f, facts_add, &all, NULL), 0);
    HAS(&all, "flight||version|2.10");
    HAS(&all, "flight||ranks_dumped|2");
    HAS(&all, "flight/group|0|name|default_pg");
    HAS(&all, "flight/group|0|last_completed|2");
    HAS(&all, "flight/group|0|last_enqueued|3");
    HAS(&all, "flight/rank|0 1|last_completed|2");
    HAS(&all, "flight/missing|0 1|sequence|3");
    HAS(&all, "flight/missing|0 1|operation|all_reduce");
    HAS(&all, "flight/missing|0 1|behind|1");
    HAS_NOT(&all, "flight/missing|0 0|");
    HAS_NOT(&all, "flight/missing|1 ");
    HAS(&all, "flight/mismatch|1 1|what|operation");
    HAS(&all, "flight/mismatch|1 1|ranks|1");
    HAS(&all, "flight||missing|1");
    HAS(&all, "flight||mismatches|1");
    flight_free(f);
    facts_clear(&all);
}

static void test_real_pickles(void **state)
{
    static const char *const names[] = {"nccl_trace_rank_0", "nccl_trace_rank_1"};
    (void)state;
    check_hang(names);
}

static void test_real_json(void **state)
{
    static const char *const names[] = {"fr_rank_0.json", "fr_rank_1.json"};
    (void)state;
    check_hang(names);
}

/* ---- made dumps ---- */

static const struct value *parse(struct values *v, const char *text)
{
    const struct value *p = value_parse(v, text, strlen(text));
    if (!p)
        fail_msg("no JSON: %s", text);
    return p;
}

#define ENTRY(seq, op, size, type, state)                                                          \
    "{\"pg_id\":0,\"process_group\":[\"0\",\"dp\"],\"collective_seq_id\":" #seq                    \
    ",\"profiling_name\":\"nccl:" op "\",\"input_sizes\":[[" #size "]],\"input_dtypes\":[\"" type  \
    "\"],\"state\":\"" state "\",\"is_p2p\":false}"
#define DUMP(entries)                                                                              \
    "{\"version\":\"2.4\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"dp\",\"ranks\":\"[0, "   \
    "1, 2, 3]\"}},"                                                                                \
    "\"entries\":[" entries "]}"

static struct facts compare(const char *const dumps[], int count)
{
    struct facts all = {0};
    struct values v = {0};
    struct flight *f = flight_new();
    for (int i = 0; i < count; i++)
        assert_int_equal(flight_add(f, parse(&v, dumps[i]), i, "x", NULL), 0);
    assert_int_equal(flight_facts(f, facts_add, &all, NULL), 0);
    flight_free(f);
    values_clear(&v);
    return all;
}

static void test_sizes(void **state)
{
    static const char *const dumps[] = {DUMP(ENTRY(7, "all_reduce", 64, "Float", "started")),
                                        DUMP(ENTRY(7, "all_reduce", 64, "Float", "started")),
                                        DUMP(ENTRY(7, "all_reduce", 32, "Float", "started"))};
    (void)state;
    struct facts all = compare(dumps, 3);
    HAS(&all, "flight||ranks|4");
    HAS(&all, "flight||ranks_dumped|3");
    HAS(&all, "flight/mismatch|0 7|what|size");
    HAS(&all, "flight/mismatch|0 7|operation|all_reduce of 64");
    HAS(&all, "flight/mismatch|0 7|other|all_reduce of 32");
    HAS(&all, "flight/mismatch|0 7|ranks|2");
    HAS(&all, "flight||missing|0");
    facts_clear(&all);
}

static void test_types(void **state)
{
    static const char *const dumps[] = {DUMP(ENTRY(7, "all_gather", 64, "Float", "started")),
                                        DUMP(ENTRY(7, "all_gather", 64, "Half", "started"))};
    (void)state;
    struct facts all = compare(dumps, 2);
    HAS(&all, "flight/mismatch|0 7|what|type");
    facts_clear(&all);
}

/* Sizes of an all_to_all may differ; a rank that is ahead by what is completed waits for nobody. */
static void test_quiet(void **state)
{
    static const char *const dumps[] = {
        DUMP(ENTRY(7, "all_to_all", 64, "Float", "completed")),
        DUMP(ENTRY(7, "all_to_all", 32, "Float", "completed") "," ENTRY(8, "all_reduce", 1, "Float",
                                                                        "completed"))};
    (void)state;
    struct facts all = compare(dumps, 2);
    HAS(&all, "flight||missing|0");
    HAS(&all, "flight||mismatches|0");
    facts_clear(&all);
}

static void test_no_dump(void **state)
{
    struct values v = {0};
    struct error e = {0};
    struct flight *f = flight_new();
    (void)state;
    assert_int_equal(flight_add(f, parse(&v, "{\"a\":1}"), 0, "x.json", &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "\"x.json\""));
    assert_int_equal(flight_add(f, parse(&v, "[1,2]"), 0, "x", &e), STATUS_INPUT);
    assert_int_equal(
        flight_add(f, parse(&v, "{\"entries\":[1,null,{},{\"process_group\":7}]}"), 0, "x", &e), 0);
    assert_int_equal(flight_skipped(f), 4);
    assert_int_equal(flight_add(f, parse(&v, "{\"entries\":[]}"), 0, "y", &e),
                     STATUS_INPUT); /* twice */
    assert_int_equal(flight_rank_of_name("/a/b.3/nccl_trace_rank_12"), 12);
    assert_int_equal(flight_rank_of_name("comm_lib_trace_rank_7.json"), 7);
    assert_int_equal(flight_rank_of_name("dump.pkl"), -1);
    flight_free(f);
    values_clear(&v);
}

/* ---- pickles ---- */

static bool refuses(const char *bytes, size_t size, const char *why)
{
    struct values v = {0};
    struct error e = {0};
    const struct value *p = pickle_read(&v, bytes, size, "x.pkl", &e);
    values_clear(&v);
    if (!p && !strstr(e.text, why))
        fail_msg("%s", e.text);
    return !p;
}
#define REFUSES(bytes, why) assert_true(refuses(bytes, sizeof(bytes) - 1, why))

static void test_pickle_code(void **state)
{
    (void)state;
    REFUSES("\x80\x02"
            "cos\nsystem\nX\x02\x00\x00\x00ls\x85R.",
            "never done");
    REFUSES("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.", "never done");
    REFUSES("\x80\x02}]R.", "never done");
    REFUSES("\x80\x02]}b.", "never done");
    REFUSES("\x80\x02"
            "ctorch.jit._pickle\nbuild_intlist\n.x",
            "no plain data");
}

static void test_pickle_bad(void **state)
{
    (void)state;
    REFUSES("\x80\x02", "ends before");
    REFUSES("\x80\x02X\xff\xff\xff\xff", "ends in the middle");
    REFUSES("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "ends in the middle");
    REFUSES("\x80\x02t.", "mark that is not there");
    REFUSES("\x80\x02\x85.", "not there");
    REFUSES("\x80\x02Ns.", "no list or dict");
    REFUSES("\x80\x02NNN.", "one value");
    REFUSES("\x80\x02h\x07.", "names a value");
    REFUSES("\x80\x02\xf0.", "no dump has");
    REFUSES("\x80\x02}(Nu.", "no list or dict");
    REFUSES("\x80\x02\x8a\x09"
            "123456789.",
            "64 bits");
}

static void test_pickle_values(void **state)
{
    struct values v = {0};
    static const char bytes[] = "\x80\x02}q\x00(X\x01\x00\x00\x00"
                                "aJ\xfe\xff\xff\xffX\x01\x00\x00\x00"
                                "b](K\x01M\x00\x01\x8a\x01\xff"
                                "G?\xf8\x00\x00\x00\x00\x00\x00\x88NeX\x01\x00\x00\x00"
                                "cctorch.jit._pickle\nbuild_intlist\n"
                                "]K\x07"
                                "a\x85Ru.";
    (void)state;
    const struct value *p = pickle_read(&v, bytes, sizeof(bytes) - 1, "x", NULL);
    assert_non_null(p);
    assert_int_equal(value_int(value_get(p, "a"), 0), -2);
    const struct value *b = value_get(p, "b");
    assert_int_equal(value_count(b), 6);
    assert_int_equal(value_int(value_at(b, 1), 0), 256);
    assert_int_equal(value_int(value_at(b, 2), 0), -1);
    assert_true(value_number(value_at(b, 3), 0) == 1.5);
    assert_true(value_true(value_at(b, 4)));
    assert_int_equal(value_int(value_at(value_get(p, "c"), 0), 0), 7);
    assert_null(value_get(p, "z"));
    values_clear(&v);
}

/* ---- RAS and Inspector ---- */

static void test_ras(void **state)
{
    static const char text[] =
        "{\"nccl_version\":\"2.28.9\",\"communicators_count\":1,\"communicators\":[{\"hash\":"
        "\"0xab12\",\"size\":4,"
        "\"missing_ranks_count\":1,\"ranks\":["
        "{\"rank\":0,\"host\":\"a\",\"pid\":1,\"collective_counts\":{\"Broadcast\":2,\"AllReduce\":"
        "1000}},"
        "{\"rank\":1,\"host\":\"a\",\"pid\":2,\"collective_counts\":{\"Broadcast\":2,\"AllReduce\":"
        "940}},"
        "{\"rank\":2,\"host\":\"b\",\"pid\":3,\"collective_counts\":{\"Broadcast\":1,\"AllReduce\":"
        "1000}}],"
        "\"missing_ranks\":[{\"rank\":3,\"host\":\"b\",\"pid\":4711,\"cuda_dev\":1,"
        "\"status\":{\"unresponsive\":true,\"considered_dead\":false}}]}],\"ras\":{\"timeouts_"
        "count\":2}}";
    struct values v = {0};
    struct facts all = {0};
    struct error e = {0};
    (void)state;
    assert_true(ras_is_json(text, sizeof(text) - 1));
    assert_false(ras_is_json(text + 1, sizeof(text) - 2));
    assert_int_equal(ras_facts(parse(&v, text), "ras.json", facts_add, &all, &e), 0);
    HAS(&all, "ras||version|2.28.9|ras.json");
    HAS(&all, "ras||missing|1");
    HAS(&all, "ras||timeouts|2");
    HAS(&all, "ras/comm|0xab12|behind_rank|1");
    HAS(&all, "ras/comm|0xab12|behind|60");
    HAS(&all, "ras/missing|0xab12 3|pid|4711");
    HAS(&all, "ras/missing|0xab12 3|unresponsive|1");
    HAS(&all, "ras/missing|0xab12 3|dead|0");
    assert_int_equal(ras_facts(parse(&v, "{\"communicators\":[]}"), "x", facts_add, &all, &e),
                     STATUS_INPUT);
    facts_clear(&all);
    /* what is not told is not zero */
    assert_int_equal(
        ras_facts(
            parse(&v, "{\"nccl_version\":\"2.28\",\"communicators\":[{\"hash\":\"0x1\",\"size\":8,"
                      "\"missing_ranks_count\":3,\"missing_ranks\":[{\"rank\":5}]}]}"),
            "x", facts_add, &all, &e),
        0);
    HAS(&all, "ras||missing|3");
    HAS(&all, "ras/comm|0x1|missing|3");
    HAS_NOT(&all, "ras/missing|0x1 5|dead|");
    HAS_NOT(&all, "ras/missing|0x1 5|unresponsive|");
    facts_clear(&all);
    values_clear(&v);
}

static void test_inspector(void **state)
{
    /* v4.0: a header in each line; v4.3: one before those that belong to it. */
    static const char *const lines[] = {
        "{\"header\":{\"id\":\"0x7\",\"comm_name\":\"dp\",\"rank\":0,\"n_ranks\":8,\"nnodes\":1},"
        "\"metadata\":"
        "{\"inspector_output_format_version\":\"v4.0\",\"hostname\":\"a\",\"pid\":1},\"coll_perf\":"
        "{\"coll\":\"AllReduce\","
        "\"coll_sn\":1,\"coll_msg_size_bytes\":1000000,\"coll_exec_time_us\":500,\"coll_busbw_"
        "gbs\":200}}",
        "{\"header\":{\"id\":\"0x7\",\"comm_name\":\"dp\",\"rank\":0,\"n_ranks\":8},\"metadata\":{"
        "\"hostname\":\"b\"},"
        "\"dump_stats\":{\"coll_records\":2,\"coll_dropped_since_last_dump\":3}}",
        "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_msg_size_bytes\":1000000,\"coll_exec_time_"
        "us\":1500,\"coll_busbw_gbs\":100}}",
        "{\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_peer\":1,\"p2p_msg_size_bytes\":10,\"p2p_exec_time_"
        "us\":5,\"p2p_busbw_gbs\":2}}",
        "{\"coll_perf\":{\"coll\":\"AllReduce\"}}",
        "{\"other\":1}"};
    struct values v = {0};
    struct facts all = {0};
    struct inspector *p = inspector_new();
    (void)state;
    assert_true(inspector_is(lines[0], strlen(lines[0])));
    inspector_begin(p);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        inspector_line(p, parse(&v, lines[i]));
    assert_int_equal(inspector_records(p), 3);
    assert_int_equal(inspector_skipped(p), 2);
    assert_int_equal(inspector_facts(p, facts_add, &all, NULL), 0);
    HAS(&all, "inspector|dp AllReduce|count|2");
    HAS(&all, "inspector|dp AllReduce|bytes|2000000");
    HAS(&all, "inspector|dp AllReduce|seconds|0.002");
    HAS(&all, "inspector|dp AllReduce|busbw_mean|1.5e+11");
    HAS(&all, "inspector|dp AllReduce|busbw_min|1e+11");
    HAS(&all, "inspector|dp Send|busbw_max|2e+09");
    HAS(&all, "inspector||ranks|8");
    HAS(&all, "inspector||hosts|2");
    HAS(&all, "inspector||dropped|3");
    HAS(&all, "inspector||version|v4.0");
    inspector_free(p);
    facts_clear(&all);
    values_clear(&v);
}

/* A writer that tells no size and no losses has not told zero. */
static void test_inspector_tells_less(void **state)
{
    struct values v = {0};
    struct facts all = {0};
    struct inspector *p = inspector_new();
    (void)state;
    inspector_begin(p);
    inspector_line(p,
                   parse(&v, "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_exec_time_us\":5}}"));
    for (int i = 0; i < 4096; i++) {
        char line[96];
        snprintf(line, sizeof(line), "{\"p2p_perf\":{\"p2p\":\"Send %d\",\"p2p_exec_time_us\":5}}",
                 i);
        inspector_line(p, parse(&v, line));
    }
    assert_int_equal(inspector_records(p), 4096);
    assert_int_equal(inspector_skipped(p), 0);
    assert_int_equal(inspector_beyond(p), 1);
    assert_int_equal(inspector_facts(p, facts_add, &all, NULL), 0);
    HAS(&all, "inspector|AllReduce|count|1");
    HAS_NOT(&all, "inspector|AllReduce|bytes|");
    HAS_NOT(&all, "inspector||dropped|");
    inspector_free(p);
    facts_clear(&all);
    values_clear(&v);
}

/* Each allocation fails once: a status, no crash. */
static void test_no_memory(void **state)
{
    char bytes[8192];
    size_t size = read_data("flight/nccl_trace_rank_0", bytes, sizeof(bytes));
    (void)state;
    for (long n = 0;; n++) {
        struct values v = {0};
        struct error e = {0};
        mem_fail_after(n);
        struct flight *f = flight_new();
        const struct value *dump = f ? pickle_read(&v, bytes, size, "x", &e) : NULL;
        int status = dump ? flight_add(f, dump, 0, "x", &e) : STATUS_MEMORY;
        if (!status)
            status = flight_facts(f, facts_ignore, NULL, &e);
        mem_fail_after(-1);
        flight_free(f);
        values_clear(&v);
        assert_true(status == STATUS_OK || status == STATUS_MEMORY);
        assert_true(n < 1000);
        if (status == STATUS_OK)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_pickles),  cmocka_unit_test(test_real_json),
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_types),
        cmocka_unit_test(test_quiet),         cmocka_unit_test(test_no_dump),
        cmocka_unit_test(test_pickle_code),   cmocka_unit_test(test_pickle_bad),
        cmocka_unit_test(test_pickle_values), cmocka_unit_test(test_ras),
        cmocka_unit_test(test_inspector),     cmocka_unit_test(test_inspector_tells_less),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
