/* SPDX-License-Identifier: MIT */
/*
 * elf_symbol: where functions of a shared library lie in its file, for uprobes.
 *
 * Reads the dynamic symbols of a 64-bit ELF file of this machine's byte order.
 * The file belongs to someone else: every offset is checked.
 */
#ifndef GPUFEED_SENSE_ELF_SYMBOL_H
#define GPUFEED_SENSE_ELF_SYMBOL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* offsets[i] becomes the file offset of names[i], 0 where absent. Returns how many were found,
 * or a negative status. */
int elf_symbol_offsets(const char *path, const char *const *names, uint64_t *offsets, size_t count,
                       struct error *e);

#endif
