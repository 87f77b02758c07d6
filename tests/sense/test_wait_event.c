/* SPDX-License-Identifier: MIT */
/* From kernel records to waits, and the table of threads, with made-up records. */
#include "base/mem.h"
#include "sense/elf_symbol.h"
#include "sense/fs_name.h"
#include "sense/wait_event.h"
#include "sense/wait_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct made {
    struct intern names;
    struct resources *r;
    struct map daemons;
};

static void made_open(struct made *m)
{
    struct resource_opts o = {.root = "/nonexistent", .names = &m->names};
    *m = (struct made){0};
    o.names = &m->names;
    assert_int_equal(resources_new(&m->r, &o, NULL), STATUS_OK);
}

static void made_close(struct made *m)
{
    resources_free(m->r);
    map_clear(&m->daemons);
    intern_clear(&m->names);
}

static struct bpf_off off(long nr, uint32_t file_kind)
{
    return (struct bpf_off){.kind = BPF_OFFCORE,
                            .t_out = 100,
                            .t_wake = 200,
                            .t_in = 250,
                            .tid = 5,
                            .tgid = 4,
                            .waker_tid = 9,
                            .waker_tgid = 8,
                            .syscall = (s32)nr,
                            .file_kind = file_kind,
                            .ino = 77};
}

static struct event_wait fill(struct made *m, const struct bpf_off *o)
{
    struct event_wait w;
    wait_event_fill(&w, o, m->r, &m->daemons);
    return w;
}

static void test_targets(void **state)
{
    static const struct {
        long nr;
        uint32_t file;
        enum target want;
    } rows[] = {
        {SYS_read, BPF_FILE_REGULAR, TARGET_FILE},
        {SYS_pread64, BPF_FILE_REGULAR, TARGET_FILE},
        {SYS_read, BPF_FILE_PIPE, TARGET_PIPE},
        {SYS_read, BPF_FILE_EVENTFD, TARGET_PIPE},
        {SYS_read, BPF_FILE_TIMERFD, TARGET_SLEEP},
        {SYS_read, BPF_FILE_TCP, TARGET_SOCKET},
        {SYS_recvmsg, BPF_FILE_UNIX, TARGET_PIPE},
        {SYS_recvfrom, BPF_FILE_UDP, TARGET_SOCKET},
        {SYS_read, BPF_FILE_NONE, TARGET_UNKNOWN},
        {SYS_write, BPF_FILE_REGULAR, TARGET_WRITE},
        {SYS_write, BPF_FILE_PIPE, TARGET_PIPE},
        {SYS_sendto, BPF_FILE_TCP, TARGET_SOCKET},
        {SYS_connect, BPF_FILE_TCP, TARGET_SOCKET},
        {SYS_fsync, BPF_FILE_REGULAR, TARGET_WRITE},
        {SYS_sync, BPF_FILE_NONE, TARGET_WRITE},
        {SYS_renameat2, BPF_FILE_REGULAR, TARGET_WRITE},
        {SYS_openat, BPF_FILE_REGULAR, TARGET_FILE},
        {SYS_newfstatat, BPF_FILE_NONE, TARGET_FILE},
        {SYS_getdents64, BPF_FILE_REGULAR, TARGET_FILE},
        {SYS_ppoll, BPF_FILE_TCP, TARGET_SOCKET},
        {SYS_ppoll, BPF_FILE_PIPE, TARGET_PIPE},
        {SYS_ppoll, BPF_FILE_NONE, TARGET_PIPE},
        {SYS_epoll_pwait, BPF_FILE_EPOLL, TARGET_POLL},
        {SYS_futex, BPF_FILE_NONE, TARGET_FUTEX},
        {SYS_clock_nanosleep, BPF_FILE_NONE, TARGET_SLEEP},
        {SYS_rt_sigsuspend, BPF_FILE_NONE, TARGET_PIPE}, /* thread 9 sent it */
        {SYS_rt_sigtimedwait, BPF_FILE_NONE, TARGET_PIPE},
        {SYS_wait4, BPF_FILE_NONE, TARGET_CHILD},
        {SYS_flock, BPF_FILE_REGULAR, TARGET_FUTEX},
        {SYS_msgrcv, BPF_FILE_NONE, TARGET_PIPE},
        {SYS_munmap, BPF_FILE_NONE, TARGET_MEMORY},
        {SYS_io_uring_enter, BPF_FILE_NONE, TARGET_UNKNOWN},
        {100000, BPF_FILE_NONE, TARGET_UNKNOWN},
        {-5, BPF_FILE_NONE, TARGET_UNKNOWN},
    };
    struct made m;
    made_open(&m);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bpf_off o = off(rows[i].nr, rows[i].file);
        struct event_wait w = fill(&m, &o);
        if (w.target != rows[i].want)
            fail_msg("row %zu: target %d, wanted %d", i, w.target, rows[i].want);
        assert_int_equal(w.waker_tid, 9);
        assert_int_equal(w.t_wake, 200);
    }
    made_close(&m);
}

/* A timer's signal, or a time-out, is sleep. */
static void test_nobody_s_signal(void **state)
{
    static const long calls[] = {SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_ppoll};
    struct made m;
    made_open(&m);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct bpf_off o = off(calls[i], BPF_FILE_NONE);
        o.flags = BPF_OFF_WAKE_IRQ;
        assert_int_equal(fill(&m, &o).target, TARGET_SLEEP);
        o.flags = 0;
        o.waker_tid = o.waker_tgid = 0;
        assert_int_equal(fill(&m, &o).target, TARGET_SLEEP);
    }
    made_close(&m);
}

/* The kernel counts every wait for io_uring as one for a disk. */
static void test_io_uring(void **state)
{
    struct made m;
    made_open(&m);
    struct bpf_off o = off(SYS_recvfrom, BPF_FILE_TCP);
    o.flags = BPF_OFF_IOWAIT | BPF_OFF_URING;
    struct event_wait w = fill(&m, &o);
    assert_int_equal(w.target, TARGET_SOCKET);
    assert_int_equal(w.flags & WAIT_IOWAIT, 0);
    o = off(SYS_pread64, BPF_FILE_NONE); /* a registered file */
    o.flags = BPF_OFF_IOWAIT | BPF_OFF_URING;
    assert_true(fill(&m, &o).flags & WAIT_IOWAIT);
    o = off(SYS_io_uring_enter, BPF_FILE_NONE); /* what it waits for is not known */
    o.flags = BPF_OFF_IOWAIT | BPF_OFF_URING;
    w = fill(&m, &o);
    assert_int_equal(w.target, TARGET_UNKNOWN);
    assert_int_equal(w.flags & WAIT_IOWAIT, 0);
    made_close(&m);
}

static void test_time_on_a_core_that_filled_a_file(void **state)
{
    struct made m;
    made_open(&m);
    struct bpf_off o = off(-1, BPF_FILE_REGULAR);
    o.flags = BPF_OFF_WROTE;
    o.t_wake = o.t_in;
    o.waker_tid = o.waker_tgid = 0;
    struct event_wait w = fill(&m, &o);
    assert_int_equal(w.target, TARGET_WRITE);
    assert_int_equal(w.t_wake, w.t_in);
    assert_true(w.channel != 0);
    o.file_kind = BPF_FILE_NONE; /* renaming, deleting */
    assert_int_equal(fill(&m, &o).target, TARGET_WRITE);
    made_close(&m);
}

static void test_wakers_nobody_may_name(void **state)
{
    static const u32 nobody[] = {BPF_OFF_WAKE_IRQ, BPF_OFF_KTHREAD_WAKER};
    struct made m;
    made_open(&m);
    for (size_t i = 0; i < 2; i++) {
        struct bpf_off o = off(SYS_read, BPF_FILE_REGULAR);
        o.flags = nobody[i];
        struct event_wait w = fill(&m, &o);
        assert_int_equal(w.waker_tid, 0);
        assert_int_equal(w.waker_tgid, 0);
        assert_int_equal(w.flags & WAIT_WAKER_IRQ, WAIT_WAKER_IRQ);
    }
    struct bpf_off o = off(SYS_read, BPF_FILE_PIPE); /* the wake was not seen */
    o.t_wake = 0;
    struct event_wait w = fill(&m, &o);
    assert_int_equal(w.waker_tid, 0);
    assert_int_equal(w.t_wake, 250);
    o.t_wake = 90; /* or is older than the wait */
    w = fill(&m, &o);
    assert_int_equal(w.waker_tid, 0);
    assert_int_equal(w.t_wake, 250);
    made_close(&m);
}

static void test_faults_and_memory(void **state)
{
    struct made m;
    made_open(&m);
    struct bpf_off o = off(-1, BPF_FILE_NONE);
    o.flags = BPF_OFF_FAULT | BPF_OFF_IOWAIT | BPF_OFF_WAKE_IRQ;
    struct event_wait w = fill(&m, &o);
    assert_int_equal(w.target, TARGET_MEMORY); /* swap: no file was read */
    assert_int_equal(w.flags & WAIT_IOWAIT, WAIT_IOWAIT);
    o.fault_ino = 12;
    o.fault_dev = 8 << 20 | 1;
    w = fill(&m, &o);
    assert_int_equal(w.target, TARGET_FAULT);
    assert_string_equal(intern_text(&m.names, w.resource), "file system 8:1");
    assert_int_equal(w.channel, resource_inode_channel(BPF_FILE_REGULAR, 8 << 20 | 1, 12));
    o.flags |= BPF_OFF_RECLAIM;
    w = fill(&m, &o);
    assert_int_equal(w.target, TARGET_MEMORY);
    o = off(-1, BPF_FILE_NONE); /* another thread held the address space */
    o.flags = BPF_OFF_FAULT;
    o.waker_tgid = o.tgid;
    assert_int_equal(fill(&m, &o).target, TARGET_FUTEX);
    o = off(SYS_read, BPF_FILE_PIPE);
    o.flags = BPF_OFF_RUNNABLE;
    assert_int_equal(fill(&m, &o).target, TARGET_CORE);
    made_close(&m);
}

/* A path on a FUSE mount has no file yet: the daemon that answers tells the mount. */
static void test_daemon_names_its_mount(void **state)
{
    struct made m;
    made_open(&m);
    struct bpf_off path = off(SYS_statx, BPF_FILE_NONE);
    assert_int_equal(fill(&m, &path).resource, 0);
    struct bpf_off read = off(SYS_read, BPF_FILE_REGULAR);
    read.fs_magic = FS_MAGIC_FUSE;
    read.dev = 44;
    struct event_wait known = fill(&m, &read);
    assert_int_equal(known.flags, WAIT_REMOTE_FS);
    assert_int_not_equal(known.resource, 0);
    struct event_wait w = fill(&m, &path);
    assert_int_equal(w.resource, known.resource);
    assert_int_equal(w.flags, WAIT_REMOTE_FS);
    path.waker_tgid = 1234;
    assert_int_equal(fill(&m, &path).resource, 0);
    made_close(&m);
}

/* Any bytes at all: times stay in order and the target is one of the list. */
static void test_random_records(void **state)
{
    struct made m;
    unsigned seed = 11;
    made_open(&m);
    for (int round = 0; round < 20000; round++) {
        struct bpf_off o;
        unsigned char *bytes = (unsigned char *)&o;
        for (size_t i = 0; i < sizeof(o); i++) {
            seed = seed * 1103515245 + 12345;
            bytes[i] = (unsigned char)(seed >> 16);
        }
        o.syscall = (s32)(seed >> 8) % 600 - 20;
        o.file_kind %= BPF_FILE_OTHER + 3;
        o.dev %= 64;
        o.fs_magic %= 4;
        o.peer_port %= 64;
        struct event_wait w = fill(&m, &o);
        assert_true(w.target < TARGET_COUNT);
        if (o.t_out <= o.t_in && o.t_in < INT64_MAX)
            assert_true(w.t_out <= w.t_wake && w.t_wake <= w.t_in);
    }
    made_close(&m);
}

/* ---- threads ---- */

static struct bpf_task task(uint32_t kind, uint32_t tid, uint32_t tgid, uint32_t outside,
                            const char *name)
{
    struct bpf_task r = {.kind = kind, .tid = tid, .tgid = tgid, .t = 5, .outside = outside};
    snprintf(r.comm, sizeof(r.comm), "%s", name);
    return r;
}

static void test_threads_once(void **state)
{
    struct wait_threads t = {0};
    struct event_thread e;
    struct bpf_task r = task(BPF_FORK, 10, 10, 0, "python3");
    assert_true(wait_threads_task(&t, &r, &e));
    assert_int_equal(e.change, THREAD_START);
    assert_true(e.job);
    assert_false(wait_threads_task(&t, &r, &e)); /* found and forked at the same time */
    r = task(BPF_FORK, 10, 99, 0, "reused");     /* its exit was lost */
    assert_true(wait_threads_task(&t, &r, &e));
    r = task(BPF_EXITED, 10, 99, 0, "reused");
    assert_true(wait_threads_task(&t, &r, &e));
    assert_int_equal(e.change, THREAD_EXIT);
    assert_int_equal(t.by_tid.count, 0);
    assert_int_equal(t.by_tgid.count, 0);
    wait_threads_clear(&t);
}

static void test_thread_slots_are_used_again(void **state)
{
    struct wait_threads t = {0};
    struct event_thread e;
    for (uint32_t i = 1; i <= 10000; i++) {
        struct bpf_task r = task(BPF_FORK, i, i, 0, "x");
        assert_true(wait_threads_task(&t, &r, &e));
        r.kind = BPF_EXITED;
        if (i > 3)
            assert_true(wait_threads_task(&t, &r, &e));
    }
    assert_true(t.count <= 5);
    assert_int_equal(t.by_tid.count, 3);
    wait_threads_clear(&t);
}

/* A thread that runs another program takes the place and number of the leader. */
static void test_exec_by_a_thread(void **state)
{
    struct wait_threads t = {0};
    struct event_thread e;
    struct bpf_task leader = task(BPF_FORK, 20, 20, 0, "a"), other = task(BPF_FORK, 21, 20, 0, "a");
    wait_threads_task(&t, &leader, &e);
    wait_threads_task(&t, &other, &e);
    leader.kind = BPF_EXITED;
    wait_threads_task(&t, &leader, &e);
    struct bpf_task exec = task(BPF_EXEC, 20, 20, 0, "b");
    exec.exit_code = 21;
    assert_true(wait_threads_task(&t, &exec, &e));
    assert_int_equal(e.change, THREAD_EXEC);
    assert_string_equal(e.name, "b");
    assert_int_equal(t.by_tid.count, 1);
    exec.kind = BPF_EXITED;
    wait_threads_task(&t, &exec, &e);
    assert_int_equal(t.by_tid.count, 0);
    assert_int_equal(t.by_tgid.count, 0);
    wait_threads_clear(&t);
}

static void test_thread_renamed(void **state)
{
    struct wait_threads t = {0};
    struct event_thread e;
    struct bpf_task r = task(BPF_FORK, 5, 4, 0, "old");
    struct bpf_off o = off(SYS_read, BPF_FILE_PIPE);
    wait_threads_task(&t, &r, &e);
    snprintf(o.comm, sizeof(o.comm), "old");
    assert_false(wait_threads_name(&t, &o, &e));
    memset(o.comm, 'n', sizeof(o.comm)); /* no end in it */
    assert_true(wait_threads_name(&t, &o, &e));
    assert_string_equal(e.name, "nnnnnnnnnnnnnnn");
    assert_false(wait_threads_name(&t, &o, &e));
    wait_threads_clear(&t);
}

static void test_who_is_followed(void **state)
{
    struct wait_threads t = {.own_tgid = 50};
    struct event_thread e;
    struct bpf_task r = task(BPF_FORK, 5, 4, 0, "job");
    struct bpf_off o = off(SYS_read, BPF_FILE_PIPE);
    wait_threads_task(&t, &r, &e);
    for (int i = 1; i < WAIT_OUTSIDE_WAKES; i++)
        assert_false(wait_threads_follow(&t, &o));
    assert_true(wait_threads_follow(&t, &o));
    assert_false(wait_threads_follow(&t, &o)); /* already */
    struct bpf_off fuse = off(SYS_read, BPF_FILE_REGULAR);
    fuse.fs_magic = FS_MAGIC_FUSE;
    fuse.waker_tgid = 70;
    assert_true(wait_threads_follow(&t, &fuse)); /* a daemon at once */
    static const uint32_t never[] = {0, 1, 4, 50};
    for (size_t i = 0; i < 4; i++)
        for (int n = 0; n < 2 * WAIT_OUTSIDE_WAKES; n++) {
            fuse.waker_tgid = never[i];
            assert_false(wait_threads_follow(&t, &fuse));
        }
    fuse.waker_tgid = 71;
    fuse.flags = BPF_OFF_WAKE_IRQ;
    assert_false(wait_threads_follow(&t, &fuse));
    fuse.flags = 0;
    for (uint32_t i = 100; i < 1000; i++) {
        fuse.waker_tgid = i;
        wait_threads_follow(&t, &fuse);
    }
    assert_int_equal(t.outside, WAIT_OUTSIDE_MAX);
    r = task(BPF_FORK, 70, 70, 1, "daemon"); /* one ends: room for another */
    wait_threads_task(&t, &r, &e);
    r.kind = BPF_EXITED;
    wait_threads_task(&t, &r, &e);
    fuse.waker_tgid = 2000;
    assert_true(wait_threads_follow(&t, &fuse));
    wait_threads_clear(&t);
}

/* ---- symbols ---- */

static void test_symbols_of_a_library(void **state)
{
    static const char *const names[] = {"getaddrinfo", "no_such_function", "malloc"};
    uint64_t offsets[3];
    char line[512], *path = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (!path && fgets(line, sizeof(line), maps))
        if (strstr(line, "/libc.so.6"))
            path = strchr(line, '/');
    fclose(maps);
    if (!path)
        skip();
    path[strcspn(path, "\n")] = '\0';
    assert_int_equal(elf_symbol_offsets(path, names, offsets, 3, NULL), 2);
    assert_true(offsets[0] && offsets[2]);
    assert_int_equal(offsets[1], 0);
    assert_int_equal(elf_symbol_offsets("/nonexistent", names, offsets, 3, NULL), STATUS_MISSING);
}

/* A library cut off or overwritten anywhere: an answer or an error, never a crash. */
static void test_symbols_of_hostile_files(void **state)
{
    static const char *const names[] = {"main", "x"};
    static unsigned char image[65536];
    char path[] = "/tmp/gpufeed-elf-XXXXXX";
    unsigned seed = 3;
    uint64_t offsets[2];
    FILE *self = fopen("/bin/true", "r");
    size_t size = fread(image, 1, sizeof(image), self);
    fclose(self);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int round = 0; round < 500; round++) {
        for (int n = 0; n < 4; n++) {
            seed = seed * 1103515245 + 12345;
            image[(seed >> 8) % (round % 2 ? 64 : size)] = (unsigned char)(seed >> 16);
        }
        memcpy(image, "\177ELF\2", 5);
        size_t cut = round % 3 ? size : (seed >> 4) % size + 1;
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, image, cut, 0), cut);
        elf_symbol_offsets(path, names, offsets, 2, NULL);
    }
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_true(elf_symbol_offsets(path, names, offsets, 2, NULL) < 0);
    assert_int_equal(pwrite(fd, "#!/bin/sh\n", 10, 0), 10);
    assert_int_equal(elf_symbol_offsets(path, names, offsets, 2, NULL), STATUS_INPUT);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_nobody_s_signal),
        cmocka_unit_test(test_io_uring),
        cmocka_unit_test(test_time_on_a_core_that_filled_a_file),
        cmocka_unit_test(test_wakers_nobody_may_name),
        cmocka_unit_test(test_faults_and_memory),
        cmocka_unit_test(test_daemon_names_its_mount),
        cmocka_unit_test(test_random_records),
        cmocka_unit_test(test_threads_once),
        cmocka_unit_test(test_thread_slots_are_used_again),
        cmocka_unit_test(test_exec_by_a_thread),
        cmocka_unit_test(test_thread_renamed),
        cmocka_unit_test(test_who_is_followed),
        cmocka_unit_test(test_symbols_of_a_library),
        cmocka_unit_test(test_symbols_of_hostile_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
