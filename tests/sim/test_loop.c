/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the rows of one group; the group is the part of the program's name after test_loop_. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

enum { ROWS_MAX = 80, SEEDS = 2 };

static void holds(void **state)
{
	const struct row *row = *state;
	const char *given = getenv("CCS_SEED");
	const uint64_t first = given ? strtoull(given, NULL, 0) : 1;
	double figure[FIGURES];
	unsigned broken = 0;

	assert_true(row->bound[0].most > 0);
	for (uint64_t seed = first; seed < first + (given ? 1 : SEEDS); seed++) {
		row_figures(row, seed, figure);
		broken += row_print(stdout, "# ", row, seed, figure);
	}
	assert_int_equal(broken, 0);
}

int main(int argc, char **argv)
{
	static struct CMUnitTest test[ROWS_MAX];
	const struct group *const *g = sim_groups;
	const char *wanted = argc ? strstr(argv[0], "test_loop_") : NULL;

	while (*g && wanted && strcmp((*g)->name, wanted + strlen("test_loop_")) != 0)
		g++;
	if (!wanted || !*g || (*g)->rows > ROWS_MAX) {
		fprintf(stderr, "%s: no such group of rows\n", argv[0]);
		return 1;
	}
	for (unsigned i = 0; i < (*g)->rows; i++)
		test[i] = (struct CMUnitTest){ .name = (*g)->row[i].name, .test_func = holds,
					       .initial_state = (void *)(uintptr_t)&(*g)->row[i] };
	row_heading(stdout, "# ");
	return _cmocka_run_group_tests((*g)->name, test, (*g)->rows, NULL, NULL);
}
