/* SPDX-License-Identifier: MIT */
/*
 * switcher MODE ROUNDS_PER_S SECONDS: two threads hand a byte to and fro, each
 * round two waits, at a set rate. Prints rounds and context switches. For
 * measuring what the wait chain costs: futex, pipe, tcp, epoll.
 */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define BURSTS_PER_S 500

static _Atomic uint32_t turn; /* futex mode: 0 first, 1 second, 2 end */
static bool use_futex, use_epoll;

struct side {
    int in, out, epoll;
    uint32_t number;
};

static void futex_wait_turn(uint32_t mine)
{
    uint32_t now;
    while ((now = atomic_load(&turn)) != mine && now != 2)
        syscall(SYS_futex, &turn, FUTEX_WAIT, now, NULL, NULL, 0);
}

static void hand_over(struct side *s)
{
    if (use_futex) {
        atomic_store(&turn, 1 - s->number);
        syscall(SYS_futex, &turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    } else if (write(s->out, "x", 1) != 1) {
        exit(1);
    }
}

static bool await(struct side *s)
{
    char byte;
    struct epoll_event event;
    if (use_futex) {
        futex_wait_turn(s->number);
        return atomic_load(&turn) != 2;
    }
    if (use_epoll && epoll_wait(s->epoll, &event, 1, -1) != 1)
        exit(1);
    return read(s->in, &byte, 1) == 1 && byte == 'x';
}

static void *second(void *arg)
{
    struct side *s = arg;
    while (await(s))
        hand_over(s);
    return NULL;
}

static void tcp_pair(int fds[2])
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(to);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&to, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&to, &size))
        exit(1);
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fds[0], (struct sockaddr *)&to, size))
        exit(1);
    fds[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    close(listener);
}

static void prepare(const char *mode, struct side sides[2])
{
    int a[2], b[2];
    use_futex = strcmp(mode, "futex") == 0;
    use_epoll = strcmp(mode, "epoll") == 0;
    if (strcmp(mode, "pipe") == 0) {
        if (pipe(a) || pipe(b))
            exit(1);
        sides[0] = (struct side){b[0], a[1], -1, 0};
        sides[1] = (struct side){a[0], b[1], -1, 1};
    } else {
        tcp_pair(a);
        sides[0] = (struct side){a[0], a[0], -1, 0};
        sides[1] = (struct side){a[1], a[1], -1, 1};
    }
    for (int i = 0; i < 2 && use_epoll; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        sides[i].epoll = epoll_create1(0);
        epoll_ctl(sides[i].epoll, EPOLL_CTL_ADD, sides[i].in, &event);
    }
}

static void stop(struct side *s)
{
    if (use_futex) {
        atomic_store(&turn, 2);
        syscall(SYS_futex, &turn, FUTEX_WAKE, 2, NULL, NULL, 0);
    } else if (write(s->out, "q", 1) != 1) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct side sides[2];
    struct timespec next;
    struct rusage use;
    pthread_t thread;
    if (argc != 4)
        return 2;
    long rate = atol(argv[2]), bursts = (long)(atof(argv[3]) * BURSTS_PER_S), rounds = 0;
    prepare(argv[1], sides);
    pthread_create(&thread, NULL, second, &sides[1]);
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long i = 0; i < bursts; i++) {
        for (long n = 0; n < rate / BURSTS_PER_S; n++, rounds++) {
            hand_over(&sides[0]);
            if (!await(&sides[0]))
                return 1;
        }
        next.tv_nsec += NS_PER_S / BURSTS_PER_S;
        next.tv_sec += next.tv_nsec / NS_PER_S;
        next.tv_nsec %= NS_PER_S;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    stop(&sides[0]);
    pthread_join(thread, NULL);
    getrusage(RUSAGE_SELF, &use);
    printf("rounds %ld switches %ld cpu %.3f s\n", rounds, use.ru_nvcsw + use.ru_nivcsw,
           use.ru_utime.tv_sec + use.ru_stime.tv_sec +
               (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
    return 0;
}
