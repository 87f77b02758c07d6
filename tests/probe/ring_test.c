/* SPDX-License-Identifier: MIT */
/* The ring's writer against its reader, and rings made by somebody hostile. */
#include "base/unit.h"
#include "probe/ring_write.h"
#include "sense/probe_ring.h"
#include "../tidy.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct counts {
    int spans, calls, taken, released, lost;
    uint64_t lost_count;
    struct event_span last_span;
    struct event_lost last_lost;
    struct event_device last_device;
    int fail_after; /* sink fails at this many events; 0 never */
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int count(void *arg, const struct event *event)
{
    struct counts *c = arg;

    if (c->fail_after && --c->fail_after == 0)
        return STATUS_SYSTEM;
    switch (event->kind) {
    case EVENT_SPAN:
        c->spans++;
        c->last_span = event->span;
        break;
    case EVENT_CALL:
        c->calls++;
        break;
    case EVENT_DEVICE:
        event->device.taken ? c->taken++ : c->released++;
        c->last_device = event->device;
        break;
    case EVENT_LOST:
        c->lost++;
        c->lost_count += event->lost.count;
        c->last_lost = event->lost;
        break;
    default:
        fail_msg("unexpected event %d", event->kind);
    }
    return 0;
}

static char *make_dir(char *path)
{
    strcpy(path, "/tmp/gpufeed-ring-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    tidy_at_exit(path);
    return path;
}

static void remove_dir(const char *path)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static void name_device(struct ring_writer *w)
{
    strcpy(w->header->devices[0].uuid, "GPU-11111111-2222-3333-4444-555555555555");
    strcpy(w->header->devices[0].name, "Test GPU");
    w->header->devices[0].simulated = 1;
    w->header->device_count = 1;
}

static struct ring_record span_at(int64_t t0)
{
    return (struct ring_record){.t0 = t0,
                                .t1 = t0 + 50,
                                .launch_t0 = t0 - 20,
                                .launch_ns = 7,
                                .tid = 42,
                                .bytes = 4096,
                                .stream = 3,
                                .kind = RING_SPAN,
                                .span_kind = RING_COPY,
                                .flags = RING_HOST_COPY | RING_PAGEABLE};
}

static void push(struct ring_writer *w, struct ring_record record)
{
    ring_writer_push(w, &record, 1, now_ns());
}

static void test_round_trip(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {0};
    struct error e = {0};
    int64_t t = now_ns() - NS_PER_MS;

    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, t - 1));
    name_device(&w);
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_non_null(r);
    assert_true(probe_rings_complete_until(r) == INT64_MAX);
    push(&w, (struct ring_record){.kind = RING_TAKEN, .t0 = t});
    push(&w, span_at(t + 100));
    push(&w, (struct ring_record){.kind = RING_CALL,
                                  .span_kind = RING_CALL_SYNC,
                                  .t0 = t,
                                  .t1 = t + 9,
                                  .tid = 42,
                                  .device = UINT16_MAX});
    push(&w, (struct ring_record){.kind = RING_CLOCK, .t0 = t, .t1 = 77, .bytes = 120});
    ring_writer_beat(&w, t + 500, now_ns());
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(c.taken, 1);
    assert_int_equal(c.spans, 1);
    assert_int_equal(c.calls, 1);
    assert_true(c.last_span.t0 == t + 100 && c.last_span.t1 == t + 150);
    assert_true(c.last_span.launch_t0 == t + 80 && c.last_span.launch_t1 == t + 87);
    assert_int_equal(c.last_span.pid, getpid());
    assert_int_equal(c.last_span.tid, 42);
    assert_int_equal(c.last_span.kind, SPAN_COPY);
    assert_true(c.last_span.host_copy && c.last_span.pageable && !c.last_span.sync_copy);
    assert_true(probe_rings_complete_until(r) == t + 500);
    assert_int_equal(probe_rings_totals(r).clock_error_ns, 120);
    const struct probe_accelerator *a = probe_rings_accelerator(r, 0);
    assert_non_null(a);
    assert_string_equal(a->id, "sim-GPU-11111111-2222-3333-4444-555555555555:0");
    assert_true(a->simulated && a->used);
    /* nothing twice */
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(c.spans, 1);
    probe_rings_free(r);
    remove_dir(dir);
}

static void test_device_order_of_another_source(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {0};
    struct error e = {0};

    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, now_ns()));
    name_device(&w);
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_add_device(r, "GPU-other", "x", false, &e), 0);
    assert_int_equal(probe_rings_add_device(r, w.header->devices[0].uuid, "y", true, &e), 1);
    push(&w, (struct ring_record){.kind = RING_TAKEN, .t0 = now_ns()});
    probe_rings_poll(r, now_ns(), count, &c, &e);
    assert_int_equal(c.last_device.device, 1);
    assert_false(probe_rings_accelerator(r, 0)->used);
    assert_int_equal(probe_rings_accelerator_count(r), 2);
    probe_rings_free(r);
    remove_dir(dir);
}

/* Spans wait for the name of their device, and the low-water mark with them. */
static void test_name_comes_later(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {0};
    struct error e = {0};
    int64_t t = now_ns();

    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, t));
    struct probe_rings *r = probe_rings_new(dir, &e);
    push(&w, (struct ring_record){.kind = RING_TAKEN, .t0 = t});
    ring_writer_beat(&w, t + 100, now_ns());
    probe_rings_poll(r, t + 1000, count, &c, &e);
    assert_int_equal(c.taken, 0);
    assert_true(probe_rings_complete_until(r) == t);
    name_device(&w);
    probe_rings_poll(r, t + 1000, count, &c, &e);
    assert_int_equal(c.taken, 1);
    assert_true(probe_rings_complete_until(r) == t + 100);
    probe_rings_free(r);
    remove_dir(dir);
}

static void test_full_ring_counts_lost(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {0};
    struct error e = {0};
    int64_t t = now_ns() - NS_PER_S;
    unsigned extra = 1000;

    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, t));
    name_device(&w);
    push(&w, (struct ring_record){.kind = RING_TAKEN, .t0 = t});
    for (unsigned i = 1; i < RING_CAPACITY + extra; i++)
        push(&w, span_at(t + i));
    assert_int_equal(w.header->lost, extra);
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(c.spans, RING_CAPACITY - 1);
    assert_int_equal(c.lost, 0);
    push(&w, span_at(t + 2 * RING_CAPACITY)); /* room again: the gap is told before it */
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(c.lost, 1);
    assert_int_equal(c.lost_count, extra);
    assert_true(c.last_lost.spans && c.last_lost.device == 0);
    assert_true(c.last_lost.t0 == t + RING_CAPACITY);
    assert_int_equal(c.spans, RING_CAPACITY);
    assert_int_equal(probe_rings_totals(r).lost, extra);
    probe_rings_free(r);
    remove_dir(dir);
}

/* A child that fills its ring beyond the brim and is killed. */
static void test_killed_writer(void **state)
{
    char dir[64], path[128];
    struct counts c = {0};
    struct error e = {0};
    struct stat st;
    int ready[2];
    char byte;

    make_dir(dir);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct ring_writer w;
        int64_t t = now_ns();
        if (!ring_writer_open(&w, dir, t))
            _exit(1);
        name_device(&w);
        push(&w, (struct ring_record){.kind = RING_TAKEN, .t0 = t});
        for (unsigned i = 1; i < RING_CAPACITY + 5; i++)
            push(&w, span_at(t));
        ring_writer_beat(&w, t + 60, now_ns());
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(c.released, 0);
    assert_true(probe_rings_complete_until(r) < INT64_MAX);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(path, sizeof(path), "%s/%d.ring", dir, (int)child);
    assert_int_not_equal(stat(path, &st), 0); /* its name went when it was opened */
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(c.spans, RING_CAPACITY - 1);
    assert_int_equal(c.released, 1);
    assert_int_equal(c.lost_count, 5);
    assert_true(probe_rings_complete_until(r) == INT64_MAX);
    probe_rings_free(r);
    close(ready[0]);
    close(ready[1]);
    remove_dir(dir);
}

/* A zombie is dead although its number still answers. */
static void test_zombie(void **state)
{
    char dir[64];
    struct counts c = {0};
    struct error e = {0};
    siginfo_t info;

    make_dir(dir);
    pid_t child = fork();
    if (child == 0) {
        struct ring_writer w;
        _exit(ring_writer_open(&w, dir, now_ns()) ? 0 : 1);
    }
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(probe_rings_totals(r).processes, 1);
    assert_true(probe_rings_complete_until(r) == INT64_MAX);
    waitpid(child, NULL, 0);
    probe_rings_free(r);
    remove_dir(dir);
}

static bool is_named(pid_t pid, const char *want)
{
    char path[32], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "r");
    bool is = f && fgets(name, sizeof(name), f) && strncmp(name, want, strlen(want)) == 0;
    if (f)
        fclose(f);
    return is;
}

/* After exec the process lives on under its number, but what wrote the ring is gone. */
static void test_exec(void **state)
{
    char dir[64];
    struct counts c = {0};
    struct error e = {0};
    struct timespec nap = {.tv_nsec = NS_PER_MS};
    int go[2];
    char byte;

    make_dir(dir);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        struct ring_writer w;
        if (!ring_writer_open(&w, dir, now_ns()) || read(go[0], &byte, 1) != 1)
            _exit(1);
        execlp("sleep", "sleep", "200", (char *)NULL);
        _exit(127);
    }
    struct probe_rings *r = probe_rings_new(dir, &e);
    for (int i = 0; i < 60000 && probe_rings_totals(r).processes == 0; i++) {
        assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
        nanosleep(&nap, NULL);
    }
    assert_true(probe_rings_complete_until(r) < INT64_MAX);
    assert_int_equal(write(go[1], "x", 1), 1);
    for (int i = 0; i < 60000 && !is_named(child, "sleep"); i++)
        nanosleep(&nap, NULL);
    assert_true(is_named(child, "sleep")); /* then the clock is moved, not waited */
    assert_int_equal(probe_rings_poll(r, now_ns() + 5 * NS_PER_S, count, &c, &e), STATUS_OK);
    assert_true(probe_rings_complete_until(r) == INT64_MAX);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    probe_rings_free(r);
    remove_dir(dir);
}

static void test_blind_is_told(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {0};
    struct error e = {0};

    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, now_ns()));
    push(&w, (struct ring_record){.kind = RING_BLIND,
                                  .span_kind = RING_BLIND_TAKEN,
                                  .t0 = now_ns(),
                                  .device = UINT16_MAX});
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(probe_rings_note_count(r), 1);
    assert_non_null(strstr(probe_rings_note(r, 0), "another profiler holds CUPTI"));
    assert_int_equal(probe_rings_totals(r).blind, 1);
    assert_true(probe_rings_complete_until(r) == INT64_MAX); /* holds nobody back */
    probe_rings_free(r);
    remove_dir(dir);
}

/* --- hostile files --------------------------------------------------------------------------- */

static void good_file(const char *path, struct ring_header *h, uint32_t pid, size_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    memset(h, 0, sizeof(*h));
    h->magic = RING_MAGIC;
    h->version = RING_VERSION;
    h->pid = pid;
    h->header_bytes = 12288;
    h->capacity = 64;
    h->record_bytes = 64;
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    close(fd);
}

static void write_header(const char *path, const struct ring_header *h)
{
    int fd = open(path, O_RDWR);

    assert_int_equal(pwrite(fd, h, sizeof(*h), 0), sizeof(*h));
    close(fd);
}

static void refused(const char *dir, const char *name, const char *why)
{
    struct counts c = {0};
    struct error e = {0};
    struct probe_rings *r = probe_rings_new(dir, &e);

    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(probe_rings_totals(r).processes, 0);
    assert_int_equal(probe_rings_note_count(r), 1); /* one line, once */
    if (!strstr(probe_rings_note(r, 0), name) || !strstr(probe_rings_note(r, 0), why))
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", probe_rings_note(r, 0), name, why);
    assert_null(strchr(probe_rings_note(r, 0), '\n'));
    probe_rings_free(r);
}

static void test_hostile_headers(void **state)
{
    enum { WHOLE = 12288 + 64 * 64 };
    static const struct {
        size_t at;
        uint32_t value;
        const char *why;
    } cases[] = {
        {offsetof(struct ring_header, magic), 0x7f454c46, "wrong magic"},
        {offsetof(struct ring_header, version), 9, "version 9"},
        {offsetof(struct ring_header, capacity), UINT32_MAX, "capacity"},
        {offsetof(struct ring_header, capacity), 63, "capacity"},
        {offsetof(struct ring_header, capacity), 0, "capacity"},
        {offsetof(struct ring_header, capacity), 1u << 20, "truncated"},
        {offsetof(struct ring_header, header_bytes), 8, "header size"},
        {offsetof(struct ring_header, header_bytes), UINT32_MAX, "header size"},
        {offsetof(struct ring_header, record_bytes), 1u << 31, "another size"},
        {offsetof(struct ring_header, pid), 1, "another process"},
        {offsetof(struct ring_header, head), 65, "contradict"},
        {offsetof(struct ring_header, tail), 1, "contradict"},
    };
    char dir[64], path[128];
    struct ring_header h;

    make_dir(dir);
    snprintf(path, sizeof(path), "%s/77.ring", dir);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        good_file(path, &h, 77, WHOLE);
        memcpy((char *)&h + cases[i].at, &cases[i].value, sizeof(uint32_t));
        write_header(path, &h);
        refused(dir, "77.ring", cases[i].why);
    }
    good_file(path, &h, 77, 100);
    refused(dir, "77.ring", "truncated");
    good_file(path, &h, 77, 0);
    refused(dir, "77.ring", "truncated");
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    refused(dir, "77.ring", "symbolic link");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    refused(dir, "77.ring", "77.ring");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(dir, "77.ring", "regular file");
    remove_dir(dir);
}

static void test_hostile_records(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {0};
    struct error e = {0};
    int64_t t = now_ns();
    struct ring_record bad[7];

    for (size_t i = 0; i < 7; i++)
        bad[i] = span_at(t - 100);
    bad[0].t1 = INT64_MIN;
    bad[1].t1 = INT64_MAX;
    bad[2].kind = 200;
    bad[3].span_kind = 99;
    bad[4].device = 5000;
    bad[5].launch_t0 = INT64_MAX;
    bad[6].bytes = UINT64_MAX;
    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, t));
    name_device(&w);
    memset(w.header->devices[0].name, 7, sizeof(w.header->devices[0].name)); /* no end, no text */
    ring_writer_push(&w, bad, 7, t);
    push(&w, span_at(t - 100));
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, t, count, &c, &e), STATUS_OK);
    assert_int_equal(c.spans, 1);
    assert_int_equal(probe_rings_note_count(r), 1);
    assert_int_equal(probe_rings_totals(r).lost, 7);
    assert_string_equal(probe_rings_accelerator(r, 0)->name,
                        "???????????????????????????????????????????????????????????????");
    /* a beat from the far future must not move the mark, a jumping head ends the ring */
    w.header->beat_ns = (uint64_t)(t + 3600 * NS_PER_S);
    assert_int_equal(probe_rings_poll(r, t, count, &c, &e), STATUS_OK);
    assert_true(probe_rings_complete_until(r) == t);
    w.header->head += RING_CAPACITY + 1;
    assert_int_equal(probe_rings_poll(r, t, count, &c, &e), STATUS_OK);
    assert_true(probe_rings_complete_until(r) == INT64_MAX);
    assert_non_null(strstr(probe_rings_note(r, 1), "damaged"));
    probe_rings_free(r);
    remove_dir(dir);
}

/* Who reads may be late itself: what was done since it looked at the clock is believed. What is not is unseen. */
static void test_records_of_the_future(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {0};
    struct error e = {0};
    int64_t t = now_ns();

    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, t));
    name_device(&w);
    push(&w, (struct ring_record){.kind = RING_TAKEN, .t0 = t + 1});
    push(&w, span_at(t + 5 * NS_PER_S));
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, t + 2, count, &c, &e), STATUS_OK);
    assert_int_equal(c.spans, 1);
    assert_int_equal(c.lost, 0);
    push(&w, span_at(t + 3600 * NS_PER_S));
    assert_int_equal(probe_rings_poll(r, t + NS_PER_MS, count, &c, &e), STATUS_OK);
    assert_int_equal(c.spans, 1);
    assert_int_equal(c.lost, 1);
    assert_true(c.last_lost.t0 < c.last_lost.t1 && c.last_lost.t1 == t + NS_PER_MS);
    assert_int_equal(probe_rings_totals(r).lost, 1);
    probe_rings_free(r);
    remove_dir(dir);
}

/* The file is cut short after it was opened: a short read, not a SIGBUS. */
static void test_cut_short(void **state)
{
    char dir[64], path[128];
    struct ring_header h;
    struct counts c = {0};
    struct error e = {0};

    make_dir(dir);
    snprintf(path, sizeof(path), "%s/%d.ring", dir, (int)getpid());
    good_file(path, &h, (uint32_t)getpid(), 12288 + 64 * 64);
    h.beat_ns = h.alive_ns = (uint64_t)now_ns();
    write_header(path, &h);
    int fd = open(path, O_RDWR);
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(probe_rings_totals(r).processes, 1);
    h.head = 10;
    assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
    assert_int_equal(ftruncate(fd, 12288 + 64), 0);
    close(fd);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_OK);
    assert_int_equal(probe_rings_note_count(r), 1);
    assert_non_null(strstr(probe_rings_note(r, 0), "cut short"));
    probe_rings_free(r);
    remove_dir(dir);
}

static int check_event(void *arg, const struct event *event)
{
    int64_t now = *(const int64_t *)arg;

    if (event->kind == EVENT_SPAN) {
        assert_true(event->span.t0 >= 0 && event->span.t1 >= event->span.t0);
        assert_true(event->span.t1 <= now + 10 * NS_PER_S && event->span.kind <= SPAN_MEMSET);
        assert_true(event->span.device < 2 * RING_DEVICES);
    }
    if (event->kind == EVENT_CALL)
        assert_true(event->call.t1 >= event->call.t0 && event->call.kind <= CALL_OTHER);
    return 0;
}

static unsigned next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33);
}

/* Random bytes changed in a good file: whatever comes out of it is sane, and it ends. */
static void test_random_damage(void **state)
{
    enum { RECORDS = 64, BYTES = 12288 + RECORDS * 64 };
    static unsigned char good[BYTES], bad[BYTES];
    char dir[64], path[128];
    struct ring_header h;
    struct error e = {0};
    uint64_t random = 1;
    int64_t now = now_ns();

    make_dir(dir);
    snprintf(path, sizeof(path), "%s/%d.ring", dir, (int)getpid());
    good_file(path, &h, (uint32_t)getpid(), BYTES);
    h.head = RECORDS - 3;
    h.beat_ns = h.alive_ns = (uint64_t)now;
    strcpy(h.devices[0].uuid, "GPU-1");
    memcpy(good, &h, sizeof(h));
    for (int i = 0; i < RECORDS; i++) {
        struct ring_record record = span_at(now - 1000 + i);
        record.kind = (uint8_t)(RING_SPAN + i % 7);
        memcpy(good + 12288 + i * 64, &record, 64);
    }
    for (int round = 0; round < 400; round++) {
        memcpy(bad, good, BYTES);
        for (int i = 0; i < 6; i++) {
            bool header = next_random(&random) % 3 == 0;
            unsigned at = next_random(&random) % (header ? 400 : BYTES - 12288);
            bad[(header ? 0 : 12288) + at] = (unsigned char)next_random(&random);
        }
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        size_t bytes = round % 5 ? BYTES : next_random(&random) % BYTES;
        assert_int_equal(write(fd, bad, bytes), bytes);
        close(fd);
        struct probe_rings *r = probe_rings_new(dir, &e);
        for (int i = 0; i < 3; i++)
            assert_int_equal(probe_rings_poll(r, now, check_event, &now, &e), STATUS_OK);
        probe_rings_free(r);
    }
    remove_dir(dir);
}

static void test_sink_failure_is_passed_on(void **state)
{
    char dir[64];
    struct ring_writer w;
    struct counts c = {.fail_after = 2};
    struct error e = {0};

    make_dir(dir);
    assert_true(ring_writer_open(&w, dir, now_ns()));
    name_device(&w);
    push(&w, (struct ring_record){.kind = RING_TAKEN, .t0 = now_ns()});
    push(&w, span_at(now_ns()));
    struct probe_rings *r = probe_rings_new(dir, &e);
    assert_int_equal(probe_rings_poll(r, now_ns(), count, &c, &e), STATUS_SYSTEM);
    probe_rings_free(r);
    assert_null(probe_rings_new("/nonexistent-folder", &e));
    assert_int_equal(e.status, STATUS_MISSING);
    remove_dir(dir);
}

static void test_writer_without_a_place(void **state)
{
    struct ring_writer w;

    assert_false(ring_writer_open(&w, "/nonexistent-folder", 1));
    push(&w, span_at(1)); /* harmless */
    ring_writer_beat(&w, 1, now_ns());
}

/* Its reader was killed: nobody would read the ring, nor remove it. */
static void test_writer_without_a_reader(void **state)
{
    char dir[64], path[128];
    struct ring_writer w;

    make_dir(dir);
    snprintf(path, sizeof(path), "%s/" RING_LOCK, dir);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_SH), 0);
    assert_true(ring_writer_open(&w, dir, now_ns()));
    snprintf(path, sizeof(path), "%s/%d.ring", dir, (int)getpid());
    assert_int_equal(unlink(path), 0);
    close(fd);
    assert_false(ring_writer_open(&w, dir, now_ns()));
    assert_int_equal(errno, EPIPE);
    assert_int_not_equal(access(path, F_OK), 0);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_device_order_of_another_source),
        cmocka_unit_test(test_name_comes_later),
        cmocka_unit_test(test_full_ring_counts_lost),
        cmocka_unit_test(test_killed_writer),
        cmocka_unit_test(test_zombie),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_blind_is_told),
        cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_hostile_records),
        cmocka_unit_test(test_records_of_the_future),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_random_damage),
        cmocka_unit_test(test_sink_failure_is_passed_on),
        cmocka_unit_test(test_writer_without_a_place),
        cmocka_unit_test(test_writer_without_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
