/* SPDX-License-Identifier: MIT */
#include "import/nccl_decode.h"

#include "base/str.h"
#include "base/unit.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind the word `key` (which stands at the start of a word); NULL: absent. */
static const char *behind(const char *text, const char *key)
{
    for (const char *p = text; (p = strstr(p, key)); p++)
        if (p == text || p[-1] == ' ' || p[-1] == '(' || p[-1] == ',')
            return p + strlen(key);
    return NULL;
}

static int int_behind(const char *text, const char *key)
{
    char *end;
    const char *p = behind(text, key);
    if (!p)
        return NCCL_NONE;
    long v = strtol(p, &end, 10);
    return end == p || v < 0 || v > 100000000 ? NCCL_NONE : (int)v;
}

static uint64_t hex_behind(const char *text, const char *key)
{
    const char *p = behind(text, key);
    return p && isxdigit((unsigned char)*p) ? strtoull(p, NULL, 16) : 0;
}

/* Text up to one of `ends`, without blanks at its ends. */
static void take(char *out, size_t size, const char *from, const char *ends)
{
    from += strspn(from, " ");
    size_t n = ends ? strcspn(from, ends) : strlen(from);
    while (n && from[n - 1] == ' ')
        n--;
    if (n >= size)
        n = size - 1;
    memcpy(out, from, n);
    out[n] = '\0';
}

static bool version(struct nccl_line *l, const char *text)
{
    bool rccl = *text == 'R';
    const char *p = text + strlen("NCCL version ");
    p += strspn(p, " :");
    str_copy(l->name, sizeof(l->name), rccl ? "RCCL" : "NCCL");
    take(l->value, sizeof(l->value), p, " ");
    return isdigit((unsigned char)l->value[0]);
}

static bool init(struct nccl_line *l, const char *text)
{
    l->comm = hex_behind(text, "comm 0x");
    l->rank = int_behind(text, "rank ");
    l->nranks = int_behind(text, "nranks ");
    l->gpu = int_behind(text, "cudaDev ");
    l->nvml = int_behind(text, "nvmlDev ");
    l->bus = hex_behind(text, "busId ");
    l->comm_id = hex_behind(text, "commId 0x");
    l->on = strstr(text, "- Init COMPLETE") != NULL;
    return l->rank >= 0 && l->nranks > l->rank;
}

static bool end(struct nccl_line *l, const char *text)
{
    l->comm = hex_behind(text, "comm 0x");
    l->rank = int_behind(text, "rank ");
    return true;
}

static bool sizes(struct nccl_line *l, const char *text)
{
    l->comm = hex_behind(text, "comm 0x");
    l->rank = int_behind(text, "rank ");
    l->nranks = int_behind(text, "nRanks ");
    l->count = int_behind(text, "nNodes ");
    return l->rank >= 0 && l->nranks > l->rank && l->count > 0;
}

static bool timings(struct nccl_line *l, const char *text)
{
    const char *p = behind(text, "total ");
    l->rank = int_behind(text, "rank ");
    l->nranks = int_behind(text, "nranks ");
    if (!p || l->rank < 0 || l->nranks <= l->rank)
        return false;
    l->number = strtod(p, NULL);
    return l->number >= 0 && l->number < 1e6;
}

/* "NCCL_X set by environment to 1." (a number ends in a dot) or "NCCL_X set to text". */
static bool env(struct nccl_line *l, const char *text)
{
    const char *p = strstr(text, " to ");
    take(l->name, sizeof(l->name), text, " ");
    if (!p || !l->name[0])
        return false;
    take(l->value, sizeof(l->value), p + strlen(" to "), NULL);
    size_t n = strlen(l->value);
    if (n > 1 && l->value[n - 1] == '.' && isdigit((unsigned char)l->value[n - 2]) &&
        strspn(l->value, "-0123456789") == n - 1)
        l->value[n - 1] = '\0';
    return true;
}

/* "[0]" before an interface. */
static const char *skip_number(const char *p)
{
    p += strspn(p, " ");
    if (*p != '[')
        return p;
    const char *q = p + 1 + strspn(p + 1, "0123456789");
    return *q == ']' ? q + 1 : p;
}

static bool bootstrap(struct nccl_line *l, const char *text)
{
    const char *p = skip_number(strstr(text, "Using ") + strlen("Using "));
    const char *colon = strchr(p, ':');
    if (!colon)
        return false;
    take(l->name, sizeof(l->name), p, ":");
    take(l->value, sizeof(l->value), colon + 1, "<");
    return l->name[0] != '\0';
}

/* One more entry of a list in l->value; what does not fit is left out whole. */
static void add_entry(struct nccl_line *l, const char *from, size_t n)
{
    size_t have = strlen(l->value);
    if (have + n + 2 > sizeof(l->value))
        return;
    if (have)
        l->value[have++] = ' ';
    memcpy(l->value + have, from, n);
    l->value[have + n] = '\0';
}

/*
 * "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>"; merged devices stand in braces, and a
 * rail and plane may stand before the slash. Counted is what has a port and a link.
 */
static bool ib_using(struct nccl_line *l, const char *text)
{
    const char *p = strstr(text, "Using ") + strlen("Using ");
    const char *stop = strchr(p, ';');
    l->count = l->count2 = 0;
    l->count3 = strchr(p, '{') != NULL;
    for (; *p && p != stop; p++) {
        size_t n = strcspn(p, " []{},+;");
        const char *slash = memchr(p, '/', n);
        if (!strncmp(p, "RO]", 3))
            l->on = true;
        if (slash && memchr(p, ':', (size_t)(slash - p)) && slash > p) {
            bool roce = !strncmp(slash, "/RoCE", 5);
            add_entry(l, p, n);
            l->count += !roce;
            l->count2 += roce;
        }
        p += n;
        if (!*p || p == stop)
            break;
    }
    return true;
}

static bool socket_using(struct nccl_line *l, const char *text)
{
    const char *p = strstr(text, "Using ") + strlen("Using ");
    l->count = 0;
    while (*p) {
        p = skip_number(p);
        size_t n = strcspn(p, " "), address = strcspn(p, "< ");
        if (!memchr(p, ':', n))
            break;
        add_entry(l, p, address);
        l->count++;
        p += n + strspn(p + n, " ");
    }
    return true;
}

/* The name at the end of "Using network X", "Assigned NET plugin X to comm", "Loaded net plugin X (v8)". */
static bool named(struct nccl_line *l, const char *text)
{
    static const char *const heads[] = {"Using network ", "Failed to initialize NET plugin ",
                                        "Initialized NET plugin ", "Assigned NET plugin ",
                                        "Loaded net plugin "};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        const char *p = strstr(text, heads[i]);
        if (!p)
            continue;
        take(l->name, sizeof(l->name), p + strlen(heads[i]), "(");
        char *to = strstr(l->name, " to comm");
        if (to)
            *to = '\0';
    }
    return l->name[0] != '\0';
}

/* "0[c8000] -> 1[1]": the two ranks. */
static bool ends_of(struct nccl_line *l, const char *p)
{
    char *q;
    long from = strtol(p, &q, 10);
    const char *arrow = strstr(q, "-> ");
    if (q == p || *q != '[' || !arrow)
        return false;
    long to = strtol(arrow + 3, &q, 10);
    if (q == arrow + 3 || *q != '[' || from < 0 || to < 0 || from > 100000000 || to > 100000000)
        return false;
    l->from = (int)from;
    l->to = (int)to;
    return true;
}

/* "P2P/CUMEM/read", "SHM/direct/direct", "direct shared memory", "NET/IB/0(3)/GDRDMA/Shared". */
static void transport(struct nccl_line *l, const char *p)
{
    size_t n = strlen(p);
    if (!strncmp(p, "direct shared memory", 20) || !strncmp(p, "SHM", 3)) {
        str_copy(l->name, sizeof(l->name), "SHM");
        return;
    }
    bool net = !strncmp(p, "NET/", 4) || !strncmp(p, "COLLNET/", 8);
    const char *kind = memchr(p, '/', n);
    const char *rest = kind ? strchr(kind + 1, '/') : NULL;
    if (!net) {
        take(l->name, sizeof(l->name), p, " ");
        if (rest && (size_t)(rest - p) < strlen(l->name))
            l->name[rest - p] = '\0';
        return;
    }
    take(l->name, sizeof(l->name), p, " ");
    if (rest && (size_t)(rest - p) < strlen(l->name)) {
        l->name[rest - p] = '\0';
        l->net_dev =
            isdigit((unsigned char)rest[1]) ? (int)strtoul(rest + 1, NULL, 10) & 0xffff : NCCL_NONE;
        l->pxn = rest[1 + strspn(rest + 1, "0123456789")] == '(';
    }
    l->gdr = strstr(p, "/GDRDMA") != NULL;
}

static bool channel(struct nccl_line *l, const char *text)
{
    const char *head = strstr(text, "Channel "), *via = strstr(text, "via ");
    if (head) {
        const char *colon = strstr(head, " : ");
        l->channel = (int)(strtoul(head + strlen("Channel "), NULL, 10) & 0xffff);
        if (!colon || !ends_of(l, colon + 3 + strspn(colon + 3, " ")))
            return false;
    }
    l->send = strstr(text, "[send]") != NULL;
    l->receive = strstr(text, "[receive]") != NULL;
    transport(l, via + strlen("via "));
    return l->name[0] != '\0';
}

static bool ring(struct nccl_line *l, const char *text)
{
    const char *p = strstr(text, " : ");
    l->channel = (int)(strtoul(text + strlen("Channel "), NULL, 10) & 0xffff);
    for (p += 3; *p;) {
        p += strspn(p, " ");
        size_t n = strspn(p, "0123456789");
        if (!n)
            break;
        add_entry(l, p, n);
        p += n;
    }
    return l->value[0] != '\0' && !*p;
}

/* "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer" */
static int before_word(const char *text, const char *word)
{
    const char *p = strstr(text, word);
    while (p && p > text && p[-1] == ' ')
        p--;
    const char *end = p;
    while (p && p > text && isdigit((unsigned char)p[-1]))
        p--;
    return p && p < end ? (int)(strtoul(p, NULL, 10) & 0xffff) : NCCL_NONE;
}

static bool channels(struct nccl_line *l, const char *text)
{
    l->count = before_word(text, " coll channels");
    l->count2 = before_word(text, " p2p channels,");
    l->count3 = before_word(text, " nvls channels");
    return l->count >= 0;
}

static bool graph(struct nccl_line *l, const char *text)
{
    const char *type = behind(text, "type "), *slash = type ? strchr(type, '/') : NULL;
    if (!slash)
        return false;
    l->count = int_behind(text, "nChannels ");
    take(l->name, sizeof(l->name), type, "/");
    take(l->value, sizeof(l->value), slash + 1, ", ");
    return true;
}

/* Numbers of ncclDataType_t to bytes: i8 u8 i32 u32 i64 u64 f16 f32 f64 bf16 f8e4m3 f8e5m2 (nccl.h). */
static const uint8_t type_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

static bool coll(struct nccl_line *l, const char *text)
{
    int type = int_behind(text, "datatype ");
    const char *count = behind(text, "count ");
    uint64_t n = count ? strtoull(count, NULL, 10) : 0;
    take(l->name, sizeof(l->name), text, ":");
    if (type < 0 || type >= (int)sizeof(type_bytes) ||
        __builtin_mul_overflow(n, type_bytes[type], &l->bytes))
        return false;
    return l->name[0] != '\0';
}

/* Words, or up to 2.23 numbers: algorithms and protocols of nccl_common.h. */
static const char *const algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

static void spell(char *out, size_t size, const char *p, const char *const *names, size_t count)
{
    take(out, size, p, " ");
    if (isdigit((unsigned char)out[0]) && strtoul(out, NULL, 10) < count)
        str_copy(out, size, names[strtoul(out, NULL, 10)]);
}

static bool tuning(struct nccl_line *l, const char *text)
{
    char algorithm[32], protocol[32];
    const char *colon = strchr(text, ':'), *bytes = strstr(text, " Bytes");
    take(l->name, sizeof(l->name), text, ":");
    if (isdigit((unsigned char)text[0])) { /* up to 2.23: no function */
        l->name[0] = '\0';
        colon = text - 1;
    }
    if (!colon || !bytes)
        return false;
    l->bytes = strtoull(colon + 1, NULL, 10);
    spell(algorithm, sizeof(algorithm), strstr(text, "Algo ") + strlen("Algo "), algorithms,
          sizeof(algorithms) / sizeof(algorithms[0]));
    spell(protocol, sizeof(protocol), strstr(text, "proto ") + strlen("proto "), protocols,
          sizeof(protocols) / sizeof(protocols[0]));
    snprintf(l->value, sizeof(l->value), "%s/%s", algorithm, protocol);
    return true;
}

void nccl_decode(struct nccl_line *l, const char *text)
{
    static bool (*const decoders[])(struct nccl_line *, const char *) = {
        [NCCL_VERSION] = version,
        [NCCL_INIT] = init,
        [NCCL_END] = end,
        [NCCL_SIZES] = sizes,
        [NCCL_TIMINGS] = timings,
        [NCCL_ENV] = env,
        [NCCL_BOOTSTRAP] = bootstrap,
        [NCCL_IB_USING] = ib_using,
        [NCCL_SOCKET_USING] = socket_using,
        [NCCL_NETWORK] = named,
        [NCCL_PLUGIN_FAILED] = named,
        [NCCL_PLUGIN_READY] = named,
        [NCCL_PLUGIN_ASSIGNED] = named,
        [NCCL_PLUGIN_LOADED] = named,
        [NCCL_CHANNEL] = channel,
        [NCCL_RING] = ring,
        [NCCL_CHANNELS] = channels,
        [NCCL_GRAPH] = graph,
        [NCCL_TUNING] = tuning,
        [NCCL_COLL] = coll,
        [NCCL_WATCHDOG] = NULL,
    };
    if (decoders[l->kind] && !decoders[l->kind](l, text))
        l->kind = NCCL_UNKNOWN;
}

bool nccl_decode_watchdog(struct nccl_line *l, const char *line)
{
    const char *p = strstr(line, "Watchdog caught collective operation timeout: WorkNCCL(");
    const char *rank = strstr(line, "[Rank "), *ran = p ? strstr(p, " ran for ") : NULL;
    if (!p)
        return false;
    l->kind = NCCL_WATCHDOG;
    l->warn = true;
    l->word = "watchdog";
    str_copy(l->text, sizeof(l->text), p);
    l->count = int_behind(p, "SeqNum=");
    const char *operation = behind(p, "OpType=");
    if (operation)
        take(l->name, sizeof(l->name), operation, ",)");
    if (rank && rank < p)
        l->rank = (int)(strtoul(rank + strlen("[Rank "), NULL, 10) & 0xffffff);
    if (!rank && (rank = strstr(line, "[rank")) && rank < p)
        l->rank = (int)(strtoul(rank + strlen("[rank"), NULL, 10) & 0xffffff);
    if (ran)
        l->number = strtod(ran + strlen(" ran for "), NULL) / (double)(NS_PER_S / NS_PER_MS);
    return true;
}
