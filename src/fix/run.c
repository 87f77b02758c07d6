/* SPDX-License-Identifier: MIT */
#include "fix/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const folders[] = {"/usr/sbin", "/sbin", "/usr/bin", "/bin"};

static bool find(const char *name, char *buf, size_t size)
{
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (snprintf(buf, size, "%s/%s", folders[i], name) < (int)size && access(buf, X_OK) == 0)
            return true;
    return false;
}

/* What the program said, on one line. */
static void collect(int fd, char *buf, size_t size)
{
    size_t n = 0;
    ssize_t got;
    char rest[512];
    while (n + 1 < size && (got = read(fd, buf + n, size - 1 - n)) > 0)
        n += (size_t)got;
    while (read(fd, rest, sizeof(rest)) > 0)
        ;
    while (n && buf[n - 1] == '\n')
        n--;
    buf[n] = '\0';
    for (char *p = buf; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
}

int run_program(const char *const *argv, struct error *e)
{
    static char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
    static char *const environment[] = {search, locale, NULL};
    char path[PATH_MAX], said[256] = "";
    int fds[2], code;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (!find(argv[0], path, sizeof(path)))
        return error_set(e, STATUS_MISSING, "the program \"%s\" is not installed", argv[0]);
    if (pipe2(fds, O_CLOEXEC))
        return error_errno(e, "cannot run \"%s\"", argv[0]);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
    int why =
        posix_spawn(&pid, path, &actions, NULL, (char *const *)(const void *)argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (why) {
        close(fds[0]);
        errno = why;
        return error_errno(e, "cannot run \"%s\"", argv[0]);
    }
    collect(fds[0], said, sizeof(said));
    close(fds[0]);
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(code) && !WEXITSTATUS(code))
        return STATUS_OK;
    return error_set(e, STATUS_SYSTEM, "\"%s\" failed: %s", argv[0], *said ? said : "no message");
}
