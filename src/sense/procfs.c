/* SPDX-License-Identifier: MIT */
#include "sense/procfs.h"

#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads one number in `base` at *p and steps over it; false if there is none. */
static bool take(const char **p, int base, uint64_t *ret)
{
    char *end;
    while (**p == ' ' || **p == '\t')
        (*p)++;
    if (**p == '-')
        return false;
    *ret = strtoull(*p, &end, base);
    if (end == *p)
        return false;
    *p = end;
    return true;
}

bool procfs_parse_stat(const char *text, struct procfs_stat *ret)
{
    struct procfs_stat s = {0};
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    char tpgid[24];
    unsigned long flags, minor, cminor, cmajor;
    long cutime, cstime, priority, nice, interval;
    int pgrp, session, tty;
    if (!open || !close || close < open)
        return false;
    size_t n = (size_t)(close - open - 1);
    if (n >= sizeof(s.comm))
        n = sizeof(s.comm) - 1;
    memcpy(s.comm, open + 1, n);
    int got = sscanf(close + 1,
                     " %c %" SCNu32 " %d %d %d %23s %lu %lu %lu %" SCNu64 " %lu %" SCNu64
                     " %" SCNu64 " %ld %ld %ld %ld %" SCNu64 " %ld %" SCNu64,
                     &s.state, &s.ppid, &pgrp, &session, &tty, tpgid, &flags, &minor, &cminor,
                     &s.major_faults, &cmajor, &s.user_ticks, &s.system_ticks, &cutime, &cstime,
                     &priority, &nice, &s.threads, &interval, &s.start_ticks);
    if (got != 20)
        return false;
    *ret = s;
    return true;
}

bool procfs_parse_schedstat(const char *text, struct procfs_schedstat *ret)
{
    struct procfs_schedstat s;
    if (!take(&text, 10, &s.run_ns) || !take(&text, 10, &s.wait_ns) ||
        !take(&text, 10, &s.switches))
        return false;
    *ret = s;
    return true;
}

bool procfs_parse_syscall(const char *text, struct procfs_syscall *ret)
{
    struct procfs_syscall s = {0};
    uint64_t nr;
    if (!strncmp(text, "running", 7)) {
        s.nr = PROCFS_RUNNING;
    } else if (!strncmp(text, "-1 ", 3)) {
        s.nr = PROCFS_OUTSIDE;
    } else {
        if (!take(&text, 10, &nr) || nr > INT32_MAX)
            return false;
        s.nr = (long)nr;
        for (int i = 0; i < 6; i++)
            if (!take(&text, 16, &s.args[i]))
                return false;
    }
    *ret = s;
    return true;
}

static bool take_named(const char *text, const char *name, uint64_t *ret)
{
    const char *p = strstr(text, name);
    return p && (p += strlen(name)) && take(&p, 10, ret);
}

bool procfs_parse_status(const char *text, struct procfs_status *ret)
{
    uint64_t tgid, ppid;
    if (!take_named(text, "\nTgid:", &tgid) || !take_named(text, "\nPPid:", &ppid) ||
        tgid > UINT32_MAX || ppid > UINT32_MAX)
        return false;
    *ret = (struct procfs_status){(uint32_t)tgid, (uint32_t)ppid};
    return true;
}

bool procfs_parse_writes(const char *text, uint64_t *ret_calls, uint64_t *ret_dirtied)
{
    if (!take_named(text, "syscw:", ret_calls))
        return false;
    if (!take_named(text, "\nwrite_bytes:", ret_dirtied)) /* not in every kernel */
        *ret_dirtied = 0;
    return true;
}

/* The kernel prints addresses as 32-bit words in its own byte order. */
static bool take_address(const char **p, uint8_t addr[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    size_t n = strspn(*p, "0123456789abcdefABCDEF");
    if (n != 8 && n != 32)
        return false;
    uint8_t *out = addr;
    if (n == 8) {
        memcpy(addr, mapped, sizeof(mapped));
        out += sizeof(mapped);
    }
    for (size_t i = 0; i < n; i += 8) {
        char word[9] = {0};
        memcpy(word, *p + i, 8);
        uint32_t v = (uint32_t)strtoul(word, NULL, 16);
        memcpy(out + i / 2, &v, sizeof(v));
    }
    *p += n;
    return true;
}

static bool take_end(const char **p, uint8_t addr[16], uint16_t *ret_port)
{
    uint64_t port;
    while (**p == ' ')
        (*p)++;
    if (!take_address(p, addr) || **p != ':')
        return false;
    (*p)++;
    if (!take(p, 16, &port) || port > UINT16_MAX)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

bool procfs_parse_tcp(const char *line, struct procfs_tcp *ret)
{
    struct procfs_tcp t = {0};
    uint64_t slot, state, tx, skip;
    const char *p = line;
    if (!take(&p, 10, &slot) || *p++ != ':')
        return false;
    if (!take_end(&p, t.local, &t.local_port) || !take_end(&p, t.peer, &t.peer_port) ||
        !take(&p, 16, &state) || !take(&p, 16, &tx) || *p++ != ':' || !take(&p, 16, &skip))
        return false;
    /* tr:when retrnsmt uid timeout inode */
    if (!take(&p, 16, &skip) || *p++ != ':' || !take(&p, 16, &skip) || !take(&p, 16, &skip) ||
        !take(&p, 10, &skip) || !take(&p, 10, &skip) || !take(&p, 10, &t.inode))
        return false;
    t.unsent = tx > UINT32_MAX ? UINT32_MAX : (uint32_t)tx;
    *ret = t;
    return true;
}

static const struct {
    const char *text;
    enum procfs_link link;
} anonymous[] = {
    {"[eventfd]", PROCFS_LINK_EVENTFD},   {"[timerfd]", PROCFS_LINK_TIMERFD},
    {"[eventpoll]", PROCFS_LINK_EPOLL},   {"[pidfd]", PROCFS_LINK_PIDFD},
    {"[signalfd]", PROCFS_LINK_SIGNALFD}, {"[io_uring]", PROCFS_LINK_IO_URING},
    {"inotify", PROCFS_LINK_INOTIFY},
};

enum procfs_link procfs_parse_link(const char *text, uint64_t *ret_inode)
{
    const char *p = NULL;
    enum procfs_link kind = PROCFS_LINK_OTHER;
    uint64_t inode;
    if (text[0] == '/')
        return PROCFS_LINK_FILE;
    if (!strncmp(text, "pipe:[", 6)) {
        kind = PROCFS_LINK_PIPE;
        p = text + 6;
    } else if (!strncmp(text, "socket:[", 8)) {
        kind = PROCFS_LINK_SOCKET;
        p = text + 8;
    } else if (!strncmp(text, "anon_inode:", 11)) {
        for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++)
            if (!strcmp(text + 11, anonymous[i].text))
                return anonymous[i].link;
    }
    if (!p || !take(&p, 10, &inode) || *p != ']')
        return PROCFS_LINK_OTHER;
    *ret_inode = inode;
    return kind;
}

/* "7f00-7f10 r-xp 00000000 08:01 123   /usr/lib/x.so" */
bool procfs_parse_map(const char *line, struct procfs_map *ret)
{
    struct procfs_map m = {.path = ""};
    uint64_t from, to, offset, major, minor;
    const char *p = line;
    if (!take(&p, 16, &from) || *p++ != '-' || !take(&p, 16, &to) || to < from || *p++ != ' ' ||
        strnlen(p, 5) < 5)
        return false;
    m.bytes = to - from;
    m.executable = p[2] == 'x';
    m.shared = p[3] == 's';
    p += 4;
    if (!take(&p, 16, &offset) || !take(&p, 16, &major) || *p++ != ':' || !take(&p, 16, &minor) ||
        !take(&p, 10, &m.inode))
        return false;
    m.path = p + strspn(p, " ");
    *ret = m;
    return true;
}
