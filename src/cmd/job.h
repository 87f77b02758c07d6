/* SPDX-License-Identifier: MIT */
/*
 * job: starts the measured command, lets it be prepared before it runs, passes
 * signals on and collects how it ended.
 *
 * The child waits at a gate until job_go, so that observers can attach to its
 * pid before the command's first instruction. Then the caller's process becomes the
 * subreaper: what the job leaves behind becomes our child, and Yama lets us look at it.
 */
#ifndef GPUFEED_CMD_JOB_H
#define GPUFEED_CMD_JOB_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Exit codes of a shell for commands that could not be run. */
#define JOB_NOT_EXECUTABLE 126
#define JOB_NOT_FOUND 127
#define JOB_SIGNAL_BASE 128

struct job {
    pid_t pid;
    int gate;     /* writing end; -1 once open */
    int report;   /* reading end: errno of a failed exec */
    sigset_t was; /* the signal mask that the job gets back */
    void (*pipe_was)(int), (*size_was)(int), (*child_was)(int); /* what SIGPIPE, ... did */
    bool ended;
    int code;       /* as a shell would say it */
    int exec_errno; /* 0: the command was started */
};

/* 0: there is such a program, to be executed; else the errno that running it would give. */
int job_find(const char *name);
/* Forks. `env` are NAME=VALUE texts that are added to the environment. */
int job_fork(struct job *job, char *const *argv, const char *const *env, struct error *e);
/* Gives back what the job had: signals as they were, the environment with `env` added. */
void job_restore(const struct job *job, const char *const *env);
/* Lets the command run. */
void job_go(struct job *job);
/* Collects all children that ended, without waiting; job->ended once the command did.
 * Returns whether any child is left. */
bool job_reap(struct job *job);
/* Kills a job that was never let go. */
void job_cancel(struct job *job);

#endif
