/* SPDX-License-Identifier: MIT */
/*
 * Logs of several versions, made after the grammar of NCCL's and RCCL's sources:
 *   nccl-2.8-shm          one host, no commId, no START, busId in brackets, "direct shared memory"
 *   nccl-2.14-socket      two hosts, "node: " before each line, TCP by the environment
 *   nccl-2.18-ib-host1/2  InfiniBand with GPUDirect, one file a host, sub-communicators
 *   nccl-2.21-no-verbs    a container without libibverbs; colours, "[rank0]: ", CR LF, a progress bar
 *   nccl-2.27-efa         NET plugins, channels opened later by another thread, times, tuning
 *   nccl-2.30-roce-hang   RoCE with rails, no GPUDirect, warnings, a rank that never came, a watchdog
 *   rccl-2.26-ray         RCCL behind Ray's prefixes
 */
#include "facts_of.h"

#include "import/nccl_line.h"
#include "import/nccl_log.h"

static struct facts read_logs(const char *const *names, size_t count, size_t step)
{
    struct facts all = {0};
    struct error e = {0};
    struct nccl_log *l = nccl_log_new();
    assert_non_null(l);
    for (size_t i = 0; i < count; i++) {
        char path[64], bytes[16384];
        snprintf(path, sizeof(path), "logs/%s", names[i]);
        size_t n = read_data(path, bytes, sizeof(bytes));
        nccl_log_begin(l, names[i]);
        for (size_t at = 0; at < n; at += step)
            nccl_log_feed(l, bytes + at, n - at < step ? n - at : step);
        nccl_log_end(l);
    }
    assert_int_equal(nccl_log_counts(l).unknown, 0);
    assert_int_equal(nccl_log_facts(l, facts_add, &all, &e), 0);
    nccl_log_free(l);
    return all;
}

static struct facts read_log(const char *name)
{
    return read_logs(&name, 1, 4096);
}

static void test_2_8(void **state)
{
    struct facts f = read_log("nccl-2.8-shm.log");
    (void)state;
    HAS(&f, "nccl||version|2.8.4+cuda11.1|nccl-2.8-shm.log:7");
    HAS(&f, "nccl||network|Socket");
    HAS(&f, "nccl||channels_shm|4|nccl-2.8-shm.log:21");
    HAS_NOT(&f, "nccl||channels_socket|");
    HAS_NOT(&f, "nccl||init_unfinished|");
    HAS(&f, "nccl||communicators|1");
    HAS(&f, "nccl/rank|1|host|gpu07");
    HAS(&f, "nccl/rank|1|bus|0000:0b:00.0");
    HAS(&f, "nccl/edge|0->1|transport|SHM");
    HAS(&f, "nccl/edge|0->1|channels|2");
    HAS(&f, "nccl/ring|00|order|0 1");
    HAS(&f, "nccl/host|gpu07|no_device|1");
    HAS(&f, "nccl/env|NCCL_P2P_DISABLE|value|1|nccl-2.8-shm.log:10");
    facts_clear(&f);
}

static void test_2_14(void **state)
{
    struct facts f = read_log("nccl-2.14-socket.log");
    (void)state;
    HAS(&f, "nccl||hosts|2");
    HAS(&f, "nccl||ranks|4");
    HAS(&f, "nccl||network_kind|socket");
    HAS(&f, "nccl||channels_socket|8");
    HAS(&f, "nccl||channels_p2p|4");
    HAS(&f, "nccl||peers_far|0");
    HAS(&f, "nccl/edge|1->2|transport|NET/Socket");
    HAS(&f, "nccl/edge|1->2|channels|2"); /* both ends write each */
    HAS(&f, "nccl/edge|2->3|transport|P2P/IPC");
    HAS(&f, "nccl/rank|0|nics|bond0");
    HAS(&f, "nccl/rank|3|host|trn-b");
    HAS(&f, "nccl/host|trn-a|socket_interfaces|bond0:10.2.0.4 eth1:192.168.7.4");
    facts_clear(&f);
}

static void check_ib(const struct facts *f)
{
    HAS(f, "nccl||network_kind|ib");
    HAS(f, "nccl||hosts|2");
    HAS(f, "nccl||communicators|3");
    HAS(f, "nccl||ranks|4");
    HAS(f, "nccl||ranks_seen|4");
    HAS(f, "nccl||init_unfinished|0");
    HAS(f, "nccl||channels_gdr|16");
    HAS_NOT(f, "nccl||channels_staged|");
    HAS(f, "nccl/rank|2|host|ib2");
    HAS(f, "nccl/rank|2|nics|mlx5_0 mlx5_1");
    HAS(f, "nccl/edge|1->2|transport|NET/IB");
    HAS(f, "nccl/edge|1->2|channels|4");
    HAS(f, "nccl/edge|1->2|gdr|1");
    HAS(f, "nccl/edge|0->1|channels|4"); /* not those of the sub-communicators */
    HAS(f, "nccl/host|ib1|ib_devices|2");
    HAS(f, "nccl/host|ib1|relaxed_ordering|1");
    HAS(f, "nccl/host|ib2|path_net|PIX");
    HAS(f, "nccl/comm|0x4d3fa1b2c3d4e5f6|ranks|4");
}

/* The facts do not depend on where a read ends. */
static void test_2_18(void **state)
{
    static const char *const names[] = {"nccl-2.18-ib-host1.log", "nccl-2.18-ib-host2.log"};
    static const size_t steps[] = {1, 7, 4096, 100000};
    struct facts first = {0};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct facts f = read_logs(names, 2, steps[i]);
        check_ib(&f);
        if (i)
            assert_int_equal(f.count, first.count);
        for (size_t k = 0; k < first.count; k++)
            assert_string_equal(f.lines[k], first.lines[k]);
        if (i) {
            facts_clear(&f);
        } else {
            first = f;
        }
    }
    facts_clear(&first);
}

static void test_2_21(void **state)
{
    struct facts f = read_log("nccl-2.21-no-verbs.log");
    (void)state;
    HAS(&f, "nccl||version|2.21.5+cuda12.4");
    HAS(&f, "nccl||nodes|2");
    HAS(&f, "nccl/host|worker-0|verbs_missing|1|nccl-2.21-no-verbs.log:5");
    HAS(&f, "nccl/host|worker-1|network|Socket"); /* the pods' pids are equal */
    HAS(&f, "nccl/rank|1|host|worker-1");
    HAS(&f, "nccl||channels_socket|8|nccl-2.21-no-verbs.log:14");
    HAS(&f, "nccl/rank|0|bus|0000:00:1e.0");
    facts_clear(&f);
}

static void test_2_27(void **state)
{
    struct facts f = read_log("nccl-2.27-efa.log");
    (void)state;
    HAS(&f, "nccl/host|ip-172-31-0-10|plugin_missing|1");
    HAS(&f, "nccl/host|ip-172-31-0-10|ib_failed|1");
    HAS(&f, "nccl/host|ip-172-31-0-10|ib_devices|0"); /* "Using" with an empty list */
    HAS(&f, "nccl/rank|2|init_seconds|3.25");
    HAS(&f, "nccl/edge|0->1|transport|P2P/CUMEM"); /* by a thread that no Init line names */
    HAS(&f, "nccl/edge|3->0|transport|NET/Socket");
    HAS(&f, "nccl/coll|AllReduce|count|4");
    HAS(&f, "nccl/coll|AllReduce|bytes|16777216");
    HAS(&f, "nccl/coll|AllReduce|algo|RING/SIMPLE");
    facts_clear(&f);
}

static void test_2_30(void **state)
{
    struct facts f = read_log("nccl-2.30-roce-hang.log");
    (void)state;
    HAS(&f, "nccl||network_kind|roce");
    HAS(&f, "nccl||init_unfinished|3");
    HAS(&f, "nccl||ranks_absent|3");
    HAS(&f, "nccl||channels_staged|4");
    HAS(&f, "nccl||peers_far|2");
    HAS(&f, "nccl/edge|0->1|gdr|0");
    HAS(&f, "nccl/edge|0->1|pxn|1");
    HAS(&f, "nccl/host|roce-1|path_net|SYS");
    HAS(&f, "nccl/host|roce-1|gdr_disabled|1");
    HAS(&f, "nccl/host|roce-1|devices|mlx5_0:1:0:0/RoCE mlx5_1:1:1:0/RoCE");
    HAS(&f, "nccl/env|NCCL_IB_GID_INDEX|differs|1");
    HAS(&f, "nccl/warning|retry-exceeded|count|1");
    HAS(&f, "nccl/warning|connection|count|1");
    HAS(&f, "nccl/timeout|1|sequence|42|nccl-2.30-roce-hang.log:44");
    HAS(&f, "nccl/timeout|1|operation|ALLREDUCE");
    HAS(&f, "nccl/timeout|1|seconds|1800.012");
    HAS(&f, "nccl||warnings|3");
    facts_clear(&f);
}

static void test_rccl(void **state)
{
    struct facts f = read_log("rccl-2.26-ray.log");
    (void)state;
    HAS(&f, "nccl||library|RCCL");
    HAS(&f, "nccl||version|2.26.6-HEAD:f224e2c");
    HAS(&f, "nccl||channels_p2p|8");
    HAS(&f, "nccl/edge|0->1|transport|P2P/IPC");
    HAS(&f, "nccl/warning|numa-balancing|count|2");
    HAS(&f, "nccl/rank|1|bus|0000:15:00.0");
    facts_clear(&f);
}

/* ---- lines ---- */

static struct nccl_line one(const char *text)
{
    static char clean[NCCL_LINE_MAX + 1];
    struct nccl_line l;
    const char *at = clean;
    nccl_line_clean(clean, text, strlen(text));
    assert_true(nccl_line_next(&at, &l));
    return l;
}

static void test_interleaved(void **state)
{
    struct facts f = {0};
    struct nccl_log *l = nccl_log_new();
    static const char text[] =
        "node1:17:17 [0] NCCL INFO Using network IB\n"
        "node2:18:18 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0node1:17:17 [0] "
        "NCCL "
        "INFO Connected all rings\n"
        "node1:17:17 [0] NCCL INFO Using network Socket"; /* no newline at the end */
    (void)state;
    nccl_log_begin(l, "x");
    nccl_log_feed(l, text, strlen(text));
    nccl_log_end(l);
    nccl_log_facts(l, facts_add, &f, NULL);
    HAS(&f, "nccl||hosts|2");
    HAS(&f, "nccl||processes|2");
    HAS(&f, "nccl/host|node2|channels_staged|1");
    HAS(&f, "nccl/host|node1|network|IB, Socket");
    HAS(&f, "nccl||networks|2");
    nccl_log_free(l);
    facts_clear(&f);
}

static void test_prefixes(void **state)
{
    (void)state;
    struct nccl_line l =
        one("(WorkerDict pid=91, ip=10.0.0.2) [rank3]: a-b_c.dom.ain:12:3456 [-1] NCCL INFO "
            "Using network Socket");
    assert_string_equal(l.host, "a-b_c");
    assert_int_equal(l.pid, 12);
    assert_int_equal(l.tid, 3456);
    assert_int_equal(l.device, -1);
    assert_int_equal(l.kind, NCCL_NETWORK);
    assert_string_equal(l.name, "Socket");
    l = one("h:1:2 [3] transport/net_ib.cc:99 (ncclIbTest) NCCL WARN Call to ibv_reg_mr failed "
            "with error "
            "Cannot allocate memory");
    assert_string_equal(l.word, "memlock");
    assert_true(l.warn);
    assert_int_equal(l.device, 3);
    l = one("NCCL INFO Using network IBext_v8"); /* the prefix was cut away */
    assert_false(l.prefixed);
    assert_string_equal(l.name, "IBext_v8");
    l = one("h:1:2 [0] NCCL WARN something that nobody knows");
    assert_string_equal(l.word, "other");
    l = one("h:1:2 [0] NCCL INFO something that nobody knows");
    assert_int_equal(l.kind, NCCL_UNKNOWN);
}

static void test_shapes(void **state)
{
    (void)state;
    struct nccl_line l = one("h:1:2 [0] NCCL INFO Channel 15/1 : 7[7] -> 8[0] [send] via "
                             "NET/AWS Libfabric/5(3)/GDRDMA/Shared");
    assert_int_equal(l.channel, 15);
    assert_int_equal(l.from, 7);
    assert_int_equal(l.to, 8);
    assert_true(l.send && l.gdr);
    l = one("h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer");
    assert_string_equal(l.name, "P2P/direct");
    l = one("h:1:2 [0] NCCL INFO 2097152 Bytes -> Algo 1 proto 2 time 120.5");
    assert_string_equal(l.value, "RING/SIMPLE");
    l = one("h:1:2 [0] NCCL INFO NCCL_IB_HCA set to mlx5_0,mlx5_1");
    assert_int_equal(l.kind, NCCL_ENV);
    assert_string_equal(l.value, "mlx5_0,mlx5_1");
    l = one("h:1:2 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; "
            "OOB e:1.2.3.4<0>");
    assert_int_equal(l.count2, 2);
    assert_int_equal(l.count3, 1);
    assert_true(l.on);
    l = one("h:1:2 [0] NCCL INFO comm 0x1 rank 9 nranks 4 cudaDev 0 busId 1 - Init COMPLETE");
    assert_int_equal(l.kind, NCCL_UNKNOWN); /* no such rank */
}

static void test_like(void **state)
{
    (void)state;
    assert_true(nccl_line_like("abc", "a*c"));
    assert_true(nccl_line_like("abc", "*"));
    assert_true(nccl_line_like("", "*"));
    assert_true(nccl_line_like("aXbXc", "a*X*c"));
    assert_true(nccl_line_like("RCCL_X", "?CCL_*"));
    assert_false(nccl_line_like("abc", "a*d"));
    assert_false(nccl_line_like("", "?"));
}

/* What is no log, or is cut in the middle of an escape, costs nothing but its line. */
static void test_bad(void **state)
{
    struct facts f = {0};
    struct nccl_log *l = nccl_log_new();
    static char longest[40000];
    static const char text[] =
        "\x1b[31\n\x1b\n\x1b]\nNCCL INFO \n[0] NCCL INFO x\n:1:2 [0] NCCL INFO Channel 00\n"
        "h:1:2 [0] NCCL INFO Channel 00/0 : 99999999999[0] -> -1[0] via P2P/IPC\n"
        "h:99999999999999:2 [0] NCCL INFO Using network IB\n"
        "h:1:2 [0] NCCL INFO NET/IB : Using [\nh:1:2 [0] NCCL INFO Bootstrap: Using \n"
        "h:1:2 [0] NCCL INFO NCCL_X set to \nNCCL version \nNCCL version 2.\n\xff\xfe\x01\n";
    (void)state;
    memset(longest, 'x', sizeof(longest));
    nccl_log_begin(l, "x");
    nccl_log_feed(l, text, sizeof(text) - 1);
    nccl_log_feed(l, longest, sizeof(longest));
    nccl_log_feed(l, "\n", 1);
    nccl_log_end(l);
    assert_int_equal(nccl_log_counts(l).cut, 1);
    assert_int_equal(nccl_log_facts(l, facts_add, &f, NULL), 0);
    HAS_NOT(&f, "nccl/edge|");
    assert_false(nccl_log_is("Using network IB", 16));
    assert_false(nccl_log_is("", 0));
    nccl_log_free(l);
    facts_clear(&f);
}

/* Each allocation fails once: a status, no crash; all later facts would lack something, so none are told as whole. */
static void test_no_memory(void **state)
{
    static const char text[] =
        "NCCL version 2.18.5+cuda12.2\nh:1:2 [0] NCCL INFO NCCL_X set by environment to 1.\n"
        "h:1:2 [0] NCCL INFO Using network IB\n"
        "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x5 - Init "
        "START\n"
        "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\nh:1:2 [0] NCCL WARN "
        "x\n";
    (void)state;
    for (long n = 0;; n++) {
        struct error e = {0};
        mem_fail_after(n);
        struct nccl_log *l = nccl_log_new();
        int status = l ? STATUS_OK : STATUS_MEMORY;
        if (l) {
            nccl_log_begin(l, "x");
            nccl_log_feed(l, text, sizeof(text) - 1);
            nccl_log_end(l);
            status = nccl_log_facts(l, facts_ignore, NULL, &e);
        }
        mem_fail_after(-1);
        nccl_log_free(l);
        assert_true(status == STATUS_OK || status == STATUS_MEMORY);
        assert_true(n < 1000);
        if (status == STATUS_OK)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_2_8),       cmocka_unit_test(test_2_14),
        cmocka_unit_test(test_2_18),      cmocka_unit_test(test_2_21),
        cmocka_unit_test(test_2_27),      cmocka_unit_test(test_2_30),
        cmocka_unit_test(test_rccl),      cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_prefixes),  cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_like),      cmocka_unit_test(test_bad),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
