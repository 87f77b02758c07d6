/* SPDX-License-Identifier: MIT */
/* unit_test: cmocka with the headers that it wants first. */
#ifndef TESTS_CHECK_UNIT_TEST_H
#define TESTS_CHECK_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
