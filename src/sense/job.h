/* SPDX-License-Identifier: MIT */
/*
 * job: the processes of the job that is looked at, and the machine as they see it.
 *
 * A job in a container has a root folder of its own: /etc/nccl.conf, libraries and device
 * files are those below /proc/PID/root.
 */
#ifndef GPUFEED_SENSE_JOB_H
#define GPUFEED_SENSE_JOB_H

#include "base/str.h"
#include "sense/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_process {
    uint32_t pid, ppid;
    uint64_t start, threads; /* ticks since boot; count */
    bool job;
};

struct job_list {
    struct job_process *list; /* owned; all processes of the machine */
    size_t count, cap;
};

/* Replaces the list by the processes that run now; those of o's job are marked. */
void job_look(struct job_list *l, const struct source_opts *o);
void job_clear(struct job_list *l);

/* What to put before a path to see it as the job does: "/proc/PID/root", or "" where there is no
 * job, or a dump without that folder. False: the job's root folder cannot be looked into. */
bool job_root(const struct source_opts *o, char *buf, size_t size);

/* The first `max` bytes of a process's command line replace *ret, each word with its NUL; none where it
 * cannot be read. In a dump words may be parted by blanks. */
void job_words(const struct source_opts *o, uint32_t pid, size_t max, struct str *ret);

/* The value of a variable in the environment that the job's first process started with; false
 * if it is absent or too long. Not redacted. */
bool job_env(const struct source_opts *o, const char *name, char *buf, size_t size);

#endif
