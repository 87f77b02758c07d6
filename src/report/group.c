/* SPDX-License-Identifier: MIT */
/* The grouping half of report/sum.h. */
#include "report/sum.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned sum_device_number(const struct report *r, size_t index)
{
    const char *id = r->accelerators[index].id;
    const char *colon = id ? strrchr(id, ':') : NULL;
    char *end = NULL;
    unsigned long n = colon ? strtoul(colon + 1, &end, 10) : 0;
    return colon && end != colon + 1 && !*end && n < 1000000 ? (unsigned)n : (unsigned)index;
}

static bool shares_number(const struct report *r, size_t index)
{
    unsigned n = sum_device_number(r, index);
    for (size_t i = 0; i < r->accelerator_count; i++)
        if (i != index && sum_device_number(r, i) == n)
            return true;
    return false;
}

/* Appends to buf, whose first `at` bytes are used, as far as it goes. "rank3", "rank3.file2" and "file1" of
 * importers are read as words. */
static void add_owner(char *buf, size_t size, size_t at, const char *id, size_t len)
{
    bool owner = !strncmp(id, "rank", 4) || !strncmp(id, "file", 4);
    for (size_t i = 0; i < len && at + sizeof(", )") < size; i++) {
        if (owner && i && id[i] >= '0' && id[i] <= '9' && id[i - 1] >= 'a' && id[i - 1] <= 'z')
            buf[at++] = ' ';
        buf[at++] = owner && id[i] == '.' ? ',' : id[i];
        if (owner && id[i] == '.')
            buf[at++] = ' ';
    }
    buf[at++] = ')';
    buf[at] = '\0';
}

char *sum_device_label(const struct report *r, size_t index, char buf[SUM_LABEL])
{
    const char *id = r->accelerators[index].id;
    const char *colon = id ? strrchr(id, ':') : NULL;
    bool told = colon && colon > id && shares_number(r, index);
    int n = snprintf(buf, SUM_LABEL, told ? "GPU %u (" : "GPU %u", sum_device_number(r, index));
    if (told)
        add_owner(buf, SUM_LABEL, (size_t)n, id, (size_t)(colon - id));
    return buf;
}

/* The R of "rankR:N", for groups of accelerators that all have the same N; else false. */
static bool rank_of(const struct report *r, size_t index, unsigned *ret)
{
    const char *id = r->accelerators[index].id;
    char *end = NULL;
    if (!id || strncmp(id, "rank", 4))
        return false;
    unsigned long n = strtoul(id + 4, &end, 10);
    *ret = (unsigned)n;
    return end != id + 4 && *end == ':' && n < 1000000 && shares_number(r, index);
}

static bool alike(const struct report_accelerator *a, const struct report_accelerator *b)
{
    if (a->ns <= 0 || b->ns <= 0)
        return a->ns <= 0 && b->ns <= 0;
    for (int s = 0; s < STATE_COUNT; s++)
        if (fabs((double)a->state_ns[s] / (double)a->ns - (double)b->state_ns[s] / (double)b->ns) >
            SUM_ALIKE)
            return false;
    return true;
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

/* "GPU 0-6, 8": ranges of sorted numbers; "..." once it does not fit. */
static void write_label(char *buf, size_t size, const char *what, unsigned *numbers, size_t count)
{
    size_t len = (size_t)snprintf(buf, size, "%s ", what);
    qsort(numbers, count, sizeof(*numbers), by_number);
    for (size_t i = 0; i < count;) {
        size_t k = i;
        char part[32];
        while (k + 1 < count && numbers[k + 1] <= numbers[k] + 1)
            k++;
        if (k == i)
            snprintf(part, sizeof(part), "%s%u", i ? ", " : "", numbers[i]);
        else
            snprintf(part, sizeof(part), "%s%u-%u", i ? ", " : "", numbers[i], numbers[k]);
        if (len + strlen(part) + sizeof(", ...") > size) {
            snprintf(buf + len, size - len, ", ...");
            return;
        }
        len += (size_t)snprintf(buf + len, size - len, "%s", part);
        i = k + 1;
    }
}

static int most_wait_first(const void *a, const void *b)
{
    const struct sum_group *x = a, *y = b;
    double p = x->ns > 0 ? (double)x->state_ns[STATE_WAIT] / (double)x->ns : -1;
    double q = y->ns > 0 ? (double)y->state_ns[STATE_WAIT] / (double)y->ns : -1;
    if (p != q)
        return p > q ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* of[i]: the group of accelerator i, named by its first member. */
static size_t assign(const struct report *r, bool apart, size_t *of)
{
    size_t groups = 0;
    for (size_t i = 0; i < r->accelerator_count; i++) {
        of[i] = i;
        for (size_t k = 0; k < i && !apart && of[i] == i; k++)
            if (of[k] == k && alike(&r->accelerators[k], &r->accelerators[i]))
                of[i] = k;
        groups += of[i] == i;
    }
    return groups;
}

static void fill(const struct report *r, const size_t *of, size_t first, unsigned *numbers,
                 struct sum_group *g)
{
    bool ranks = true;
    unsigned rank;
    for (size_t i = first; i < r->accelerator_count; i++)
        ranks &= of[i] != first || rank_of(r, i, &rank);
    for (size_t i = first; i < r->accelerator_count; i++) {
        if (of[i] != first)
            continue;
        numbers[g->members++] = ranks && rank_of(r, i, &rank) ? rank : sum_device_number(r, i);
        g->ns += r->accelerators[i].ns;
        for (int s = 0; s < STATE_COUNT; s++)
            g->state_ns[s] += r->accelerators[i].state_ns[s];
    }
    if (g->members == 1)
        sum_device_label(r, first, g->label);
    else
        write_label(g->label, sizeof(g->label), ranks ? "rank" : "GPU", numbers, g->members);
}

bool sum_groups(const struct report *r, size_t apart_max, struct sum_group **ret, size_t *ret_count)
{
    size_t n = r->accelerator_count, made = 0;
    AUTOFREE size_t *of = mem_zalloc(n * sizeof(*of));
    AUTOFREE unsigned *numbers = mem_zalloc(n * sizeof(*numbers));
    bool apart = n <= apart_max;
    size_t count = of && numbers ? assign(r, apart, of) : 0;
    struct sum_group *groups = of && numbers ? mem_zalloc(count * sizeof(*groups)) : NULL;
    if (!groups)
        return false;
    for (size_t i = 0; i < n; i++)
        if (of[i] == i)
            fill(r, of, i, numbers, &groups[made++]);
    if (!apart)
        qsort(groups, count, sizeof(*groups), most_wait_first);
    *ret = groups;
    *ret_count = count;
    return true;
}
