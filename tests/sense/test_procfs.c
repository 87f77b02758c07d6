/* SPDX-License-Identifier: MIT */
/* Texts of /proc, as kernels write them and as nobody ever should. */
#include "sense/procfs.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_stat(void **state)
{
    struct procfs_stat s;
    assert_true(procfs_parse_stat("4711 (pt) main (x) D 12 4711 1 0 -1 4194560 5 0 77 0 30 40 0 0 "
                                  "20 0 9 0 12345 1 1 18446744073709551615\n",
                                  &s));
    assert_string_equal(s.comm, "pt) main (x");
    assert_int_equal(s.state, 'D');
    assert_int_equal(s.ppid, 12);
    assert_int_equal(s.major_faults, 77);
    assert_int_equal(s.user_ticks, 30);
    assert_int_equal(s.system_ticks, 40);
    assert_int_equal(s.threads, 9);
    assert_int_equal(s.start_ticks, 12345);
    /* A comm of more than 15 bytes is cut, not overrun. */
    assert_true(procfs_parse_stat("1 (abcdefghijklmnopqrstuvwxyz) S 1 1 1 0 -1 1 1 1 1 1 1 1 1 1 1 "
                                  "1 1 1 1",
                                  &s));
    assert_string_equal(s.comm, "abcdefghijklmno");
    assert_false(procfs_parse_stat("", &s));
    assert_false(procfs_parse_stat("1 )x( S 1", &s));
    assert_false(procfs_parse_stat("1 (x) S 1 2 3", &s));
}

static void test_schedstat(void **state)
{
    struct procfs_schedstat s;
    assert_true(procfs_parse_schedstat("19706343 9889930 70\n", &s));
    assert_true(s.run_ns == 19706343 && s.wait_ns == 9889930 && s.switches == 70);
    assert_false(procfs_parse_schedstat("1 2", &s));
    assert_false(procfs_parse_schedstat("-1 2 3", &s));
}

static void test_syscall(void **state)
{
    struct procfs_syscall s;
    assert_true(procfs_parse_syscall("running\n", &s));
    assert_int_equal(s.nr, PROCFS_RUNNING);
    assert_true(procfs_parse_syscall("-1 0x7ffe 0x5566\n", &s));
    assert_int_equal(s.nr, PROCFS_OUTSIDE);
    assert_true(
        procfs_parse_syscall("230 0x0 0x1 0x7fff994e20e0 0xffffffffffffffff 0x0 0x9 0x1 0x2", &s));
    assert_int_equal(s.nr, 230);
    assert_true(s.args[2] == 0x7fff994e20e0 && s.args[3] == UINT64_MAX && s.args[5] == 9);
    assert_false(procfs_parse_syscall("230 0x0 0x1", &s));
    assert_false(procfs_parse_syscall("-2", &s));
    assert_false(procfs_parse_syscall("99999999999 0 0 0 0 0 0", &s));
}

static void test_status(void **state)
{
    struct procfs_status st = {7, 7};
    (void)state;
    assert_true(procfs_parse_status("Name:\tpt_data_worker\nUmask:\t0022\nState:\tR (running)\n"
                                    "Tgid:\t4711\nNgid:\t0\nPid:\t4713\nPPid:\t42\n",
                                    &st));
    assert_int_equal(st.tgid, 4711);
    assert_int_equal(st.ppid, 42);
    assert_false(procfs_parse_status("Name:\tx\nTgid:\t1\n", &st));
    assert_int_equal(st.tgid, 4711);
}

static void test_writes(void **state)
{
    uint64_t n, bytes;
    assert_true(procfs_parse_writes("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 44\nread_bytes: 0\n"
                                    "write_bytes: 8192\ncancelled_write_bytes: 5\n",
                                    &n, &bytes));
    assert_int_equal(n, 44);
    assert_int_equal(bytes, 8192);
    assert_false(procfs_parse_writes("syscw:", &n, &bytes));
    assert_true(procfs_parse_writes("syscw: 1\ncancelled_write_bytes: 5\n", &n, &bytes));
    assert_int_equal(bytes, 0);
}

static void test_tcp(void **state)
{
    struct procfs_tcp t;
    char text[64];
    assert_true(
        procfs_parse_tcp("   3: 0100007F:9C40 0400000A:01BB 01 00001F40:00000000 01:00000014 "
                         "00000000  1000        0 143127 4 0000000000000000 20 4 31 10 -1\n",
                         &t));
    inet_ntop(AF_INET6, t.local, text, sizeof(text));
    assert_string_equal(text, "::ffff:127.0.0.1");
    inet_ntop(AF_INET6, t.peer, text, sizeof(text));
    assert_string_equal(text, "::ffff:10.0.0.4");
    assert_true(t.local_port == 0x9c40 && t.peer_port == 443 && t.unsent == 8000);
    assert_int_equal(t.inode, 143127);
    assert_true(procfs_parse_tcp("   0: B80D01200000000067452301EFCDAB89:0050 "
                                 "00000000000000000000000001000000:0016 01 00000000:00000000 "
                                 "00:00000000 00000000     0        0 9 1 0 20",
                                 &t));
    inet_ntop(AF_INET6, t.local, text, sizeof(text));
    assert_string_equal(text, "2001:db8::123:4567:89ab:cdef");
    inet_ntop(AF_INET6, t.peer, text, sizeof(text));
    assert_string_equal(text, "::1");
    assert_false(procfs_parse_tcp("  sl  local_address rem_address   st tx_queue rx_queue", &t));
    assert_false(procfs_parse_tcp("   0: 0100007F:9C40", &t));
    assert_false(procfs_parse_tcp("   0: 0100007:9C40 0400000A:01BB 01 0:0 0:0 0 0 0 1", &t));
}

static void test_link(void **state)
{
    uint64_t inode = 0;
    assert_int_equal(procfs_parse_link("/data/x", &inode), PROCFS_LINK_FILE);
    assert_int_equal(procfs_parse_link("pipe:[143127]", &inode), PROCFS_LINK_PIPE);
    assert_int_equal(inode, 143127);
    assert_int_equal(procfs_parse_link("socket:[9]", &inode), PROCFS_LINK_SOCKET);
    assert_int_equal(inode, 9);
    assert_int_equal(procfs_parse_link("anon_inode:[eventfd]", &inode), PROCFS_LINK_EVENTFD);
    assert_int_equal(procfs_parse_link("anon_inode:[eventpoll]", &inode), PROCFS_LINK_EPOLL);
    assert_int_equal(procfs_parse_link("anon_inode:inotify", &inode), PROCFS_LINK_INOTIFY);
    assert_int_equal(procfs_parse_link("anon_inode:[new]", &inode), PROCFS_LINK_OTHER);
    assert_int_equal(procfs_parse_link("pipe:[x]", &inode), PROCFS_LINK_OTHER);
    assert_int_equal(procfs_parse_link("pipe:[1", &inode), PROCFS_LINK_OTHER);
    assert_int_equal(procfs_parse_link("", &inode), PROCFS_LINK_OTHER);
}

static void test_map(void **state)
{
    struct procfs_map m;
    assert_true(
        procfs_parse_map("7f10c0000000-7f10c0021000 r-xp 00001000 fe:01 1234   /a b/x.so", &m));
    assert_true(m.executable && !m.shared && m.bytes == 0x21000 && m.inode == 1234);
    assert_string_equal(m.path, "/a b/x.so");
    assert_true(procfs_parse_map("1000-2000 rw-s 00000000 00:0e 5 /dev/nvidia0", &m));
    assert_true(m.shared && !m.executable);
    assert_true(procfs_parse_map("1000-2000 rw-p 00000000 00:00 0", &m));
    assert_string_equal(m.path, "");
    assert_false(procfs_parse_map("2000-1000 rw-p 00000000 00:00 0", &m));
    assert_false(procfs_parse_map("1000-2000 rw", &m));
    assert_false(procfs_parse_map("", &m));
}

/* Any bytes: no crash, no read past the end (the sanitizer builds watch), sane results. */
static void test_garbage(void **state)
{
    static const char *const seeds[] = {
        "1 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21",
        "   3: 0100007F:9C40 0400000A:01BB 01 00001F40:00000000 01:00000014 00000000 1000 0 143127 "
        "4",
        "230 0x0 0x1 0x2 0x3 0x4 0x5 0x6",
        "7f10-7f20 r-xp 00001000 fe:01 1234   /x",
        "pipe:[12]",
        "syscw: 12",
        "1 2 3",
    };
    srand(11);
    for (int round = 0; round < 50000; round++) {
        const char *seed = seeds[round % 7];
        size_t n = strlen(seed);
        char *text = malloc(n + 1); /* exactly: reads past it are found */
        memcpy(text, seed, n + 1);
        for (int k = rand() % 4; k >= 0; k--)
            text[(size_t)rand() % n] = (char)(rand() % 3 ? ' ' + rand() % 95 : rand() % 256);
        if (rand() % 4 == 0)
            text[(size_t)rand() % n] = '\0';
        struct procfs_stat s;
        struct procfs_schedstat c;
        struct procfs_syscall y;
        struct procfs_tcp t;
        struct procfs_map m;
        uint64_t v = 0;
        if (procfs_parse_stat(text, &s))
            assert_true(memchr(s.comm, '\0', sizeof(s.comm)) != NULL);
        if (procfs_parse_syscall(text, &y))
            assert_true(y.nr >= PROCFS_RUNNING);
        if (procfs_parse_map(text, &m))
            assert_true(m.path >= text && m.path <= text + strlen(text));
        procfs_parse_schedstat(text, &c);
        procfs_parse_tcp(text, &t);
        procfs_parse_writes(text, &v, &v);
        procfs_parse_link(text, &v);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat),    cmocka_unit_test(test_schedstat),
        cmocka_unit_test(test_syscall), cmocka_unit_test(test_writes),
        cmocka_unit_test(test_status),  cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_link),    cmocka_unit_test(test_map),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
