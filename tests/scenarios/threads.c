/* SPDX-License-Identifier: MIT */
/*
 * threads: a training job without Python. Reader threads read and decode files
 * into a bounded queue, the main thread takes them and drives the device.
 *
 *   threads --truth DIR --data DIR [--files N] [--item-bytes N] [--workers N] [--depth N]
 *           [--steps N] [--decode-us N] [--kernel-us N]
 *
 * It writes down what truthlog.py describes. A thread's own core time and its
 * time ready without a core come from the kernel's counters for that thread.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define US_NS INT64_C(1000)
#define S_NS INT64_C(1000000000)
enum { WORKERS_MAX = 32, DEPTH_MAX = 64, PATH_BYTES = 512 };

/* Wall, core time, time ready without a core. */
struct stamp {
    int64_t wall, cpu, delay;
};

struct mark {
    struct stamp at;
    const char *label;
    int batch; /* -1 none */
};

struct kernel {
    int64_t t0, t1, ns;
};

struct options {
    const char *log, *data;
    int files, item_bytes, workers, depth, steps;
    int64_t decode_ns, kernel_ns;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    int items[DEPTH_MAX], count, next_item;
};

struct job {
    struct options o;
    struct queue queue;
    struct mark *marks;
    struct kernel *kernels;
    int mark_count, kernel_count;
    int schedstat; /* of the main thread */
};

struct worker {
    struct job *job;
    pthread_t thread;
    int schedstat;
    int64_t birth;
    struct stamp ready, last;
    FILE *out;
};

/* The calls of the driver that are made. */
struct driver {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*context_create)(void **, unsigned, int);
    int (*context_destroy)(void *);
    int (*module_load)(void **, const void *);
    int (*module_function)(void **, void *, const char *);
    int (*stream_create)(void **, unsigned);
    int (*stream_synchronize)(void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    void *context, *module, *function, *stream;
};

static const char spin_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                               ".visible .entry spin(.param .u64 spin_param_0)\n{\n"
                               " .reg .pred %p<2>;\n .reg .u64 %rd<6>;\n"
                               " ld.param.u64 %rd1, [spin_param_0];\n mov.u64 %rd2, %globaltimer;\n"
                               "LOOP:\n mov.u64 %rd3, %globaltimer;\n sub.s64 %rd4, %rd3, %rd2;\n"
                               " setp.lt.u64 %p1, %rd4, %rd1;\n @%p1 bra LOOP;\n ret;\n}\n";

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void check(int rc, const char *what)
{
    if (rc) {
        fprintf(stderr, "threads: %s answered %d\n", what, rc);
        exit(1);
    }
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * S_NS + t.tv_nsec;
}

static int schedstat_open(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die(path);
    return fd;
}

static struct stamp stamp_now(int schedstat)
{
    char text[96];
    int64_t on = 0, delay = 0;
    ssize_t n = pread(schedstat, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%" SCNd64 " %" SCNd64, &on, &delay) != 2)
        die("schedstat");
    return (struct stamp){clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_THREAD_CPUTIME_ID), delay};
}

static struct stamp stamp_minus(struct stamp a, struct stamp b)
{
    return (struct stamp){a.wall - b.wall, a.cpu - b.cpu, a.delay - b.delay};
}

static void print_part(FILE *out, const char *name, struct stamp s)
{
    fprintf(out, ", \"%s\": [%" PRId64 ", %" PRId64 ", %" PRId64 "]", name, s.wall, s.cpu, s.delay);
}

/* Work for ns of this thread's core time; the result keeps it from being left out. */
static unsigned burn(int64_t ns)
{
    unsigned x = 1;
    int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 20000; i++)
            x = x * 1664525u + 1013904223u;
    return x;
}

static void read_item(const struct options *o, int item, char *buf)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/item%06d", o->data, item % o->files);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die(path);
    for (ssize_t got = 0, n; got < o->item_bytes; got += n)
        if ((n = read(fd, buf + got, (size_t)(o->item_bytes - got))) <= 0)
            break;
    close(fd);
}

static void write_line(struct worker *w, int item, const struct stamp t[3])
{
    fprintf(w->out, "{\"pid\": %d, \"n\": %d, \"t0\": %" PRId64 ", \"t1\": %" PRId64, getpid(),
            item, t[0].wall, t[2].wall);
    print_part(w->out, "all", stamp_minus(t[2], t[0]));
    print_part(w->out, "read", stamp_minus(t[1], t[0]));
    print_part(w->out, "dec", stamp_minus(t[2], t[1]));
    print_part(w->out, "gap", stamp_minus(t[0], w->last));
    if (w->birth) {
        fprintf(w->out, ", \"birth\": %" PRId64, w->birth);
        print_part(w->out, "init",
                   (struct stamp){w->ready.wall - w->birth, w->ready.cpu, w->ready.delay});
        w->birth = 0;
    }
    fputs("}\n", w->out);
}

/* The next item to make; -1 when none is left. */
static int claim(struct job *j)
{
    pthread_mutex_lock(&j->queue.lock);
    int item = j->queue.next_item < j->o.steps ? j->queue.next_item++ : -1;
    pthread_mutex_unlock(&j->queue.lock);
    return item;
}

static void put(struct queue *q, int depth, int item)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == depth)
        pthread_cond_wait(&q->emptied, &q->lock);
    q->items[q->count++] = item;
    pthread_cond_signal(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

static int take(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (!q->count)
        pthread_cond_wait(&q->filled, &q->lock);
    int item = q->items[0];
    memmove(q->items, q->items + 1, (size_t)--q->count * sizeof q->items[0]);
    pthread_cond_signal(&q->emptied);
    pthread_mutex_unlock(&q->lock);
    return item;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct job *j = w->job;
    char *buf = malloc((size_t)j->o.item_bytes);
    w->schedstat = schedstat_open();
    w->ready = w->last = stamp_now(w->schedstat);
    for (int item = claim(j); buf && item >= 0; item = claim(j)) {
        struct stamp t[3];
        t[0] = stamp_now(w->schedstat);
        read_item(&j->o, item, buf);
        t[1] = stamp_now(w->schedstat);
        burn(j->o.decode_ns);
        t[2] = stamp_now(w->schedstat);
        write_line(w, item, t);
        w->last = t[2];
        put(&j->queue, j->o.depth, item);
    }
    free(buf);
    close(w->schedstat);
    return NULL;
}

static void *symbol(void *lib, const char *name)
{
    void *at = dlsym(lib, name);
    if (!at) {
        fprintf(stderr, "threads: libcuda has no %s\n", name);
        exit(1);
    }
    return at;
}

static void driver_open(struct driver *d)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    int device = 0;
    if (!lib) {
        fprintf(stderr, "threads: %s\n", dlerror());
        exit(1);
    }
    *(void **)&d->init = symbol(lib, "cuInit");
    *(void **)&d->device_get = symbol(lib, "cuDeviceGet");
    *(void **)&d->context_create = symbol(lib, "cuCtxCreate_v2");
    *(void **)&d->context_destroy = symbol(lib, "cuCtxDestroy_v2");
    *(void **)&d->module_load = symbol(lib, "cuModuleLoadData");
    *(void **)&d->module_function = symbol(lib, "cuModuleGetFunction");
    *(void **)&d->stream_create = symbol(lib, "cuStreamCreate");
    *(void **)&d->stream_synchronize = symbol(lib, "cuStreamSynchronize");
    *(void **)&d->launch = symbol(lib, "cuLaunchKernel");
    check(d->init(0), "cuInit");
    check(d->device_get(&device, 0), "cuDeviceGet");
    check(d->context_create(&d->context, 0, device), "cuCtxCreate");
    check(d->module_load(&d->module, spin_ptx), "cuModuleLoadData");
    check(d->module_function(&d->function, d->module, "spin"), "cuModuleGetFunction");
    check(d->stream_create(&d->stream, 1), "cuStreamCreate");
}

static void mark(struct job *j, const char *label, int batch)
{
    j->marks[j->mark_count++] = (struct mark){stamp_now(j->schedstat), label, batch};
}

static void step(struct job *j, struct driver *d, int batch)
{
    uint64_t ns = (uint64_t)j->o.kernel_ns;
    void *params[] = {&ns};
    mark(j, "next", batch);
    struct kernel *k = &j->kernels[j->kernel_count++];
    k->ns = j->o.kernel_ns;
    k->t0 = clock_ns(CLOCK_MONOTONIC);
    check(d->launch(d->function, 1, 1, 1, 1, 1, 1, 0, d->stream, params, NULL), "cuLaunchKernel");
    k->t1 = clock_ns(CLOCK_MONOTONIC);
    mark(j, "launch", -1);
    check(d->stream_synchronize(d->stream), "cuStreamSynchronize");
    mark(j, "sync", -1);
}

static void write_main(const struct job *j)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/main-%d.json", j->o.log, getpid());
    FILE *out = fopen(path, "w");
    if (!out)
        die(path);
    fprintf(out, "{\"pid\": %d, \"device\": 0, \"rank\": 0, \"span\": [%" PRId64 ", %" PRId64 "], ",
            getpid(), j->marks[0].at.wall, j->marks[j->mark_count - 1].at.wall);
    fputs("\"marks\": [", out);
    for (int i = 0; i < j->mark_count; i++) {
        const struct mark *m = &j->marks[i];
        fprintf(out, "%s[%" PRId64 ", %" PRId64 ", %" PRId64 ", \"%s\", ", i ? ", " : "",
                m->at.wall, m->at.cpu, m->at.delay, m->label);
        fprintf(out, m->batch < 0 ? "null]" : "{\"n\": %d}]", m->batch);
    }
    fputs("], \"kernels\": [", out);
    for (int i = 0; i < j->kernel_count; i++)
        fprintf(out, "%s[%" PRId64 ", %" PRId64 ", %" PRId64 "]", i ? ", " : "", j->kernels[i].t0,
                j->kernels[i].t1, j->kernels[i].ns);
    fputs("]}\n", out);
    fclose(out);
}

static void start_workers(struct job *j, struct worker *workers)
{
    for (int i = 0; i < j->o.workers; i++) {
        char path[PATH_BYTES];
        struct worker *w = &workers[i];
        snprintf(path, sizeof path, "%s/worker-%d-%d.jsonl", j->o.log, getpid(), i);
        *w = (struct worker){.job = j, .birth = clock_ns(CLOCK_MONOTONIC), .out = fopen(path, "w")};
        if (!w->out || pthread_create(&w->thread, NULL, work, w))
            die(path);
    }
    mark(j, "iter", -1);
}

static void parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.files = 1, .item_bytes = 65536, .workers = 2, .depth = 4, .steps = 100};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *k = argv[i], *v = argv[i + 1];
        long long n = atoll(v);
        if (!strcmp(k, "--truth"))
            o->log = v;
        else if (!strcmp(k, "--data"))
            o->data = v;
        else if (!strcmp(k, "--files"))
            o->files = (int)n;
        else if (!strcmp(k, "--item-bytes"))
            o->item_bytes = (int)n;
        else if (!strcmp(k, "--workers"))
            o->workers = (int)n;
        else if (!strcmp(k, "--depth"))
            o->depth = (int)n;
        else if (!strcmp(k, "--steps"))
            o->steps = (int)n;
        else if (!strcmp(k, "--decode-us"))
            o->decode_ns = n * US_NS;
        else if (!strcmp(k, "--kernel-us"))
            o->kernel_ns = n * US_NS;
    }
    if (!o->log || !o->data || o->workers < 1 || o->workers > WORKERS_MAX || o->depth < 1 ||
        o->depth > DEPTH_MAX || o->files < 1 || o->item_bytes < 1 || o->steps < 1) {
        fputs("usage: threads --truth DIR --data DIR [...]: see the source\n", stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct job j = {.queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .filled = PTHREAD_COND_INITIALIZER,
                              .emptied = PTHREAD_COND_INITIALIZER}};
    struct driver d = {0};
    struct worker workers[WORKERS_MAX];
    parse(&j.o, argc, argv);
    j.marks = calloc((size_t)j.o.steps * 3 + 8, sizeof *j.marks);
    j.kernels = calloc((size_t)j.o.steps, sizeof *j.kernels);
    if (!j.marks || !j.kernels)
        die("memory");
    j.schedstat = schedstat_open();
    driver_open(&d);
    mark(&j, "begin", -1);
    start_workers(&j, workers);
    for (int i = 0; i < j.o.steps; i++)
        step(&j, &d, take(&j.queue));
    for (int i = 0; i < j.o.workers; i++) {
        pthread_join(workers[i].thread, NULL);
        fclose(workers[i].out);
    }
    mark(&j, "shutdown", -1);
    check(d.context_destroy(d.context), "cuCtxDestroy");
    write_main(&j);
    free(j.marks);
    free(j.kernels);
    return 0;
}
