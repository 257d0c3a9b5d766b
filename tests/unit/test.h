/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_TEST_H
#define CCS_TESTS_TEST_H
/* cmocka with the headers that it needs. It passes a state to each test; most do not use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
