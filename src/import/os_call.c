/* SPDX-License-Identifier: MIT */
#include "import/os_call.h"

#include <string.h>

/*
 * Names as glibc has them; "64" and leading underscores do not count. What may be a file, a pipe or a socket by its
 * name alone (read) is taken for a file: between processes Python polls first, and sockets have recv.
 * A condition or semaphore says only that another thread is awaited, so it is unknown.
 */
static const struct {
    const char *name;
    enum cause cause;
} calls[] = {
    {"read", CAUSE_STORAGE},
    {"readv", CAUSE_STORAGE},
    {"pread", CAUSE_STORAGE},
    {"preadv", CAUSE_STORAGE},
    {"preadv2", CAUSE_STORAGE},
    {"fread", CAUSE_STORAGE},
    {"fread_unlocked", CAUSE_STORAGE},
    {"fgets", CAUSE_STORAGE},
    {"getline", CAUSE_STORAGE},
    {"open", CAUSE_STORAGE},
    {"openat", CAUSE_STORAGE},
    {"fopen", CAUSE_STORAGE},
    {"opendir", CAUSE_STORAGE},
    {"readdir", CAUSE_STORAGE},
    {"scandir", CAUSE_STORAGE},
    {"stat", CAUSE_STORAGE},
    {"lstat", CAUSE_STORAGE},
    {"fstat", CAUSE_STORAGE},
    {"statx", CAUSE_STORAGE},
    {"access", CAUSE_STORAGE},
    {"readahead", CAUSE_STORAGE},
    {"io_getevents", CAUSE_STORAGE},
    {"aio_suspend", CAUSE_STORAGE},
    {"fsync", CAUSE_CHECKPOINT},
    {"fdatasync", CAUSE_CHECKPOINT},
    {"msync", CAUSE_CHECKPOINT},
    {"sync", CAUSE_CHECKPOINT},
    {"syncfs", CAUSE_CHECKPOINT},
    {"sync_file_range", CAUSE_CHECKPOINT},
    {"write", CAUSE_CHECKPOINT},
    {"writev", CAUSE_CHECKPOINT},
    {"pwrite", CAUSE_CHECKPOINT},
    {"pwritev", CAUSE_CHECKPOINT},
    {"fwrite", CAUSE_CHECKPOINT},
    {"fflush", CAUSE_CHECKPOINT},
    {"ftruncate", CAUSE_CHECKPOINT},
    {"rename", CAUSE_CHECKPOINT},
    {"recv", CAUSE_NETWORK},
    {"recvfrom", CAUSE_NETWORK},
    {"recvmsg", CAUSE_NETWORK},
    {"recvmmsg", CAUSE_NETWORK},
    {"send", CAUSE_NETWORK},
    {"sendto", CAUSE_NETWORK},
    {"sendmsg", CAUSE_NETWORK},
    {"connect", CAUSE_NETWORK},
    {"accept", CAUSE_NETWORK},
    {"accept4", CAUSE_NETWORK},
    {"getaddrinfo", CAUSE_NETWORK},
    {"sleep", CAUSE_SLEEP},
    {"usleep", CAUSE_SLEEP},
    {"nanosleep", CAUSE_SLEEP},
    {"clock_nanosleep", CAUSE_SLEEP},
    {"pthread_mutex_lock", CAUSE_LOCK},
    {"pthread_mutex_timedlock", CAUSE_LOCK},
    {"pthread_rwlock_rdlock", CAUSE_LOCK},
    {"pthread_rwlock_wrlock", CAUSE_LOCK},
    {"pthread_spin_lock", CAUSE_LOCK},
    {"flock", CAUSE_LOCK},
    {"fork", CAUSE_STARTUP},
    {"vfork", CAUSE_STARTUP},
    {"posix_spawn", CAUSE_STARTUP},
    {"execve", CAUSE_STARTUP},
    {"dlopen", CAUSE_STARTUP},
    {"pthread_create", CAUSE_STARTUP},
    {"mmap", CAUSE_HOST},
    {"munmap", CAUSE_HOST},
    {"madvise", CAUSE_HOST},
    {"mprotect", CAUSE_HOST},
    {"mremap", CAUSE_HOST},
    {"sched_yield", CAUSE_HOST},
    {"close", CAUSE_HOST},
    {"fclose", CAUSE_HOST},
    {"ioctl", CAUSE_HOST},
    {"backtrace", CAUSE_HOST},
};

enum cause os_call_cause(const char *name)
{
    name += strspn(name, "_");
    size_t n = strcspn(name, "@ ("); /* "read@GLIBC_2.2.5" */
    if (n > 2 && !strncmp(name + n - 2, "64", 2))
        n -= 2;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strlen(calls[i].name) == n && !memcmp(calls[i].name, name, n))
            return calls[i].cause;
    return CAUSE_UNKNOWN;
}
