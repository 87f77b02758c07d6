/* SPDX-License-Identifier: MIT */
/* Files, faults, sockets, FUSE and driver calls: what stands behind a descriptor. */
#include "asleep.h"
#include "bench.h"

#include "base/unit.h"
#include "../tidy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS (40 * NS_PER_MS)
#define FILE_PAGES 512
#define REPLY_BYTES 5000

static void nap(int64_t ns)
{
    struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};
    nanosleep(&t, NULL);
}

/* The other side napped while this thread slept. */
static void assert_slept(const struct event_wait *w)
{
    if (blocked_ns(w) < NAP_NS / 2)
        fail_msg("%.3f ms, the other side napped for %.3f ms", (double)blocked_ns(w) / NS_PER_MS,
                 (double)NAP_NS / NS_PER_MS);
}

/* ---- a file on a disk ---- */

/* A file that is on disk and not in memory; -1 where the build folder lies on no disk. */
static int cold_file(char *path, size_t size, struct stat *st)
{
    struct statfs fs;
    char page[4096] = {1};
    snprintf(path, size, "%s/cold-XXXXXX", SCRATCH);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    for (int i = 0; i < FILE_PAGES; i++)
        assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
    assert_int_equal(fsync(fd), 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    fstat(fd, st);
    fstatfs(fd, &fs);
    if (!major(st->st_dev)) {
        print_message("the build folder lies on no block device\n");
        close(fd);
        return -1;
    }
    return fd;
}

static uint64_t channel_of(const struct stat *st)
{
    return resource_inode_channel(BPF_FILE_REGULAR, major(st->st_dev) << 20 | minor(st->st_dev),
                                  st->st_ino);
}

static void job_fault(struct truth *truth, void *arg)
{
    int fd = *(int *)arg;
    volatile unsigned char *data = mmap(NULL, FILE_PAGES * 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        _exit(1);
    madvise((void *)data, FILE_PAGES * 4096, MADV_RANDOM);
    for (size_t i = 0; i < FILE_PAGES; i += 8)
        truth->number[0] += data[i * 4096];
}

static void job_read(struct truth *truth, void *arg)
{
    char page[4096];
    int fd = *(int *)arg;
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (int i = 0; i < FILE_PAGES; i += 8)
        if (pread(fd, page, sizeof(page), (off_t)i * 4096) != sizeof(page))
            _exit(1);
}

/* ---- io_uring, by its bare system calls ---- */

struct uring {
    int fd;
    unsigned wide; /* entries are so many times as large */
    unsigned *tail, *mask, *array, *cq_head, *cq_tail;
    struct io_uring_sqe *sqe;
};

/* setup: IORING_SETUP_* */
static bool uring_open(struct uring *u, unsigned setup)
{
    struct io_uring_params p = {.flags = setup};
    u->wide = setup & IORING_SETUP_SQE128 ? 2 : 1;
    u->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (u->fd < 0)
        return false;
    char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE,
                    MAP_SHARED, u->fd, IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
                    PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_CQ_RING);
    u->sqe = mmap(NULL, p.sq_entries * u->wide * sizeof(*u->sqe), PROT_READ | PROT_WRITE,
                  MAP_SHARED, u->fd, IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || (void *)u->sqe == MAP_FAILED)
        return false;
    u->tail = (unsigned *)(sq + p.sq_off.tail);
    u->mask = (unsigned *)(sq + p.sq_off.ring_mask);
    u->array = (unsigned *)(sq + p.sq_off.array);
    u->cq_head = (unsigned *)(cq + p.cq_off.head);
    u->cq_tail = (unsigned *)(cq + p.cq_off.tail);
    return true;
}

/* One request, and the wait for it. */
static void uring_do(struct uring *u, unsigned opcode, int fd, void *to, unsigned size, off_t at)
{
    unsigned i = *u->tail & *u->mask;
    u->sqe[i * u->wide] = (struct io_uring_sqe){
        .opcode = (__u8)opcode, .fd = fd, .len = size, .addr = (uintptr_t)to, .off = (__u64)at};
    u->array[i] = i;
    __atomic_store_n(u->tail, *u->tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
        _exit(1);
    while (__atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE) == *u->cq_head)
        if (syscall(SYS_io_uring_enter, u->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
            _exit(1);
    ++*u->cq_head;
}

struct uring_read {
    int fd;
    unsigned setup;
};

static void job_uring_read(struct truth *truth, void *arg)
{
    char page[4096];
    struct uring u;
    const struct uring_read *r = arg;
    posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM);
    int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (!uring_open(&u, r->setup) || other < 0)
        _exit(1);
    for (int i = 0; i < FILE_PAGES; i += 8) {
        uring_do(&u, IORING_OP_READ, other, page, sizeof(page), 0); /* of memory */
        uring_do(&u, IORING_OP_READ, r->fd, page, sizeof(page), (off_t)i * 4096);
    }
}

/* Another process sends, after a while. */
static void job_uring_recv(struct truth *truth, void *arg)
{
    int ends[2];
    char byte = 1;
    struct uring u;
    if (!uring_open(&u, 0) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        _exit(1);
    pid_t job = getpid();
    if (!fork()) {
        await_asleep(job);
        nap(NAP_NS);
        _exit(write(ends[1], &byte, 1) != 1);
    }
    uring_do(&u, IORING_OP_RECV, ends[0], &byte, 1, 0);
    wait(NULL);
}

static bool uring_there(unsigned setup)
{
    struct io_uring_params p = {.flags = setup};
    int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void job_sync(struct truth *truth, void *arg)
{
    char page[4096] = {2};
    int fd = *(int *)arg;
    for (int i = 0; i < FILE_PAGES; i++)
        if (pwrite(fd, page, sizeof(page), (off_t)i * 4096) != sizeof(page))
            _exit(1);
    if (fsync(fd))
        _exit(1);
}

static void check_file(job_fn job, enum target target)
{
    struct bench b;
    struct stat st;
    char path[512];
    int mine = 0, unnamed = 0;
    int fd = cold_file(path, sizeof(path), &st);
    if (fd < 0)
        skip();
    bench_run(&b, job, &fd);
    for (size_t i = 0; i < b.count; i++) {
        const struct event_wait *w = &b.events[i].wait;
        if (b.events[i].kind != EVENT_WAIT || w->tid != (uint32_t)b.job ||
            w->t_out < b.truth->begun || !(w->flags & WAIT_IOWAIT))
            continue;
        if (w->target ==
            TARGET_MEMORY) { /* a fault that waits for a page which it had begun to read */
            unnamed++;
            continue;
        }
        mine++;
        assert_int_equal(w->target, target); /* the job waits for no other disk access */
        assert_true(w->channel == channel_of(&st));
        assert_int_equal(strncmp(bench_resource(&b, w), "disk ", 5), 0);
        assert_int_equal(w->flags & WAIT_REMOTE_FS, 0);
        assert_int_equal(w->waker_tid, 0);
    }
    assert_true(mine > 0 && unnamed <= mine / 5 + 1);
    bench_close(&b);
    close(fd);
}

static void test_fault_names_the_mapped_file(void **state)
{
    check_file(job_fault, TARGET_FAULT);
}

static void test_read_names_the_file(void **state)
{
    check_file(job_read, TARGET_FILE);
}

static void test_fsync_is_a_write(void **state)
{
    check_file(job_sync, TARGET_WRITE);
}

/* ---- TCP over the loopback interface, the server outside the job ---- */

struct server {
    pid_t pid;
    uint16_t port;
};

/* For each number that comes: a nap after that thread went to sleep REPLY_BYTES go back. */
static void serve(int listener)
{
    static char reply[REPLY_BYTES];
    uint32_t tid;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        while (fd >= 0 && read(fd, &tid, sizeof(tid)) == sizeof(tid)) {
            await_asleep((pid_t)tid);
            nap(NAP_NS);
            if (write(fd, reply, sizeof(reply)) != sizeof(reply))
                break;
        }
        close(fd);
    }
}

static struct server start_server(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 8), 0);
    getsockname(listener, (struct sockaddr *)&at, &size);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a check fails before stop_server */
        serve(listener);
    }
    close(listener);
    return (struct server){pid, ntohs(at.sin_port)};
}

static void stop_server(struct server *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

enum way { WAY_RECV, WAY_POLL, WAY_POLL_MANY, WAY_SELECT, WAY_EPOLL, WAY_EPOLL_MANY };

struct request {
    uint16_t port;
    enum way way;
    const char *host; /* looked up; NULL: 127.0.0.1 as it is */
};

static int dial(const struct request *r)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct addrinfo *list, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    if (r->host) {
        if (getaddrinfo(r->host, NULL, &hints, &list))
            _exit(4);
        to = *(struct sockaddr_in *)(void *)list->ai_addr;
        freeaddrinfo(list);
    }
    to.sin_port = htons(r->port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        _exit(5);
    return fd;
}

static void wait_epoll(int fd, const int *others, int count)
{
    struct epoll_event event = {.events = EPOLLIN};
    int ep = epoll_create1(0);
    for (int i = 0; i < count; i++)
        epoll_ctl(ep, EPOLL_CTL_ADD, others[i], &event);
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
    if (epoll_wait(ep, &event, 1, -1) != 1)
        _exit(6);
    close(ep);
}

static void wait_ready(int fd, enum way way)
{
    int quiet[6];
    struct pollfd list[3] = {{.fd = fd, .events = POLLIN}};
    fd_set set;
    for (int i = 0; i < 6; i += 2)
        if (pipe(quiet + i))
            _exit(7);
    switch (way) {
    case WAY_RECV:
        break;
    case WAY_POLL:
        poll(list, 1, -1);
        break;
    case WAY_POLL_MANY:
        list[0].fd = quiet[0];
        list[1] = (struct pollfd){.fd = quiet[2], .events = POLLIN};
        list[2] = (struct pollfd){.fd = fd, .events = POLLIN};
        poll(list, 3, -1);
        break;
    case WAY_SELECT:
        FD_ZERO(&set);
        FD_SET(quiet[0], &set);
        FD_SET(fd, &set);
        select((quiet[0] > fd ? quiet[0] : fd) + 1, &set, NULL, NULL, NULL);
        break;
    case WAY_EPOLL:
        wait_epoll(fd, NULL, 0);
        break;
    case WAY_EPOLL_MANY:
        wait_epoll(fd, (const int[]){quiet[0], quiet[2], quiet[4]}, 3);
        break;
    }
}

static void job_request(struct truth *truth, void *arg)
{
    static char reply[REPLY_BYTES];
    const struct request *r = arg;
    int fd = dial(r);
    uint32_t own = (uint32_t)getpid();
    for (int i = 0; i < 2; i++) {
        if (write(fd, &own, sizeof(own)) != sizeof(own))
            _exit(2);
        wait_ready(fd, r->way);
        if (recv(fd, reply, sizeof(reply), MSG_WAITALL) != sizeof(reply))
            _exit(3);
    }
}

static void run_request(struct bench *b, struct request *r, bool count_interrupts)
{
    struct wait_bpf_opts o = {.count_interrupts = count_interrupts};
    bench_open(b, &o);
    bench_fork(b, job_request, r, true);
    bench_go(b);
    bench_finish(b);
}

/* Both waits for the server: who, how much came, and that nobody is named as the waker. */
static void check_replies(const struct bench *b, const char *resource)
{
    int found = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct event_wait *w = &b->events[i].wait;
        if (b->events[i].kind != EVENT_WAIT || w->target != TARGET_SOCKET ||
            w->tid != (uint32_t)b->job || !w->rx_during)
            continue;
        found++;
        assert_slept(w);
        assert_string_equal(bench_resource(b, w), resource);
        assert_int_equal(w->waker_tid, 0);
        assert_int_equal(w->flags, WAIT_WAKER_IRQ | WAIT_LOOPBACK);
        /* the kernel counts sequence numbers: a FIN that came with the reply is one */
        assert_in_range(w->rx_during, REPLY_BYTES, REPLY_BYTES + 1);
        assert_in_range(w->rx_bytes, found * REPLY_BYTES, found * REPLY_BYTES + 1);
        /* the kernel may count the SYN */
        assert_in_range(w->tx_bytes, found * sizeof(uint32_t), found * sizeof(uint32_t) + 1);
        assert_int_not_equal(w->channel, 0);
    }
    assert_int_equal(found, 2);
    assert_int_equal(bench_lost(b), 0);
}

static void check_way(enum way way, bool count_interrupts)
{
    struct bench b;
    char resource[64];
    struct server s = start_server();
    struct request r = {.port = s.port, .way = way};
    snprintf(resource, sizeof(resource), "127.0.0.1:%u", s.port);
    run_request(&b, &r, count_interrupts);
    check_replies(&b, resource);
    bench_close(&b);
    stop_server(&s);
}

static void test_recv(void **state)
{
    check_way(WAY_RECV, false);
}

static void test_recv_with_interrupts_counted(void **state)
{
    check_way(WAY_RECV, true);
}

static void test_poll(void **state)
{
    check_way(WAY_POLL, false);
}

static void test_poll_of_many_takes_the_socket(void **state)
{
    check_way(WAY_POLL_MANY, false);
}

static void test_select(void **state)
{
    check_way(WAY_SELECT, false);
}

static void test_epoll(void **state)
{
    check_way(WAY_EPOLL, false);
}

static void test_epoll_of_many_takes_the_ready_one(void **state)
{
    check_way(WAY_EPOLL_MANY, false);
}

static void test_name_of_a_peer(void **state)
{
    struct bench b;
    char resource[64];
    struct server s = start_server();
    struct request r = {.port = s.port, .way = WAY_RECV, .host = "localhost"};
    snprintf(resource, sizeof(resource), "localhost:%u", s.port);
    run_request(&b, &r, false);
    check_replies(&b, resource);
    bench_close(&b);
    stop_server(&s);
}

/* Which of several pipes was ready decides what an epoll waited for. */
static void job_epoll_pipes(struct truth *truth, void *arg)
{
    int fds[8];
    struct stat st;
    for (int i = 0; i < 8; i += 2)
        if (pipe(fds + i))
            _exit(1);
    pid_t job = getpid(), child = fork();
    if (child == 0) {
        await_asleep(job);
        nap(NAP_NS);
        _exit(write(fds[5], "x", 1) != 1);
    }
    fstat(fds[4], &st);
    truth->number[0] = (uint64_t)child;
    truth->number[1] = st.st_ino;
    wait_epoll(fds[0], (const int[]){fds[2], fds[4], fds[6]}, 3);
}

static void test_epoll_of_pipes(void **state)
{
    struct bench b;
    bench_run(&b, job_epoll_pipes, NULL);
    const struct event_wait *w = bench_longest(&b, (uint32_t)b.job, TARGET_PIPE);
    assert_non_null(w);
    assert_slept(w);
    assert_int_equal(w->waker_tid, b.truth->number[0]);
    assert_int_equal(w->channel, resource_inode_channel(BPF_FILE_PIPE, 0, b.truth->number[1]));
    bench_close(&b);
}

/* ---- FUSE: the daemon is outside the job and followed ---- */

#ifdef HELLO_FUSE
static pid_t mount_hello(const char *folder)
{
    struct statfs fs;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execl(HELLO_FUSE, HELLO_FUSE, folder, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 6000; i++) {
        nap(10 * NS_PER_MS);
        if (statfs(folder, &fs) == 0 && fs.f_type == 0x65735546)
            return pid;
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return 0;
    }
    return pid;
}

static void job_fuse(struct truth *truth, void *arg)
{
    static char buf[4096];
    char path[256];
    snprintf(path, sizeof(path), "%s/hello", (const char *)arg);
    int fd = open(path, O_RDONLY);
    for (int i = 0; i < 6; i++)
        if (pread(fd, buf, sizeof(buf), i * 4096) != sizeof(buf) || buf[0] != 'h')
            _exit(1);
}

static void check_fuse(const struct bench *b, const char *folder, uint32_t daemon)
{
    char resource[300];
    int reads = 0;
    snprintf(resource, sizeof(resource), "fuse:hello_fuse %s", folder);
    for (size_t i = 0; i < b->count; i++) {
        const struct event_wait *w = &b->events[i].wait;
        if (b->events[i].kind != EVENT_WAIT || w->tid != (uint32_t)b->job ||
            w->target != TARGET_FILE || blocked_ns(w) < NAP_NS / 2)
            continue;
        reads++;
        assert_string_equal(bench_resource(b, w), resource);
        assert_int_equal(w->flags, WAIT_REMOTE_FS);
        assert_int_equal(w->waker_tgid, daemon);
    }
    assert_int_equal(reads, 6);
    const struct event_thread *t = bench_thread(b, daemon, THREAD_START);
    assert_non_null(t);
    assert_false(t->job);
    const struct event_wait *sleep = bench_longest(b, daemon, TARGET_SLEEP);
    assert_non_null(sleep); /* what the daemon itself waited for */
    assert_slept(sleep);
}

static void test_fuse_daemon_is_followed(void **state)
{
    struct bench b;
    char folder[] = "/tmp/gpufeed-bpf-XXXXXX";
    assert_non_null(mkdtemp(folder));
    tidy_at_exit(folder);
    pid_t daemon = access("/dev/fuse", R_OK) == 0 ? mount_hello(folder) : 0;
    if (!daemon) {
        rmdir(folder);
        print_message("no FUSE here\n");
        skip();
    }
    bench_run(&b, job_fuse, folder);
    kill(daemon, SIGTERM);
    waitpid(daemon, NULL, 0);
    rmdir(folder);
    check_fuse(&b, folder, (uint32_t)daemon);
    bench_close(&b);
}
#endif

/* ---- driver calls by uprobes ---- */

static void job_driver(struct truth *truth, void *arg)
{
    void *library = dlopen(FAKE_DRIVER, RTLD_NOW);
    static const char *const calls[] = {"cuLaunchKernel", "cuCtxSynchronize", "cuMemcpy"};
    for (int i = 0; i < 3; i++) {
        int (*call)(void) = library ? (int (*)(void))dlsym(library, calls[i]) : NULL;
        if (!call || call())
            _exit(1);
    }
}

static void test_driver_calls(void **state)
{
    static const struct {
        enum call_kind kind;
        int64_t ns;
    } want[] = {
        {CALL_LAUNCH, 5 * NS_PER_MS}, {CALL_SYNC, 20 * NS_PER_MS}, {CALL_COPY, 30 * NS_PER_MS}};
    struct bench b;
    struct error e = {0};
    size_t n = 0;
    bench_open(&b, NULL);
    bench_fork(&b, job_driver, NULL, true);
    assert_int_equal(wait_bpf_attach_cuda(b.wait, NULL, (uint32_t)b.job, &e), STATUS_MISSING);
    assert_int_equal(wait_bpf_attach_cuda(b.wait, "/bin/true", 0, &e), STATUS_MISSING);
    assert_int_equal(wait_bpf_attach_cuda(b.wait, FAKE_DRIVER, 0, &e), STATUS_OK);
    bench_go(&b);
    bench_finish(&b);
    for (size_t i = 0; i < b.count; i++) {
        const struct event_call *c = &b.events[i].call;
        if (b.events[i].kind != EVENT_CALL)
            continue;
        assert_true(n < 3);
        assert_int_equal(c->kind, want[n].kind);
        assert_int_equal(c->tid, b.job);
        assert_true(c->t1 - c->t0 >= want[n].ns); /* it naps so long */
        n++;
    }
    assert_int_equal(n, 3);
    bench_close(&b);
}

static void uring_names_the_file(unsigned setup)
{
    if (!uring_there(setup))
        skip();
    int64_t mine = 0, other = 0, wrong = 0;
    struct bench b;
    struct stat st;
    char path[512];
    struct uring_read r = {cold_file(path, sizeof(path), &st), setup};
    if (r.fd < 0)
        skip();
    bench_run(&b, job_uring_read, &r);
    for (size_t i = 0; i < b.count; i++) {
        const struct event_wait *w = &b.events[i].wait;
        if (b.events[i].kind != EVENT_WAIT || w->tid != (uint32_t)b.job ||
            w->t_out < b.truth->begun)
            continue;
        bool told = w->target == TARGET_FILE && w->channel == channel_of(&st);
        mine += told ? w->t_wake - w->t_out : 0;
        wrong += w->target == TARGET_FILE && !told;
        other += w->target == TARGET_UNKNOWN ? w->t_wake - w->t_out : 0;
    }
    assert_int_equal(wrong, 0);
    assert_true(mine > 0 && other < mine); /* the kernel's iowait is not asked: not all have it */
    bench_close(&b);
    close(r.fd);
}

static void test_uring_names_the_file(void **state)
{
    (void)state;
    uring_names_the_file(0);
}

static void test_uring_of_wide_entries_names_the_file(void **state)
{
    (void)state;
    uring_names_the_file(IORING_SETUP_SQE128);
}

/* The kernel counts it as a wait for a disk. */
static void test_uring_of_a_socket_is_no_disk(void **state)
{
    struct bench b;
    (void)state;
    if (!uring_there(0))
        skip();
    bench_run(&b, job_uring_recv, NULL);
    const struct event_wait *w = bench_longest(&b, (uint32_t)b.job, TARGET_PIPE);
    assert_non_null(w);
    assert_slept(w);
    assert_int_equal(w->flags & WAIT_IOWAIT, 0);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault_names_the_mapped_file),
        cmocka_unit_test(test_read_names_the_file),
        cmocka_unit_test(test_fsync_is_a_write),
        cmocka_unit_test(test_uring_names_the_file),
        cmocka_unit_test(test_uring_of_wide_entries_names_the_file),
        cmocka_unit_test(test_uring_of_a_socket_is_no_disk),
        cmocka_unit_test(test_recv),
        cmocka_unit_test(test_recv_with_interrupts_counted),
        cmocka_unit_test(test_poll),
        cmocka_unit_test(test_poll_of_many_takes_the_socket),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_epoll),
        cmocka_unit_test(test_epoll_of_many_takes_the_ready_one),
        cmocka_unit_test(test_name_of_a_peer),
        cmocka_unit_test(test_epoll_of_pipes),
#ifdef HELLO_FUSE
        cmocka_unit_test(test_fuse_daemon_is_followed),
#endif
        cmocka_unit_test(test_driver_calls),
    };
    if (!bench_possible())
        return EXIT_SKIP;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
