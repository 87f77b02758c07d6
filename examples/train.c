/* SPDX-License-Identifier: MIT */
/*
 * train: the loop of train_images.py without Python: threads read and decode
 * batches into a bounded queue, the main thread copies each to the accelerator
 * and computes on it with the kernel of spin.ptx (same folder as the program,
 * or --ptx). Drives libcuda.so.1 directly; build: cc -O2 train.c -ldl -lpthread
 *
 *     gpufeed run --simulate -- ./train --workers 2 --decode-ms 4
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX 64
#define FILES_MAX 65536

struct options {
    const char *data, *ptx, *log, *checkpoint_dir;
    int workers, batch, steps, prefetch, device, checkpoint_every, checkpoint_mib;
    size_t sample_bytes;
    double compute_ms, decode_ms;
    bool pageable;
};

/* One batch on its way from a worker to the main thread. */
struct batch {
    unsigned char *pixels;
    double read, decode; /* seconds spent on it */
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    struct batch *slots;
    int capacity, head, count;
};

struct job {
    struct options o;
    struct queue queue;
    char *files[FILES_MAX];
    int file_count;
    int next_batch; /* atomic */
    double read, decode, load_wait, copy, wait, checkpoint;
};

struct cuda {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*context_create)(void **, unsigned, int);
    int (*context_destroy)(void *);
    int (*module_load)(void **, const void *);
    int (*get_function)(void **, void *, const char *);
    int (*stream_create)(void **, unsigned);
    int (*stream_wait)(void *);
    int (*alloc)(uint64_t *, size_t);
    int (*alloc_host)(void **, size_t);
    int (*copy)(uint64_t, const void *, size_t);
    int (*copy_async)(uint64_t, const void *, size_t, void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    void *context, *spin, *stream, *stage;
    uint64_t memory;
};

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what, const char *object)
{
    fprintf(stderr, "train: %s \"%s\"\n", what, object);
    exit(2);
}

static void check(int result, const char *call)
{
    if (result != 0) {
        fprintf(stderr, "train: %s: error %d of the CUDA driver\n", call, result);
        exit(2);
    }
}

/* --- the accelerator ------------------------------------------------------------------------- */

static void load_cuda(struct cuda *c)
{
    const struct {
        const char *name;
        void *at;
    } calls[] = {
        {"cuInit", &c->init},
        {"cuDeviceGet", &c->device_get},
        {"cuCtxCreate_v2", &c->context_create},
        {"cuCtxDestroy_v2", &c->context_destroy},
        {"cuModuleLoadData", &c->module_load},
        {"cuModuleGetFunction", &c->get_function},
        {"cuStreamCreate", &c->stream_create},
        {"cuStreamSynchronize", &c->stream_wait},
        {"cuMemAlloc_v2", &c->alloc},
        {"cuMemAllocHost_v2", &c->alloc_host},
        {"cuMemcpyHtoD_v2", &c->copy},
        {"cuMemcpyHtoDAsync_v2", &c->copy_async},
        {"cuLaunchKernel", &c->launch},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    if (!library)
        die("there is no GPU here (try gpufeed run --simulate):", dlerror());
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *f = dlsym(library, calls[i].name);
        if (!f)
            die("libcuda.so.1 lacks", calls[i].name);
        memcpy(calls[i].at, &f, sizeof(f));
    }
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);

    if (!file || !text || fread(text, 1, 65535, file) == 0)
        die("cannot read", path);
    fclose(file);
    return text;
}

static void open_device(struct cuda *c, const struct options *o)
{
    char *ptx = read_text(o->ptx);
    size_t bytes = o->sample_bytes * (size_t)o->batch;
    void *module;
    int device;

    load_cuda(c);
    check(c->init(0), "cuInit");
    check(c->device_get(&device, o->device), "cuDeviceGet");
    check(c->context_create(&c->context, 0, device), "cuCtxCreate");
    check(c->module_load(&module, ptx), "cuModuleLoadData");
    check(c->get_function(&c->spin, module, "spin"), "cuModuleGetFunction");
    check(c->stream_create(&c->stream, 1), "cuStreamCreate");
    check(c->alloc(&c->memory, bytes), "cuMemAlloc");
    if (!o->pageable)
        check(c->alloc_host(&c->stage, bytes), "cuMemAllocHost");
    free(ptx);
}

static void upload(struct cuda *c, const struct options *o, const unsigned char *pixels)
{
    size_t bytes = o->sample_bytes * (size_t)o->batch;

    if (o->pageable) {
        check(c->copy(c->memory, pixels, bytes), "cuMemcpyHtoD");
        return;
    }
    memcpy(c->stage, pixels, bytes); /* the step before was waited for: the buffer is free */
    check(c->copy_async(c->memory, c->stage, bytes, c->stream), "cuMemcpyHtoDAsync");
}

static void compute(struct cuda *c, const struct options *o)
{
    uint64_t duration = (uint64_t)(o->compute_ms * 1e6);
    void *parameters[] = {&duration};

    check(c->launch(c->spin, 1, 1, 1, 1, 1, 1, 0, c->stream, parameters, NULL), "cuLaunchKernel");
}

/* --- loading --------------------------------------------------------------------------------- */

static void list_files(struct job *job)
{
    DIR *folder;
    struct dirent *entry;
    char path[4096];

    if (strcmp(job->o.data, "synthetic") == 0)
        return;
    folder = opendir(job->o.data);
    if (!folder)
        die("cannot read the folder", job->o.data);
    while ((entry = readdir(folder)) && job->file_count < FILES_MAX) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", job->o.data, entry->d_name);
        job->files[job->file_count++] = strdup(path);
    }
    closedir(folder);
    if (job->file_count == 0)
        die("no files in", job->o.data);
}

static void read_sample(const struct job *job, int index, unsigned char *out)
{
    ssize_t n;

    if (job->file_count == 0) {
        memset(out, index, job->o.sample_bytes);
        return;
    }
    const char *path = job->files[index % job->file_count];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die("cannot read", path);
    for (size_t at = 0; at < job->o.sample_bytes; at += (size_t)n) {
        n = read(fd, out + at, job->o.sample_bytes - at);
        if (n <= 0)
            break;
    }
    close(fd);
}

static void decode_sample(const struct job *job, unsigned char *pixels)
{
    double end = seconds(CLOCK_THREAD_CPUTIME_ID) + job->o.decode_ms / 1e3;
    unsigned state = 1;

    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
        for (size_t i = 0; i < job->o.sample_bytes && i < 4096; i++) {
            state = state * 1664525u + 1013904223u;
            pixels[i] ^= (unsigned char)(state >> 24);
        }
    }
}

static void put(struct queue *q, struct batch batch)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == q->capacity)
        pthread_cond_wait(&q->drained, &q->lock);
    q->slots[(q->head + q->count++) % q->capacity] = batch;
    pthread_cond_signal(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

static struct batch take(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == 0)
        pthread_cond_wait(&q->filled, &q->lock);
    struct batch batch = q->slots[q->head];
    q->head = (q->head + 1) % q->capacity;
    q->count--;
    pthread_cond_signal(&q->drained);
    pthread_mutex_unlock(&q->lock);
    return batch;
}

static struct batch make_batch(const struct job *job, int number)
{
    struct batch batch = {.pixels = malloc(job->o.sample_bytes * (size_t)job->o.batch)};

    if (!batch.pixels)
        die("out of memory for", "a batch");
    for (int i = 0; i < job->o.batch; i++) {
        unsigned char *at = batch.pixels + (size_t)i * job->o.sample_bytes;
        double begin = seconds(CLOCK_MONOTONIC);
        read_sample(job, number * job->o.batch + i, at);
        double middle = seconds(CLOCK_MONOTONIC);
        decode_sample(job, at);
        batch.read += middle - begin;
        batch.decode += seconds(CLOCK_MONOTONIC) - middle;
    }
    return batch;
}

static void *worker(void *arg)
{
    struct job *job = arg;
    int number;

    pthread_setname_np(pthread_self(), "loader");
    while ((number = __atomic_fetch_add(&job->next_batch, 1, __ATOMIC_RELAXED)) < job->o.steps)
        put(&job->queue, make_batch(job, number));
    return NULL;
}

/* --- training -------------------------------------------------------------------------------- */

static void checkpoint(const struct options *o)
{
    static const char block[1 << 20];
    char path[4096];

    snprintf(path, sizeof(path), "%s/checkpoint-%d.bin", o->checkpoint_dir, (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        die("cannot write", path);
    for (int i = 0; i < o->checkpoint_mib; i++) {
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
            die("cannot write", path);
    }
    if (fsync(fd) != 0)
        die("cannot sync", path);
    close(fd);
    unlink(path);
}

static void train(struct job *job, struct cuda *c)
{
    for (int step = 1; step <= job->o.steps; step++) {
        double t0 = seconds(CLOCK_MONOTONIC);
        struct batch batch = job->o.workers ? take(&job->queue) : make_batch(job, step - 1);
        double t1 = seconds(CLOCK_MONOTONIC);
        upload(c, &job->o, batch.pixels);
        double t2 = seconds(CLOCK_MONOTONIC);
        compute(c, &job->o);
        check(c->stream_wait(c->stream), "cuStreamSynchronize");
        double t3 = seconds(CLOCK_MONOTONIC);
        if (job->o.checkpoint_every && step % job->o.checkpoint_every == 0)
            checkpoint(&job->o);
        job->checkpoint += seconds(CLOCK_MONOTONIC) - t3;
        job->read += batch.read;
        job->decode += batch.decode;
        job->load_wait += t1 - t0;
        job->copy += t2 - t1;
        job->wait += t3 - t2;
        free(batch.pixels);
    }
}

static void write_log(const struct job *job, double begin, double end)
{
    FILE *file = fopen(job->o.log, "w");

    if (!file)
        die("cannot write", job->o.log);
    fprintf(file,
            "{\"pid\": %d, \"device\": \"libcuda\", \"steps\": %d, \"started_ns\": %.0f, "
            "\"ended_ns\": %.0f, \"compute_seconds_asked\": %.6f,\n \"seconds\": {\"read\": %.6f, "
            "\"decode\": %.6f, \"load_wait\": %.6f, \"copy\": %.6f, \"wait\": %.6f, "
            "\"checkpoint\": %.6f}}\n",
            (int)getpid(), job->o.steps, begin * 1e9, end * 1e9,
            job->o.steps * job->o.compute_ms / 1e3, job->read, job->decode, job->load_wait,
            job->copy, job->wait, job->checkpoint);
    fclose(file);
}

static const struct option long_options[] = {
    {"data", required_argument, NULL, 'd'},
    {"workers", required_argument, NULL, 'w'},
    {"batch", required_argument, NULL, 'b'},
    {"steps", required_argument, NULL, 's'},
    {"prefetch", required_argument, NULL, 'f'},
    {"sample-bytes", required_argument, NULL, 'S'},
    {"compute-ms", required_argument, NULL, 'c'},
    {"decode-ms", required_argument, NULL, 'D'},
    {"pageable", no_argument, NULL, 'p'},
    {"checkpoint-every", required_argument, NULL, 'k'},
    {"checkpoint-mib", required_argument, NULL, 'K'},
    {"checkpoint-dir", required_argument, NULL, 'O'},
    {"device", required_argument, NULL, 'n'},
    {"ptx", required_argument, NULL, 'x'},
    {"log", required_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void usage(void)
{
    puts("usage: train [options]");
    for (const struct option *o = long_options; o->name; o++)
        printf("  --%s%s\n", o->name, o->has_arg ? " VALUE" : "");
    exit(0);
}

static void set_option(struct options *o, int letter, const char *value)
{
    switch (letter) {
    case 'd':
        o->data = value;
        break;
    case 'w':
        o->workers = atoi(value);
        break;
    case 'b':
        o->batch = atoi(value);
        break;
    case 's':
        o->steps = atoi(value);
        break;
    case 'f':
        o->prefetch = atoi(value);
        break;
    case 'S':
        o->sample_bytes = strtoul(value, NULL, 10);
        break;
    case 'c':
        o->compute_ms = atof(value);
        break;
    case 'D':
        o->decode_ms = atof(value);
        break;
    case 'p':
        o->pageable = true;
        break;
    case 'k':
        o->checkpoint_every = atoi(value);
        break;
    case 'K':
        o->checkpoint_mib = atoi(value);
        break;
    case 'O':
        o->checkpoint_dir = value;
        break;
    case 'n':
        o->device = atoi(value);
        break;
    case 'x':
        o->ptx = value;
        break;
    case 'l':
        o->log = value;
        break;
    case 'h':
        usage();
        break;
    default:
        exit(2);
    }
}

static struct options parse(int argc, char **argv)
{
    static char beside[4096];
    struct options o = {.data = "synthetic",
                        .workers = 2,
                        .batch = 16,
                        .steps = 100,
                        .prefetch = 2,
                        .sample_bytes = 49152,
                        .compute_ms = 20,
                        .decode_ms = 2,
                        .checkpoint_mib = 32,
                        .checkpoint_dir = "/tmp"};
    int letter;

    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        set_option(&o, letter, optarg);
    if (optind < argc || o.workers < 0 || o.workers > WORKERS_MAX || o.batch < 1 || o.steps < 0 ||
        o.prefetch < 1 || o.sample_bytes < 1)
        die("bad arguments for", argv[0]);
    if (!o.ptx) {
        ssize_t n = readlink("/proc/self/exe", beside, sizeof(beside) - 16);
        beside[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(beside, '/');
        strcpy(slash ? slash + 1 : beside, "spin.ptx");
        o.ptx = beside;
    }
    return o;
}

int main(int argc, char **argv)
{
    static struct job job;
    struct cuda cuda = {0};
    pthread_t threads[WORKERS_MAX];

    job.o = parse(argc, argv);
    list_files(&job);
    job.queue.capacity = job.o.prefetch * (job.o.workers ? job.o.workers : 1);
    job.queue.slots = calloc((size_t)job.queue.capacity, sizeof(struct batch));
    pthread_mutex_init(&job.queue.lock, NULL);
    pthread_cond_init(&job.queue.filled, NULL);
    pthread_cond_init(&job.queue.drained, NULL);
    open_device(&cuda, &job.o);
    double begin = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < job.o.workers; i++) {
        if (pthread_create(&threads[i], NULL, worker, &job) != 0)
            die("cannot start", "a worker");
    }
    train(&job, &cuda);
    double end = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < job.o.workers; i++)
        pthread_join(threads[i], NULL);
    check(cuda.context_destroy(cuda.context), "cuCtxDestroy");
    if (job.o.log)
        write_log(&job, begin, end);
    fprintf(stderr, "%d steps in %.2f s, %.2f s waiting for data\n", job.o.steps, end - begin,
            job.load_wait);
    return 0;
}
