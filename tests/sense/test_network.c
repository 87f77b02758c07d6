/* SPDX-License-Identifier: MIT */
/* What network and PCIe texts and bytes mean: pure parts, and sockets of this process. */
#include "base/unit.h"
#include "bag.h"
#include "sense/library_name.h"
#include "sense/pci_config.h"
#include "sense/pci_path.h"
#include "sense/source.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void test_config_capabilities(void **state)
{
    uint8_t b[4096] = {0};
    struct pci_config c;
    b[0x06] = 0x10; /* has capabilities */
    b[0x34] = 0x40; /* first: power management, then PCI Express */
    b[0x40] = 0x01, b[0x41] = 0x60;
    b[0x60] = 0x10, b[0x68] = 0x10;                    /* relaxed ordering */
    b[0x100] = 0x01, b[0x102] = 0x02, b[0x103] = 0x15; /* advanced errors, next 0x150 */
    b[0x150] = 0x0d, b[0x152] = 0x01, b[0x153] = 0x16,
    b[0x156] = 0x1d;                                   /* access control, next 0x160 */
    b[0x160] = 0x0f, b[0x162] = 0x01, b[0x167] = 0x80; /* address translation, on */
    pci_config_parse(b, sizeof(b), &c);
    assert_int_equal(c.acs,
                     PCI_ACS_SRC_VALID | PCI_ACS_REQ_REDIRECT | PCI_ACS_CMPLT_REDIRECT | 0x10);
    assert_int_equal(c.ats, 1);
    assert_int_equal(c.relaxed_ordering, 1);
    pci_config_parse(b, 64, &c); /* what a user without privileges sees */
    assert_true(c.acs == -1 && c.ats == -1 && c.relaxed_ordering == -1);
}

static void test_config_hostile(void **state)
{
    uint8_t b[4096];
    struct pci_config c;
    for (unsigned fill = 0; fill < 256; fill++)
        for (size_t n = 0; n < sizeof(b); n = n * 2 + 1) {
            memset(b, (int)fill, sizeof(b));
            pci_config_parse(b, n, &c);
        }
    memset(b, 0, sizeof(b));
    b[0x06] = 0x10, b[0x34] = 0x40, b[0x40] = 0x05, b[0x41] = 0x40; /* a list that loops */
    b[0x100] = 0x01, b[0x102] = 0x01, b[0x103] = 0x10;
    pci_config_parse(b, sizeof(b), &c);
    assert_true(c.acs == -1 && c.ats == -1);
}

static void test_link_rates(void **state)
{
    assert_int_equal(pci_generation("32.0 GT/s PCIe"), 5);
    assert_int_equal(pci_generation("2.5 GT/s PCIe"), 1);
    assert_int_equal(pci_generation("Unknown"), 0);
    assert_int_equal(pci_generation(""), 0);
    assert_true(fabs(pci_rate(5, 16) - 63.0e9) < 0.1e9);
    assert_true(fabs(pci_rate(4, 4) - 7.877e9) < 0.01e9);
    assert_true(isnan(pci_rate(0, 16)) && isnan(pci_rate(9, 16)) && isnan(pci_rate(3, 0)));
}

#define ROOT "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0"

static enum pci_distance distance(const char *a, int na, const char *b, int nb)
{
    struct pci_path p, q;
    assert_true(pci_path_parse(a, &p));
    assert_true(pci_path_parse(b, &q));
    assert_int_equal(pci_distance(&p, na, &q, nb), pci_distance(&q, nb, &p, na));
    return pci_distance(&p, na, &q, nb);
}

static void test_distances(void **state)
{
    const char *gpu = ROOT "/0000:17:00.0/0000:18:00.0";
    assert_int_equal(distance(gpu, 0, ROOT "/0000:17:01.0/0000:19:00.0", 0), PCI_PIX);
    assert_int_equal(
        distance(gpu, 0, ROOT "/0000:17:02.0/0000:1a:00.0/0000:1b:00.0/0000:1c:00.0", 0), PCI_PXB);
    assert_int_equal(distance(gpu, 0, "../../../devices/pci0000:15/0000:15:03.0/0000:20:00.0", 0),
                     PCI_PHB);
    assert_int_equal(distance(gpu, 0, "../../../devices/pci0000:97/0000:97:01.0/0000:98:00.0", 0),
                     PCI_NODE);
    assert_int_equal(distance(gpu, 0, "../../../devices/pci0000:97/0000:97:01.0/0000:98:00.0", 1),
                     PCI_SYS);
    assert_int_equal(distance(gpu, -1, "../../../devices/pci0000:97/0000:97:01.0/0000:98:00.0", -1),
                     PCI_SYS);
}

static void test_paths(void **state)
{
    struct pci_path p;
    assert_true(pci_path_parse(ROOT "/0000:17:00.0/0000:18:00.0", &p));
    assert_string_equal(p.host, "pci0000:15");
    assert_string_equal(pci_path_parent(&p), "0000:17:00.0");
    /* Hyper-V: a tree of its own behind a device of the virtual bus */
    assert_true(pci_path_parse("../../../devices/LNXSYSTM:00/ACPI0004:00/VMBUS:00/47505500-0001/"
                               "pci0001:00/0001:00:00.0",
                               &p));
    assert_string_equal(pci_path_parent(&p), "");
    assert_false(pci_path_parse("", &p));
    assert_false(pci_path_parse("/////../../x", &p));
    char deep[1024] = "pci0000:00";
    for (int i = 0; i < 40; i++)
        strcat(deep, "/0000:01:00.0");
    assert_false(pci_path_parse(deep, &p));
    assert_true(pci_is_address("0000:c8:00.0") && pci_is_address("10000:c8:00.7"));
    assert_false(pci_is_address("0000:c8:00") || pci_is_address("0000:c8:00.8") ||
                 pci_is_address("virtio0") || pci_is_address("0000:c8:00.0x"));
}

static void test_libraries(void **state)
{
    char v[32];
    assert_int_equal(library_of_path("/usr/lib/libnccl.so.2"), LIBRARY_NCCL);
    assert_int_equal(library_of_path("/x/libnccl-net-ofi.so"), LIBRARY_NET_PLUGIN);
    assert_int_equal(library_of_path("/x/libnccl-net.so.0"), LIBRARY_NET_PLUGIN);
    assert_int_equal(library_of_path("/x/libnccl-profiler.so"), LIBRARY_NONE);
    assert_int_equal(library_of_path("/opt/rocm/lib/librccl.so.1.0"), LIBRARY_RCCL);
    assert_int_equal(library_of_path("/usr/lib/libibverbs/libmlx5-rdmav34.so"), LIBRARY_MLX5);
    assert_int_equal(library_of_path("libc.so.6"), LIBRARY_NONE);
    assert_true(library_version("/usr/lib/libnccl.so.2.21.5", v, sizeof(v)));
    assert_string_equal(v, "2.21.5");
    assert_false(library_version("/usr/lib/libnccl.so.2", v, sizeof(v)));
    assert_false(library_version("/usr/lib/libnccl.so", v, sizeof(v)));
    assert_false(library_version("/usr/lib/libnccl.so.2.x", v, sizeof(v)));
    assert_string_equal(library_plugin("/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so"),
                        "rdma-sharp");
    assert_string_equal(library_plugin("/opt/amazon/ofi-nccl/lib/libnccl-net.so"), "aws-ofi");
    assert_string_equal(library_plugin("/usr/local/gib/lib64/libnccl-net.so"), "gib");
    assert_string_equal(library_plugin("/opt/profiling/libnccl-net.so"), "libnccl-net.so");
    for (enum library l = 0; l < LIBRARIES; l++)
        assert_true(strlen(library_word(l)) > 1);
}

/* A connection within the host is told of as what it is: nothing to other hosts. */
static void test_own_sockets(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(a);
    struct source_opts o = {.pid = (uint32_t)getpid()};
    struct bag b = {.fail_after = -1};
    struct error e = {0};
    char bytes[65536] = {0};
    void *tcp;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (void *)&a, sizeof(a)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (void *)&a, &size), 0);
    assert_int_equal(connect(out, (void *)&a, sizeof(a)), 0);
    int in = accept(listener, NULL, NULL);
    if (source_job_tcp.start(&tcp, &o, 0, &e)) {
        print_message("left out: %s\n", e.text); /* a sandbox without sock_diag */
        skip();
    }
    assert_int_equal(write(out, bytes, sizeof(bytes)), sizeof(bytes));
    assert_int_equal(source_job_tcp.facts(tcp, NS_PER_S, bag_add, &b), 0);
    assert_true(bag_number(&b, "job", "", "tcp_bytes_rise") == 0);
    assert_true(bag_number(&b, "job", "", "tcp_peers") == 0);
    source_job_tcp.stop(tcp);
    o.root = "/no/such";
    assert_int_equal(source_job_tcp.start(&tcp, &o, 0, &e), STATUS_MISSING);
    bag_clear(&b);
    close(in);
    close(out);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_capabilities),
        cmocka_unit_test(test_config_hostile),
        cmocka_unit_test(test_link_rates),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_own_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
