/* SPDX-License-Identifier: MIT */
#include "sense/plain.h"

#include "base/mem.h"

#include <stdlib.h>

int plain_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct source_opts *copy = mem_zalloc(sizeof(*copy));
    if (!copy)
        return error_set(e, STATUS_MEMORY, "out of memory for a source of facts");
    *copy = *o;
    *ret = copy;
    return STATUS_OK;
}

void plain_stop(void *self)
{
    free(self);
}
