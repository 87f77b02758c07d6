/* SPDX-License-Identifier: MIT */
#include "import/python_call.h"

#include <stdbool.h>
#include <string.h>

/* Names as CPython 3.8 to 3.14 have them. A pipe or queue between processes is read by os.read, and a condition is
 * awaited by its lock: both say only that something else is awaited. */
static const struct python_call calls[] = {
    {"sleep", NULL, CAUSE_SLEEP, "time.sleep()"},
    {"select", NULL, CAUSE_UNKNOWN, "select()"},
    {"read", NULL, CAUSE_UNKNOWN, "os.read()"},
    {"open", NULL, CAUSE_STORAGE, "open()"},
    {"stat", NULL, CAUSE_STORAGE, "os.stat()"},
    {"listdir", NULL, CAUSE_STORAGE, "os.listdir()"},
    {"scandir", NULL, CAUSE_STORAGE, "os.scandir()"},
    {"pread", NULL, CAUSE_STORAGE, "os.pread()"},
    {"fsync", NULL, CAUSE_CHECKPOINT, "os.fsync()"},
    {"fdatasync", NULL, CAUSE_CHECKPOINT, "os.fdatasync()"},
    {"getaddrinfo", NULL, CAUSE_NETWORK, "getaddrinfo()"},
    {"acquire", "_thread.", CAUSE_UNKNOWN, "lock.acquire()"},
    {"__enter__", "_thread.", CAUSE_UNKNOWN, "lock.acquire()"},
    {"acquire", "_multiprocessing.SemLock", CAUSE_UNKNOWN, "SemLock.acquire()"},
    {"__enter__", "_multiprocessing.SemLock", CAUSE_UNKNOWN, "SemLock.acquire()"},
    {"get", "_queue.SimpleQueue", CAUSE_UNKNOWN, "SimpleQueue.get()"},
    {"poll", "select.", CAUSE_UNKNOWN, "poll()"},
    {"read", "_io.Buffered", CAUSE_STORAGE, "file.read()"},
    {"read1", "_io.Buffered", CAUSE_STORAGE, "file.read()"},
    {"readinto", "_io.Buffered", CAUSE_STORAGE, "file.read()"},
    {"readline", "_io.Buffered", CAUSE_STORAGE, "file.read()"},
    {"read", "_io.FileIO", CAUSE_STORAGE, "file.read()"},
    {"readall", "_io.FileIO", CAUSE_STORAGE, "file.read()"},
    {"readinto", "_io.FileIO", CAUSE_STORAGE, "file.read()"},
    {"read", "_io.TextIOWrapper", CAUSE_STORAGE, "file.read()"},
    {"write", "_io.Buffered", CAUSE_CHECKPOINT, "file.write()"},
    {"flush", "_io.Buffered", CAUSE_CHECKPOINT, "file.flush()"},
    {"write", "_io.FileIO", CAUSE_CHECKPOINT, "file.write()"},
    {"recv", "socket", CAUSE_NETWORK, "socket.recv()"},
    {"recv_into", "socket", CAUSE_NETWORK, "socket.recv()"},
    {"recvfrom", "socket", CAUSE_NETWORK, "socket.recv()"},
    {"recvmsg", "socket", CAUSE_NETWORK, "socket.recv()"},
    {"send", "socket", CAUSE_NETWORK, "socket.send()"},
    {"sendall", "socket", CAUSE_NETWORK, "socket.send()"},
    {"sendmsg", "socket", CAUSE_NETWORK, "socket.send()"},
    {"accept", "socket", CAUSE_NETWORK, "socket.accept()"},
    {"connect", "socket", CAUSE_NETWORK, "socket.connect()"},
    {"read", "_ssl._SSLSocket", CAUSE_NETWORK, "socket.recv()"},
    {"write", "_ssl._SSLSocket", CAUSE_NETWORK, "socket.send()"},
};

static bool after(const char **text, size_t *len, const char *begin)
{
    size_t n = strlen(begin);
    if (*len < n || memcmp(*text, begin, n))
        return false;
    *text += n;
    *len -= n;
    return true;
}

static bool is_it(const struct python_call *c, const char *name, size_t len)
{
    if (!after(&name, &len, c->name))
        return false;
    if (!c->type)
        return len == 1 && *name == '>';
    return after(&name, &len, " of ") && after(&name, &len, c->type);
}

const struct python_call *python_call_of(const char *name, size_t len)
{
    if (!after(&name, &len, "<built-in "))
        return NULL;
    bool method = after(&name, &len, "method ");
    if (!method && !after(&name, &len, "function "))
        return NULL;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if ((calls[i].type != NULL) == method && len && *calls[i].name == *name &&
            is_it(&calls[i], name, len))
            return &calls[i];
    return NULL;
}
