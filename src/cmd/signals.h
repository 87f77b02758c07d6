/* SPDX-License-Identifier: MIT */
/*
 * signals: those that end a run, or that a batch system sends to a job, come through a descriptor
 * and are passed on to the job, once.
 *
 * The terminal's Ctrl-C reaches the job by itself. So does a signal to the process group, such as
 * `kill -TERM -PGID`, timeout(1)'s or a service manager's; but a signal does not say to whom else
 * it was sent. Therefore a second process stands in the group with all signals blocked and is
 * asked whether it got the same one. It is no child of ours (what becomes our child later is the
 * job's), holds no file, and ends with us, however we end.
 */
#ifndef GPUFEED_CMD_SIGNALS_H
#define GPUFEED_CMD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct signals {
    int fd;      /* readable: a signal, or a child ended */
    int witness; /* to the other process; -1: there is none, every signal sent to us is passed on */
    sigset_t was; /* the mask before */
};

void signals_open(struct signals *s);
/* Starts the other process: before the caller becomes a subreaper, which would make it its child. */
void signals_start_witness(struct signals *s);
/* Whether one came that ends a run; all are forgotten: with the job at its end they are for us. */
bool signals_came(struct signals *s);
/* Passes on what came and the job has not got by itself. */
void signals_pass(struct signals *s, pid_t job);
/* The job has ended: the other process ends. Again is fine. */
void signals_job_ended(struct signals *s);
void signals_close(struct signals *s);

#endif
