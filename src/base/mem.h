/* SPDX-License-Identifier: MIT */
/*
 * mem: allocation that tests can make fail, growth of arrays, cleanup.
 *
 * mem_fail_after(n) lets n allocations succeed and all later ones fail
 * (-1 switches that off): tests walk every failing allocation with it.
 */
#ifndef GPUFEED_BASE_MEM_H
#define GPUFEED_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_zalloc(size_t bytes); /* zeroed; NULL when out of memory; free() it */
char *mem_strdup(const char *text);

/* Makes *array hold at least `need` elements of `elem` bytes: at least doubles
 * *cap. New elements are not zeroed. On failure returns false, *array is kept. */
bool mem_grow(void **array, size_t *cap, size_t need, size_t elem);

void mem_fail_after(long allocations);

/* Most memory that this program ever held, in bytes; NAN unknown. (getrusage would count what the
 * process held before it executed this program.) */
double mem_peak_bytes(void);

/* `AUTOFREE char *p = ...;` frees p at the end of its scope. */
#define AUTOFREE __attribute__((cleanup(mem_free_at)))
void mem_free_at(void *pointer_to_pointer);

#endif
