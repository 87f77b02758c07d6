/* SPDX-License-Identifier: MIT */
#include "cmd/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int executable(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return errno;
    if (S_ISDIR(st.st_mode))
        return EACCES;
    return access(path, X_OK) ? errno : 0;
}

int job_find(const char *name)
{
    char path[PATH_MAX];
    const char *at = getenv("PATH"), *end;
    int worst = ENOENT;
    if (strchr(name, '/'))
        return executable(name);
    for (at = at ? at : "/bin:/usr/bin"; name[0]; at = end + 1) {
        end = strchrnul(at, ':');
        int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "",
                         name);
        int err = n < (int)sizeof(path) ? executable(path) : ENAMETOOLONG;
        if (!err)
            return 0;
        if (err == EACCES)
            worst = err;
        if (!*end)
            break;
    }
    return worst;
}

void job_restore(const struct job *job, const char *const *env)
{
    for (; env && *env; env++) {
        char *own = strdup(*env);
        if (own)
            putenv(own);
    }
    signal(SIGPIPE, job->pipe_was);
    signal(SIGXFSZ, job->size_was);
    signal(SIGCHLD, job->child_was);
    sigprocmask(SIG_SETMASK, &job->was, NULL);
}

static _Noreturn void child(const struct job *job, int gate, int report, char *const *argv,
                            const char *const *env)
{
    char go;
    ssize_t n;
    while ((n = read(gate, &go, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1)
        _exit(JOB_NOT_EXECUTABLE); /* gpufeed is gone: do not run unseen */
    job_restore(job, env);
    execvp(argv[0], argv);
    int err = errno;
    if (write(report, &err, sizeof(err)) < 0)
        err = 0;
    _exit(err == ENOENT ? JOB_NOT_FOUND : JOB_NOT_EXECUTABLE);
}

int job_fork(struct job *job, char *const *argv, const char *const *env, struct error *e)
{
    int gate[2], report[2];
    if (pipe2(gate, O_CLOEXEC))
        return error_errno(e, "cannot make a pipe");
    if (pipe2(report, O_CLOEXEC)) {
        int rc = error_errno(e, "cannot make a pipe");
        close(gate[0]);
        close(gate[1]);
        return rc;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        close(report[0]);
        child(job, gate[0], report[1], argv, env);
    }
    close(gate[0]);
    close(report[1]);
    if (pid < 0) {
        int rc = error_errno(e, "cannot start \"%s\"", argv[0]);
        close(gate[1]);
        close(report[0]);
        return rc;
    }
    job->pid = pid;
    job->gate = gate[1];
    job->report = report[0];
    return STATUS_OK;
}

void job_go(struct job *job)
{
    ssize_t n;
    int err = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (write(job->gate, "g", 1) < 0)
        job->exec_errno = 0; /* the child was killed at the gate: reaping tells */
    close(job->gate);
    job->gate = -1;
    while ((n = read(job->report, &err, sizeof(err))) < 0 && errno == EINTR)
        ;
    if (n == (ssize_t)sizeof(err))
        job->exec_errno = err;
    close(job->report);
}

bool job_reap(struct job *job)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != job->pid)
            continue;
        job->ended = true;
        job->code = WIFSIGNALED(status) ? JOB_SIGNAL_BASE + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return pid == 0;
}

void job_cancel(struct job *job)
{
    if (job->gate < 0)
        return;
    close(job->gate);
    close(job->report);
    job->gate = -1;
    kill(job->pid, SIGKILL);
    waitpid(job->pid, NULL, 0);
}
