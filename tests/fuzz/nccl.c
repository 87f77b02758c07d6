/* SPDX-License-Identifier: MIT */
/* NCCL's log: any bytes are read; how they are cut into pieces changes no fact; facts name a line. */
#include "fuzz.h"

#include "import/nccl_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sum {
    uint64_t hash, count;
};

static int on_fact(void *arg, const struct fact *f)
{
    struct sum *sum = arg;
    char number[40];
    if (!f->kind || !f->subject || !f->name || !f->unit || !f->source ||
        (!f->text && !isfinite(f->number)))
        abort();
    snprintf(number, sizeof(number), "%.17g", f->text ? 0 : f->number);
    const char *parts[] = {f->kind, f->subject, f->name, f->text ? f->text : number, f->source};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        for (const char *p = parts[i]; *p; p++)
            sum->hash = (sum->hash ^ (unsigned char)*p) * 1099511628211u;
    sum->count++;
    return 0;
}

static struct sum read_in_pieces(const char *data, size_t size, size_t piece)
{
    struct sum sum = {14695981039346656037u, 0};
    struct nccl_log *l = nccl_log_new();
    nccl_log_begin(l, "x");
    for (size_t at = 0; at < size; at += piece)
        nccl_log_feed(l, data + at, size - at < piece ? size - at : piece);
    nccl_log_end(l);
    if (nccl_log_facts(l, on_fact, &sum, NULL))
        abort();
    nccl_log_free(l);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nccl_log_is((const char *)data, size);
    struct sum one = read_in_pieces((const char *)data, size, size + 1);
    struct sum other = read_in_pieces((const char *)data, size, 37);
    if (one.hash != other.hash || one.count != other.count)
        abort();
    return 0;
}
