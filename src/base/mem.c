/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include "base/unit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long fail_after = -1; /* test hook only */

void mem_fail_after(long allocations)
{
    fail_after = allocations;
}

static bool refused(void)
{
    if (fail_after < 0)
        return false;
    if (fail_after == 0)
        return true;
    fail_after--;
    return false;
}

void *mem_zalloc(size_t bytes)
{
    return refused() ? NULL : calloc(1, bytes ? bytes : 1);
}

char *mem_strdup(const char *text)
{
    return refused() ? NULL : strdup(text);
}

bool mem_grow(void **array, size_t *cap, size_t need, size_t elem)
{
    if (need <= *cap)
        return true;
    size_t next = *cap < 8 ? 16 : *cap * 2;
    if (next < need)
        next = need;
    if (next > SIZE_MAX / elem || refused())
        return false;
    void *p = realloc(*array, next * elem);
    if (!p)
        return false;
    *array = p;
    *cap = next;
    return true;
}

double mem_peak_bytes(void)
{
    char line[128];
    unsigned long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof(line), f) && sscanf(line, "VmHWM: %lu kB", &kib) != 1)
        ;
    if (f)
        fclose(f);
    return kib ? (double)kib * (double)KIB : NAN;
}

void mem_free_at(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
