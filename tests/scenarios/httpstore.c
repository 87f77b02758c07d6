/* SPDX-License-Identifier: MIT */
/*
 * httpstore: an object store over HTTP/1.1 with a latency of our choice.
 *
 *   httpstore [--bind ADDR] [--port N] [--latency-us N] [--bandwidth BYTES/S] [--size BYTES]
 *
 * Every path is an object of --size bytes; "?size=N" asks for another size and
 * "?latency_us=N" for another latency of that one request. GET, HEAD, Range and
 * keep-alive work; each connection has its own thread, so thousands of requests
 * may sleep at once. --bandwidth limits all connections together. The port that
 * was taken (--port 0: any) is printed as the first line. Ends at SIGTERM or when
 * standard input is closed, so that it never outlives the one who started it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PATTERN_BYTES = 1 << 20, HEAD_BYTES = 8192, STACK_BYTES = 64 << 10, BACKLOG = 1024 };
#define US_NS INT64_C(1000)
#define S_NS INT64_C(1000000000)

struct store {
    int64_t latency_ns;
    int64_t bandwidth; /* bytes a second, 0 unlimited */
    uint64_t size;
    unsigned char *pattern;
    pthread_mutex_t lock;
    int64_t line_free_ns; /* when the shared line has sent all that was promised */
};

struct connection {
    struct store *store;
    int fd;
};

struct request {
    bool head;
    bool close;
    bool ranged;
    int64_t latency_ns;
    uint64_t size, first, last; /* bytes first..last of the object */
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * S_NS + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    struct timespec t = {ns / S_NS, ns % S_NS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* Takes the shared line for n bytes and returns when they are through. */
static void pace(struct store *s, uint64_t n)
{
    if (s->bandwidth <= 0)
        return;
    pthread_mutex_lock(&s->lock);
    int64_t now = now_ns();
    int64_t start = s->line_free_ns > now ? s->line_free_ns : now;
    s->line_free_ns = start + (int64_t)((double)n / (double)s->bandwidth * (double)S_NS);
    int64_t until = s->line_free_ns;
    pthread_mutex_unlock(&s->lock);
    sleep_until(until);
}

static int send_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        p += sent;
        n -= (size_t)sent;
    }
    return 0;
}

static int send_body(struct store *s, int fd, uint64_t first, uint64_t n)
{
    const uint64_t piece_max = s->bandwidth > 0 ? 64 << 10 : PATTERN_BYTES;
    while (n) {
        uint64_t at = first % PATTERN_BYTES;
        uint64_t piece = n < piece_max ? n : piece_max;
        if (piece > PATTERN_BYTES - at)
            piece = PATTERN_BYTES - at;
        pace(s, piece);
        if (send_all(fd, s->pattern + at, piece))
            return -1;
        first += piece;
        n -= piece;
    }
    return 0;
}

/* Reads one request head into buf; returns its length, 0 at the end, -1 on error. */
static ssize_t read_head(int fd, char *buf, size_t cap)
{
    size_t n = 0;
    while (n + 1 < cap) {
        ssize_t got = recv(fd, buf + n, cap - 1 - n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return n ? -1 : 0;
        n += (size_t)got;
        buf[n] = '\0';
        if (strstr(buf, "\r\n\r\n"))
            return (ssize_t)n;
    }
    return -1;
}

static const char *header(const char *head, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (!strncasecmp(line, name, n) && line[n] == ':')
            return line + n + 1 + strspn(line + n + 1, " ");
    }
    return NULL;
}

static uint64_t query(const char *target, const char *key, uint64_t fallback)
{
    const char *q = strchr(target, '?');
    const char *hit = q ? strstr(q, key) : NULL;
    return hit ? strtoull(hit + strlen(key), NULL, 10) : fallback;
}

/* Fills r from the head (which it cuts at the first line's end). False: not a request we serve. */
static bool parse(const struct store *s, char *head, struct request *r)
{
    const char *connection = header(head, "Connection");
    const char *range = header(head, "Range");
    *r = (struct request){.close = connection && !strncasecmp(connection, "close", 5)};
    r->head = !strncmp(head, "HEAD ", 5);
    if (!r->head && strncmp(head, "GET ", 4))
        return false;
    unsigned long long a = 0, b = 0;
    int fields = range ? sscanf(range, "bytes=%llu-%llu", &a, &b) : 0;
    *strstr(head, "\r\n") = '\0';
    r->size = query(head, "size=", s->size);
    r->latency_ns = (int64_t)query(head, "latency_us=", (uint64_t)(s->latency_ns / US_NS)) * US_NS;
    r->ranged = fields >= 1;
    r->first = r->ranged ? a : 0;
    r->last = fields == 2 && b < r->size ? b : r->size - 1;
    return r->size > 0 && r->first <= r->last;
}

static int answer(struct store *s, int fd, const struct request *r)
{
    char head[256];
    uint64_t n = r->last - r->first + 1;
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 %s\r\nContent-Type: application/octet-stream\r\nAccept-Ranges: "
                       "bytes\r\nETag: \"%llu\"\r\nContent-Length: %llu\r\n",
                       r->ranged ? "206 Partial Content" : "200 OK", (unsigned long long)r->size,
                       (unsigned long long)n);
    if (r->ranged)
        len += snprintf(head + len, sizeof head - (size_t)len,
                        "Content-Range: bytes %llu-%llu/%llu\r\n", (unsigned long long)r->first,
                        (unsigned long long)r->last, (unsigned long long)r->size);
    len += snprintf(head + len, sizeof head - (size_t)len, "\r\n");
    if (send_all(fd, head, (size_t)len))
        return -1;
    return r->head ? 0 : send_body(s, fd, r->first, n);
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    struct store *s = c->store;
    static const char refused[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    char head[HEAD_BYTES];
    struct request r;
    do {
        if (read_head(c->fd, head, sizeof head) <= 0)
            break;
        int64_t came = now_ns();
        if (!parse(s, head, &r)) {
            send_all(c->fd, refused, sizeof refused - 1);
            break;
        }
        if (r.latency_ns > 0)
            sleep_until(came + r.latency_ns);
    } while (!answer(s, c->fd, &r) && !r.close);
    close(c->fd);
    free(c);
    return NULL;
}

static int listen_on(const char *addr, unsigned port, unsigned *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof a;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || inet_pton(AF_INET, addr, &a.sin_addr) != 1)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, BACKLOG) ||
        getsockname(fd, (struct sockaddr *)&a, &len)) {
        close(fd);
        return -1;
    }
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static void accept_one(struct store *s, int listener, const pthread_attr_t *attr)
{
    int on = 1;
    pthread_t thread;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *c = malloc(sizeof *c);
    if (c)
        *c = (struct connection){s, fd};
    if (!c || pthread_create(&thread, attr, serve, c)) {
        close(fd);
        free(c);
    }
}

static int usage(void)
{
    fputs("usage: httpstore [--bind ADDR] [--port N] [--latency-us N] [--bandwidth BYTES/S] "
          "[--size BYTES]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct store s = {.size = 64 << 10, .lock = PTHREAD_MUTEX_INITIALIZER};
    const char *addr = "127.0.0.1";
    unsigned port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--bind"))
            addr = argv[i + 1];
        else if (!strcmp(argv[i], "--port"))
            port = (unsigned)atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--latency-us"))
            s.latency_ns = atoll(argv[i + 1]) * US_NS;
        else if (!strcmp(argv[i], "--bandwidth"))
            s.bandwidth = atoll(argv[i + 1]);
        else if (!strcmp(argv[i], "--size"))
            s.size = strtoull(argv[i + 1], NULL, 10);
        else
            return usage();
    }
    s.pattern = malloc(PATTERN_BYTES);
    int listener = listen_on(addr, port, &port);
    if (!s.pattern || listener < 0 || argc % 2 == 0)
        return s.pattern && argc % 2 ? (perror("httpstore"), 1) : usage();
    for (size_t i = 0; i < PATTERN_BYTES; i++)
        s.pattern[i] = (unsigned char)(i * 131 + (i >> 8));
    signal(SIGPIPE, SIG_IGN);
    printf("%u\n", port);
    fflush(stdout);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    struct pollfd polled[2] = {{.fd = listener, .events = POLLIN},
                               {.fd = STDIN_FILENO, .events = 0}};
    while (poll(polled, 2, -1) >= 0 || errno == EINTR) {
        if (polled[1].revents & (POLLHUP | POLLERR))
            break;
        if (polled[0].revents & POLLIN)
            accept_one(&s, listener, &attr);
    }
    return 0;
}
