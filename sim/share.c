/* SPDX-License-Identifier: MIT */
#include "share.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"
#include "clock.h"

#define GRANULE_NS NS_PER_MS
#define FOLDER_TRIES 100
#define BUSY_MASK ((UINT64_C(1) << SHARE_BUSY_BITS) - 1)
/* Granules kept behind now, so that work far ahead never overwrites what a reader looks at. */
#define KEEP_BEHIND 4096

/* Start time of a process in clock ticks since boot; 0: no such process. */
static uint64_t start_ticks(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    const char *at = strrchr(text, ')'); /* the name may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* Fails, as it should, while another process has its file there. */
static void remove_folder(const char *dir)
{
    if (!strncmp(dir, SIM_FOLDERS, strlen(SIM_FOLDERS)))
        rmdir(dir);
}

void share_remove(const char *dir, const char *path)
{
    unlink(path);
    remove_folder(dir);
}

struct share_file *share_create(const char *dir, char path[300])
{
    struct share_file *file = MAP_FAILED;
    int fd = -1;

    snprintf(path, 300, "%s/%d.sim", dir, (int)getpid());
    for (int i = 0; i < FOLDER_TRIES && fd < 0;
         i++) { /* the last to leave may take it away again */
        mkdir(dir, 0700);
        unlink(path);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 && errno != ENOENT)
            break;
    }
    if (fd >= 0 && ftruncate(fd, sizeof(*file)) == 0)
        file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (file == MAP_FAILED) {
        if (fd >= 0)
            unlink(path);
        path[0] = '\0';
        file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (file == MAP_FAILED)
        return NULL;
    file->pid = (uint32_t)getpid();
    file->start_ticks = start_ticks(getpid());
    atomic_store_explicit(&file->magic, SHARE_MAGIC, memory_order_release);
    return file;
}

static void add_to_granule(_Atomic uint64_t *word, uint64_t number, uint64_t busy)
{
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    if (old >> SHARE_BUSY_BITS == number)
        busy += old & BUSY_MASK;
    if (busy > (uint64_t)GRANULE_NS)
        busy = (uint64_t)GRANULE_NS;
    atomic_store_explicit(word, number << SHARE_BUSY_BITS | busy, memory_order_relaxed);
}

void share_add_busy(struct share_device *device, enum share_engine engine, int64_t start,
                    int64_t end)
{
    int64_t horizon = sim_now() + (SHARE_GRANULES - KEEP_BEHIND) * GRANULE_NS;

    if (end > horizon)
        end = horizon;
    while (start < end) {
        uint64_t number = (uint64_t)(start / GRANULE_NS);
        int64_t stop = (int64_t)(number + 1) * GRANULE_NS;
        if (stop > end)
            stop = end;
        add_to_granule(&device->granules[engine][number % SHARE_GRANULES], number,
                       (uint64_t)(stop - start));
        start = stop;
    }
}

static const struct share_file *map_file(int dir_fd, const char *name)
{
    struct stat status;
    const struct share_file *file = MAP_FAILED;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && status.st_size >= (off_t)sizeof(*file))
        file = mmap(NULL, sizeof(*file), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return file == MAP_FAILED ? NULL : file;
}

static void add_process(struct share_view *view, int dir_fd, const char *name)
{
    char *end;
    long pid = strtol(name, &end, 10);
    if (pid <= 0 || strcmp(end, ".sim") != 0)
        return;
    const struct share_file *file = map_file(dir_fd, name);
    if (!file)
        return;
    uint64_t ticks = start_ticks((pid_t)pid);
    bool ready = atomic_load_explicit(&file->magic, memory_order_acquire) == SHARE_MAGIC;
    struct share_process *grown = NULL;
    if (ready && ticks == file->start_ticks && ticks != 0)
        grown = realloc(view->processes, (view->count + 1) * sizeof(*grown));
    else if (ticks == 0)
        unlinkat(dir_fd, name, 0);
    if (!grown) {
        munmap((void *)(uintptr_t)file, sizeof(*file));
        return;
    }
    view->processes = grown;
    view->processes[view->count++] = (struct share_process){.file = file, .pid = (pid_t)pid};
}

static void add_folder(struct share_view *view, const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        add_process(view, dirfd(dir), entry->d_name);
    closedir(dir);
    remove_folder(path); /* of processes that were killed */
}

void share_view_open(struct share_view *view, const char *pattern)
{
    glob_t found;

    *view = (struct share_view){0};
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_folder(view, found.gl_pathv[i]);
    globfree(&found);
}

void share_view_close(struct share_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        munmap((void *)(uintptr_t)view->processes[i].file, sizeof(struct share_file));
    free(view->processes);
    *view = (struct share_view){0};
}

static int64_t granule_busy(const struct share_process *process, int device,
                            enum share_engine engine, uint64_t number)
{
    const struct share_device *shared = &process->file->devices[device];
    uint64_t word = atomic_load_explicit(&shared->granules[engine][number % SHARE_GRANULES],
                                         memory_order_relaxed);
    return word >> SHARE_BUSY_BITS == number ? (int64_t)(word & BUSY_MASK) : 0;
}

int64_t share_busy(const struct share_view *view, const struct share_process *process, int device,
                   enum share_engine engine, int64_t from, int64_t to)
{
    int64_t total = 0;

    for (int64_t number = from / GRANULE_NS; number < to / GRANULE_NS; number++) {
        int64_t busy = 0;
        for (size_t i = 0; i < view->count; i++)
            if (!process || process == &view->processes[i])
                busy += granule_busy(&view->processes[i], device, engine, (uint64_t)number);
        total += busy < GRANULE_NS ? busy : GRANULE_NS;
    }
    return total;
}
