/* SPDX-License-Identifier: BSD-2-Clause */
/* The tests of a program, and main() for a program without one. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

static struct CMUnitTest tests[128];
static size_t count;

void test_register(struct CMUnitTest test)
{
	if (count == sizeof(tests) / sizeof(*tests))
		abort();
	tests[count++] = test;
}

int test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	return _cmocka_run_group_tests(program_invocation_short_name, tests, count, setup, teardown);
}

__attribute__((weak)) int main(void)
{
	return test_run(NULL, NULL);
}
