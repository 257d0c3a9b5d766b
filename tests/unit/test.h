/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_TEST_H
#define CCS_TESTS_TEST_H
/*
 * cmocka with the headers that it needs, and tests that register themselves, in the order of the file.
 * cmocka passes a state to each test; most do not use it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define TEST_WITH(name_, setup, teardown) \
	static void name_(void **state); \
	static __attribute__((constructor)) void register_##name_(void) \
	{ \
		test_register((struct CMUnitTest){ #name_, name_, setup, teardown, NULL }); \
	} \
	static void name_(void **state)
#define TEST(name_) TEST_WITH(name_, NULL, NULL)

void test_register(struct CMUnitTest test);
/* Run all of them, between the group's setup and teardown, which may be NULL. Returns the failures. */
int test_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
