/* SPDX-License-Identifier: MIT */
#include "import/nccl_log.h"

#include "base/mem.h"
#include "import/nccl_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t nccl_key(uint64_t a, uint64_t b)
{
    return (a + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ b;
}

uint32_t nccl_get(const struct map *m, uint64_t key)
{
    uint64_t v;
    return map_get(m, key, &v) ? (uint32_t)v + 1 : 0;
}

/* A new zeroed element; NULL: the table is full (counted) or out of memory. */
void *nccl_grow(struct nccl_log *l, void **array, size_t *count, size_t *cap, size_t elem,
                size_t most)
{
    if (*count >= most) {
        l->counts.dropped++;
        return NULL;
    }
    if (!mem_grow(array, cap, *count + 1, elem)) {
        l->failed = true;
        return NULL;
    }
    void *p = (char *)*array + *count * elem;
    memset(p, 0, elem);
    ++*count;
    return p;
}

void nccl_put(struct nccl_log *l, struct map *m, uint64_t key, uint64_t value)
{
    l->failed |= !map_put(m, key, value);
}

uint32_t nccl_text_of(struct nccl_log *l, const char *text)
{
    if (l->texts.count >= NCCL_TEXTS_MAX) {
        l->counts.dropped++;
        return 0;
    }
    uint32_t n = intern_put(&l->texts, text);
    l->failed |= !n;
    return n;
}

void nccl_list_add(struct nccl_log *l, struct nccl_list *list, const char *text)
{
    uint32_t n = *text ? nccl_text_of(l, text) : 0;
    for (int i = 0; i < list->count; i++)
        if (list->text[i] == n)
            return;
    if (!n)
        return;
    if (list->count == NCCL_LIST_MAX) {
        l->counts.dropped++;
        return;
    }
    if (!list->count)
        list->at = l->at;
    list->text[list->count++] = n;
}

/* ---- who wrote it ---- */

static uint32_t host_of(struct nccl_log *l, const char *name)
{
    uint32_t text = nccl_text_of(l, *name ? name : "host");
    uint32_t known = nccl_get(&l->host_of, text);
    if (known || !text)
        return known;
    struct nccl_host *h = NCCL_GROW(l, hosts, NCCL_HOSTS_MAX);
    if (!h)
        return 0;
    h->name = text;
    h->at = l->at;
    nccl_put(l, &l->host_of, text, l->hosts_count - 1);
    return (uint32_t)l->hosts_count;
}

/* Two writers in one line: "P2P/IPCnode1:17:17 [0] ..." is the process 17 of node1. */
static uint32_t glued_process(const struct nccl_log *l, const struct nccl_line *r)
{
    uint32_t known = r->glued ? nccl_get(&l->pid_of, r->pid) : 0;
    if (!known)
        return 0;
    const char *name = intern_text(&l->texts, l->hosts[l->processes[known - 1].host].name);
    size_t n = strlen(name), all = strlen(r->host);
    return all > n && !strcmp(r->host + all - n, name) ? known : 0;
}

/* + 1; 0: not kept. */
uint32_t nccl_process_of(struct nccl_log *l, const struct nccl_line *r)
{
    uint32_t host = nccl_get(&l->host_of, nccl_text_of(l, *r->host ? r->host : "host"));
    uint32_t known = host ? nccl_get(&l->process_of, nccl_key(host - 1, r->pid)) : 0;
    if (!known)
        known = glued_process(l, r);
    if (known)
        return known;
    host = host_of(l, r->host);
    struct nccl_process *p = host ? NCCL_GROW(l, processes, NCCL_PROCESSES_MAX) : NULL;
    if (!p)
        return 0;
    *p = (struct nccl_process){.host = host - 1, .pid = r->pid};
    l->hosts[host - 1].processes++;
    nccl_put(l, &l->pid_of, r->pid, l->processes_count - 1);
    nccl_put(l, &l->process_of, nccl_key(host - 1, r->pid), l->processes_count - 1);
    return (uint32_t)l->processes_count;
}

uint32_t nccl_thread_of(struct nccl_log *l, uint32_t process, uint32_t tid)
{
    uint64_t key = nccl_key(process, tid);
    uint32_t known = nccl_get(&l->thread_of, key);
    if (known)
        return known;
    struct nccl_thread *t = NCCL_GROW(l, threads, NCCL_PROCESSES_MAX);
    if (!t)
        return 0;
    *t = (struct nccl_thread){
        .process = process, .pending = (uint32_t)l->edges_count, .rings = (uint32_t)l->rings_count};
    nccl_put(l, &l->thread_of, key, l->threads_count - 1);
    return (uint32_t)l->threads_count;
}

static void take_line(struct nccl_log *l, const char *bytes, size_t len)
{
    struct nccl_line r;
    const char *at = l->clean;
    l->at.line++;
    l->counts.lines++;
    l->counts.cut += l->line_cut;
    nccl_line_clean(l->clean, bytes, len);
    bool ours = false;
    while (nccl_line_next(&at, &r)) {
        if (r.kind == NCCL_WATCHDOG)
            nccl_take_timeout(l, &r);
        else if (r.kind == NCCL_VERSION && !r.prefixed)
            nccl_take_version(l, NULL, &r);
        else if (*r.text)
            nccl_take(l, &r);
        l->counts.unknown += *r.text && r.kind == NCCL_UNKNOWN;
        if (r.warn && *r.text)
            nccl_told(l, &l->warnings);
        ours |= *r.text != '\0';
    }
    l->counts.nccl += ours;
}

/* ---- feeding ---- */

bool nccl_log_is(const char *bytes, size_t len)
{
    static const char *const marks[] = {"NCCL INFO ", "NCCL WARN ", "NCCL version 2.",
                                        "RCCL version", "WorkNCCL(SeqNum="};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (memmem(bytes, len, marks[i], strlen(marks[i])))
            return true;
    return false;
}

struct nccl_log *nccl_log_new(void)
{
    return mem_zalloc(sizeof(struct nccl_log));
}

void nccl_log_free(struct nccl_log *l)
{
    if (!l)
        return;
    struct map *maps[] = {&l->host_of,   &l->process_of, &l->thread_of, &l->comm_of,
                          &l->member_of, &l->pointer_of, &l->edge_of,   &l->pid_of};
    void *tables[] = {l->hosts, l->processes, l->threads,  l->members,   l->comms,   l->edges,
                      l->rings, l->envs,      l->problems, l->functions, l->timeouts};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        map_clear(maps[i]);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        free(tables[i]);
    intern_clear(&l->texts);
    free(l);
}

void nccl_log_begin(struct nccl_log *l, const char *name)
{
    l->at = (struct nccl_at){.file = nccl_text_of(l, name)};
    l->line_len = 0;
    l->line_cut = false;
}

void nccl_log_feed(struct nccl_log *l, const char *bytes, size_t len)
{
    while (len) {
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline ? (size_t)(newline - bytes) : len, room = NCCL_LINE_MAX - l->line_len;
        if (newline && !l->line_len && n <= NCCL_LINE_MAX) {
            take_line(l, bytes, n);
        } else {
            l->line_cut |= n > room;
            memcpy(l->line + l->line_len, bytes, n < room ? n : room);
            l->line_len += n < room ? n : room;
            if (newline) {
                take_line(l, l->line, l->line_len);
                l->line_len = 0;
                l->line_cut = false;
            }
        }
        n += newline != NULL;
        bytes += n;
        len -= n;
    }
}

void nccl_log_end(struct nccl_log *l)
{
    if (l->line_len)
        take_line(l, l->line, l->line_len);
    l->line_len = 0;
    l->line_cut = false;
}

struct nccl_counts nccl_log_counts(const struct nccl_log *l)
{
    return l->counts;
}
