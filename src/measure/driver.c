/* SPDX-License-Identifier: MIT */
#include "measure/driver.h"

#include "base/rootfs.h"
#include "base/str.h"
#include "base/unit.h"
#include "measure/ringdir.h"
#include "probe/ring.h"
#include "sense/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LOOK (250 * NS_PER_MS)
#define LONGEST_PAUSE (60 * NS_PER_S)

bool driver_look_is_due(struct driver_looks *l, int64_t now)
{
    if (!l->pause) {
        l->pause = FIRST_LOOK;
        l->next = now + l->pause;
    }
    if (now < l->next)
        return false;
    l->pause = 2 * l->pause < LONGEST_PAUSE ? 2 * l->pause : LONGEST_PAUSE;
    l->next = now + l->pause;
    return true;
}

struct finding {
    uint32_t root, found;
    char *path;
    size_t size;
};

static void see(void *arg, const char *name)
{
    struct finding *f = arg;
    char *end;
    unsigned long pid = strtoul(name, &end, 10);
    if (f->found || *end || !pid || pid > UINT32_MAX || !process_descends((uint32_t)pid, f->root))
        return;
    if (process_maps((uint32_t)pid, process_is_libcuda, f->path, f->size))
        f->found = (uint32_t)pid;
}

uint32_t driver_find(uint32_t root, bool self, char *path, size_t size)
{
    struct finding f = {.root = root, .path = path, .size = size};
    if (self && process_maps(root, process_is_libcuda, path, size))
        return root;
    rootfs_each(NULL, "/proc", see, &f);
    return f.found;
}

bool driver_is_simulated(uint32_t pid, const char *path)
{
    char sim[PATH_MAX], library[PATH_MAX + 16];
    struct stat theirs, ours;
    struct str environment = {0};
    const char *told = process_environment(pid, &environment)
                           ? process_variable(&environment, "GPUFEED_SIMULATE")
                           : NULL;
    bool simulated = told && !strcmp(told, "1");
    str_clear(&environment);
    if (simulated || !ringdir_sim(sim, sizeof(sim)))
        return simulated;
    snprintf(library, sizeof(library), "%s/libcuda.so.1", sim);
    return stat(path, &theirs) == 0 && stat(library, &ours) == 0 && theirs.st_dev == ours.st_dev &&
           theirs.st_ino == ours.st_ino;
}

/* The job, or somebody who tidies up, took away what tells a probe that it is read. */
static bool rings_are_gone(const char *ring_dir)
{
    char lock[PATH_MAX];
    int n = snprintf(lock, sizeof(lock), "%s/" RING_LOCK, ring_dir);
    return n > 0 && n < (int)sizeof(lock) && access(lock, F_OK);
}

static const char *reason(uint32_t pid, const char *ring_dir)
{
    struct str environment = {0};
    const char *why = NULL;
    if (!process_environment(pid, &environment)) {
        why = "it runs as another user: run gpufeed itself as root (sudo gpufeed run ...)";
    } else {
        const char *dir = process_variable(&environment, RING_DIR_ENV);
        const char *probe = process_variable(&environment, "CUDA_INJECTION64_PATH");
        if (!dir || !probe)
            why = "its environment was cleared on the way; pass it on, as with sudo "
                  "--preserve-env=CUDA_INJECTION64_PATH," RING_DIR_ENV;
        else if (strcmp(dir, ring_dir))
            why = "another gpufeed that the job started measures it: see that one's recording";
        else if (!ringdir_is_probe(probe))
            why = "the job set CUDA_INJECTION64_PATH to another tool; run without it";
        else if (rings_are_gone(ring_dir))
            why = "the folder that " RING_DIR_ENV
                  " names was emptied or removed while it was in use; leave "
                  "it alone";
    }
    str_clear(&environment);
    return why;
}

const char *driver_unseen(const char *ring_dir, char *line, size_t size)
{
    char path[PATH_MAX], name[32] = "process";
    uint32_t pid = driver_find((uint32_t)getpid(), false, path, sizeof(path));
    const char *why = pid ? reason(pid, ring_dir) : NULL;
    if (!why)
        return NULL;
    snprintf(path, sizeof(path), "/proc/%u/comm", pid);
    rootfs_line(NULL, path, name, sizeof(name));
    snprintf(line, size, "GPU activity of %s (%u) was not seen: %s", name, pid, why);
    return why;
}

const char *driver_calls_unseen(bool by_choice, char *line, size_t size)
{
    const char *why = by_choice
                          ? "--sampler sees no driver calls; leave it out"
                          : "that takes CAP_BPF and CAP_PERFMON (sudo gpufeed record ...) in a job "
                            "that runs already; one that 'gpufeed run' starts needs neither";
    snprintf(line, size, "the device was not observed: %s", why);
    return why;
}
