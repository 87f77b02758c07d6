/* SPDX-License-Identifier: MIT */
#include "cmd/signals.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A sender goes from process to process: within this time it has got to all. */
#define SENDER_NS 10000000
/* The witness must get a core to answer. */
#define ANSWER_MS 2000

/* The first end a run; the others only tell the job something, such as that its time is nearly up
 * (sbatch --signal, qsub -notify). */
static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};
#define PASSED (sizeof(passed) / sizeof(passed[0]))
#define ENDING 4

/* ---- the witness ---- */

/* Asked for a signal, it says whether that one has come since it was last asked. */
static _Noreturn void stand_by(int fd)
{
    unsigned char number, got;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    if (fd != 0 && dup2(fd, 0) < 0)
        _exit(1);
    closefrom(1);
    while (read(0, &number, 1) == 1) {
        struct timespec at_once = {0};
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, number);
        got = sigtimedwait(&one, NULL, &at_once) == number;
        if (write(0, &got, 1) != 1)
            break;
    }
    _exit(0);
}

void signals_start_witness(struct signals *s)
{
    int pair[2], status;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return;
    pid_t between = fork();
    if (between == 0) {
        pid_t pid = fork();
        if (pid == 0)
            stand_by(pair[1]);
        _exit(pid < 0);
    }
    close(pair[1]);
    if (between > 0 && waitpid(between, &status, 0) == between && status == 0)
        s->witness = pair[0];
    else
        close(pair[0]);
}

static bool witness_got(int fd, int number)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    unsigned char byte = (unsigned char)number;
    if (fd < 0 || send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || poll(&p, 1, ANSWER_MS) != 1)
        return false;
    return read(fd, &byte, 1) == 1 && byte;
}

/* ---- ours ---- */

void signals_open(struct signals *s)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < PASSED; i++)
        sigaddset(&set, passed[i]);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &s->was);
    s->witness = -1;
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Adds what came to *came, and what a process sent, not the terminal, to *sent. */
static bool take(int fd, sigset_t *came, sigset_t *sent)
{
    struct signalfd_siginfo si;
    bool any = false;
    while (read(fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
        if (si.ssi_signo == SIGCHLD)
            continue;
        any = true;
        sigaddset(came, (int)si.ssi_signo);
        if (si.ssi_code <= 0)
            sigaddset(sent, (int)si.ssi_signo);
    }
    return any;
}

bool signals_came(struct signals *s)
{
    sigset_t came, sent;
    sigemptyset(&came);
    sigemptyset(&sent);
    take(s->fd, &came, &sent);
    for (size_t i = 0; i < ENDING; i++)
        if (sigismember(&came, passed[i]) == 1)
            return true;
    return false;
}

void signals_pass(struct signals *s, pid_t job)
{
    struct timespec pause = {.tv_nsec = SENDER_NS};
    sigset_t came, sent;
    sigemptyset(&came);
    sigemptyset(&sent);
    if (!take(s->fd, &came, &sent))
        return;
    nanosleep(&pause, NULL);
    take(s->fd, &came, &sent); /* timeout(1) sends to us, then to the group */
    for (size_t i = 0; i < PASSED; i++) {
        if (sigismember(&came, passed[i]) != 1)
            continue;
        bool to_all = witness_got(s->witness, passed[i]) && getpgid(job) == getpgrp();
        if (sigismember(&sent, passed[i]) == 1 && !to_all)
            kill(job, passed[i]);
    }
}

void signals_job_ended(struct signals *s)
{
    if (s->witness >= 0)
        close(s->witness);
    s->witness = -1;
}

void signals_close(struct signals *s)
{
    signals_job_ended(s);
    close(s->fd);
}
