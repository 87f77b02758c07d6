/* SPDX-License-Identifier: MIT */
/*
 * Resource limits of a process, by prlimit(2). The target is "PID START LIMIT": the start time keeps
 * a process that later got the same number out of it.
 */
#include "fix/knob.h"

#include "base/rootfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct {
    const char *name;
    int resource;
} limits[] = {{"nofile", RLIMIT_NOFILE}, {"memlock", RLIMIT_MEMLOCK}};

static bool parse_target(const char *target, pid_t *ret_pid, unsigned long long *ret_start,
                         int *ret_resource)
{
    char name[16];
    int pid;
    if (sscanf(target, "%d %llu %15s", &pid, ret_start, name) != 3 || pid <= 0)
        return false;
    *ret_pid = pid;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (!strcmp(limits[i].name, name)) {
            *ret_resource = limits[i].resource;
            return true;
        }
    return false;
}

static bool parse_one(const char **p, rlim_t *ret)
{
    char *end;
    if (!strncmp(*p, "unlimited", 9)) {
        *ret = RLIM_INFINITY;
        *p += 9;
        return true;
    }
    errno = 0;
    unsigned long long v = strtoull(*p, &end, 10);
    if (end == *p || errno || **p == '-')
        return false;
    *ret = v;
    *p = end;
    return true;
}

static bool parse_value(const char *value, struct rlimit *ret)
{
    const char *p = value;
    return parse_one(&p, &ret->rlim_cur) && *p++ == ' ' && parse_one(&p, &ret->rlim_max) && !*p &&
           ret->rlim_cur <= ret->rlim_max;
}

static bool may(const char *target, const char *value)
{
    pid_t pid;
    unsigned long long start;
    int resource;
    struct rlimit l;
    return parse_target(target, &pid, &start, &resource) && parse_value(value, &l);
}

/* Field 22 of its stat, after the name in brackets. */
static bool start_time(const char *root, pid_t pid, unsigned long long *ret)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!rootfs_line(root, path, line, sizeof(line)))
        return false;
    char *p = strrchr(line, ')');
    return p &&
           sscanf(p + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%llu",
                  ret) == 1;
}

bool limit_target(const char *root, unsigned pid, const char *limit, char target[KNOB_TARGET])
{
    unsigned long long start;
    if (!start_time(root, (pid_t)pid, &start))
        return false;
    snprintf(target, KNOB_TARGET, "%u %llu %s", pid, start, limit);
    return true;
}

/* Does this process still run? */
static bool same_process(pid_t pid, unsigned long long start)
{
    unsigned long long now;
    return start_time(NULL, pid, &now) && now == start;
}

static void format_one(char *buf, size_t size, rlim_t v)
{
    if (v == RLIM_INFINITY)
        snprintf(buf, size, "unlimited");
    else
        snprintf(buf, size, "%llu", (unsigned long long)v);
}

static int get(const char *root, const char *target, char value[KNOB_VALUE], struct error *e)
{
    pid_t pid;
    unsigned long long start;
    int resource;
    struct rlimit l;
    char soft[24], hard[24];
    if (root && *root)
        return error_set(e, STATUS_MISSING, "a dump has no process to change");
    if (!parse_target(target, &pid, &start, &resource) || !same_process(pid, start))
        return error_set(e, STATUS_MISSING, "process %.40s has ended", target);
    if (prlimit(pid, (enum __rlimit_resource)resource, NULL, &l))
        return error_errno(e, "cannot look at the limits of process %d", (int)pid);
    format_one(soft, sizeof(soft), l.rlim_cur);
    format_one(hard, sizeof(hard), l.rlim_max);
    snprintf(value, KNOB_VALUE, "%s %s", soft, hard);
    return STATUS_OK;
}

static int set(const char *root, const char *target, const char *value, struct error *e)
{
    pid_t pid;
    unsigned long long start;
    int resource;
    struct rlimit l;
    if (!parse_target(target, &pid, &start, &resource) || !parse_value(value, &l))
        return error_set(e, STATUS_INPUT, "no limit \"%s\"", target);
    if (prlimit(pid, (enum __rlimit_resource)resource, &l, NULL))
        return error_errno(e, "cannot change the limits of process %d", (int)pid);
    return STATUS_OK;
}

const struct knob knob_limit = {"limit", may, get, set, NULL};
