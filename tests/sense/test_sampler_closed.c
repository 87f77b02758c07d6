/* SPDX-License-Identifier: MIT */
/* A client of an ordinary user that connects anew for each request, sampled by that user: what its
 * connections had carried is told after they have ended. */
#include "base/unit.h"
#include "sense/sampler.h"
#include "user.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define REPLY 40000
#define REQUEST 64
#define ENDS 3
/* on a busy machine longer: until there are so many ends, WATCHED_MAX at most */
#define WATCHED (1500 * NS_PER_MS)
#define WATCHED_MAX (60 * NS_PER_S)

static void serve(int listener)
{
    static char reply[REPLY];
    char request[REQUEST];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (recv(fd, request, sizeof(request), MSG_WAITALL) == REQUEST) {
            sleep_ns(22 * NS_PER_MS);
            send(fd, reply, sizeof(reply), MSG_NOSIGNAL);
        }
        close(fd);
    }
}

static void ask_for_ever(const struct sockaddr_in *to)
{
    static char buf[REPLY], request[REQUEST];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) ||
            send(fd, request, sizeof(request), MSG_NOSIGNAL) != REQUEST ||
            recv(fd, buf, sizeof(buf), MSG_WAITALL) != REPLY)
            _exit(1);
        close(fd);
    }
}

struct seen {
    uint64_t rx, tx, ends, waits;
    uint32_t resource;
};

static void see(void *arg, const struct event *e)
{
    struct seen *s = arg;
    if (e->kind == EVENT_WAIT && e->wait.target == TARGET_SOCKET && e->wait.resource) {
        s->waits++;
        s->resource = e->wait.resource;
    }
    if (e->kind != EVENT_CLOSED)
        return;
    if (e->closed.resource != s->resource || !e->closed.channel)
        _exit(3);
    s->ends++;
    s->rx += e->closed.rx_bytes;
    s->tx += e->closed.tx_bytes;
}

static int watch(pid_t job)
{
    struct intern names = {0};
    struct resource_opts ro = {.names = &names};
    struct resources *r;
    struct sampler *sampler;
    struct seen s = {0};
    struct error e;
    if (resources_new(&r, &ro, &e))
        return 4;
    struct sampler_opts o = {.root_pid = (uint32_t)job, .resources = r};
    if (sampler_open(&sampler, &o, &e))
        return 5;
    for (int64_t begin = now(), next = 0;
         next < begin + WATCHED || (s.ends < ENDS && next < begin + WATCHED_MAX);) {
        next = sampler_tick(sampler, now(), see, &s);
        if (next > now())
            sleep_ns(next - now());
    }
    sampler_close(sampler);
    resources_free(r);
    intern_clear(&names);
    printf("  %llu waits, %llu ends, %llu bytes in, %llu out\n", (unsigned long long)s.waits,
           (unsigned long long)s.ends, (unsigned long long)s.rx, (unsigned long long)s.tx);
    fflush(stdout);
    /* a FIN counts as a byte */
    return s.ends >= ENDS && s.rx >= s.ends * REPLY && s.rx <= s.ends * (REPLY + 1) &&
                   s.tx * 10 < s.rx
               ? 0
               : 6;
}

static void as_user(int listener, const struct sockaddr_in *to)
{
    become_user();
    pid_t server = fork();
    if (!server)
        serve(listener);
    pid_t job = fork();
    if (!job)
        ask_for_ever(to);
    close(listener);
    int rc = watch(job);
    kill(job, SIGKILL);
    kill(server, SIGKILL);
    _exit(rc);
}

static void test_ends_tell_bytes(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0), status;
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 8), 0);
    getsockname(listener, (struct sockaddr *)&at, &size);
    pid_t child = fork();
    if (!child)
        as_user(listener, &at);
    close(listener);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends_tell_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
