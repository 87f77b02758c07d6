/* SPDX-License-Identifier: MIT */
#include "base/anonymous.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void becomes(struct anonymous *a, const char *text, const char *want)
{
    struct str out = {0};
    anonymous_add(a, &out, text);
    assert_string_equal(str_text(&out), want);
    str_clear(&out);
}

static void test_addresses(void **state)
{
    struct anonymous a = {0};
    becomes(&a, "10.0.0.4:/data 10.0.0.5 10.0.0.4", "198.18.0.1:/data 198.18.0.2 198.18.0.1");
    becomes(&a, "127.0.0.1 0.0.0.0 255.255.255.0", "127.0.0.1 0.0.0.0 255.255.255.0");
    becomes(&a, "00:15:5d:01:02:03", "02:00:00:00:00:01");
    becomes(&a, "fe80:0000:0000:0000:0015:5dff:fe33:ff01",
            "fe80:0000:0000:0000:0200:0000:0000:0002");
    becomes(&a, "0000:0000:0000:0000:0000:ffff:0a00:0004",
            "0000:0000:0000:0000:0000:ffff:c612:0003");
    becomes(&a, "0000:0000:0000:0000:0000:0000:0000:0000",
            "0000:0000:0000:0000:0000:0000:0000:0000");
    becomes(&a, "b83f:d203:0012:3456", "0200:0000:0000:0004");
    anonymous_clear(&a);
}

/* What looks a little like an address and is none. */
static void test_what_stays(void **state)
{
    static const char *const same[] = {
        "/sys/bus/pci/devices/0000:c8:00.0",
        "5.15.0-1073-azure",
        "535.183.01",
        "28.39.1002",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "259:0",
        "0-3,8,10-11",
        "12:30:45",
        "cpu0 1 2 3",
        "00000001:00:00.0",
        "v1.2.3.4x",
        "/homes/x",
        "GPU-",
        "",
        "10.0.0",
        "0x8001",
    };
    struct anonymous a = {.host = "c"}; /* too short for a name */
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        becomes(&a, same[i], same[i]);
    anonymous_clear(&a);
}

static void test_names(void **state)
{
    struct anonymous a = {.host = "node17"};
    becomes(&a, "/home/alice/x /home/bob /home/alice", "/home/user1/x /home/user2 /home/user1");
    becomes(&a, "/proc/7/root/home/bob/.nccl.conf", "/proc/7/root/home/user2/.nccl.conf");
    becomes(&a, "node17 node170 xnode17 node17.corp", "host node170 xnode17 host.corp");
    becomes(&a, "GPU-5c1f0a2b-1111-2222-3333-444455556666 x",
            "GPU-00000001-0000-0000-0000-000000000000 x");
    anonymous_clear(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
                                       cmocka_unit_test(test_what_stays),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
