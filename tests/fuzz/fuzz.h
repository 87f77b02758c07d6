/* SPDX-License-Identifier: MIT */
/*
 * fuzz: what libFuzzer calls, and replay.c too.
 */
#ifndef GPUFEED_TESTS_FUZZ_FUZZ_H
#define GPUFEED_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
