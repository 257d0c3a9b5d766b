/* SPDX-License-Identifier: BSD-2-Clause */
#include "operations.h"

#include <stdlib.h>

#include "bench/sim/core/memory.h"

struct spread fab_operations(const struct fab_result *r)
{
	double *us = mem_zeroed(r->operations + 1, sizeof(*us));
	struct spread s;

	for (unsigned i = 0; i < r->operations; i++)
		us[i] = (double)r->operation[i].length / FAB_PS_PER_US;
	s = spread_of(us, r->operations);
	free(us);
	return s;
}

void fab_write_operations(struct ccs_json *j, const struct spread *s)
{
	ccs_json_object(j, "operations");
	ccs_json_uint(j, "count", s->n);
	ccs_json_num(j, "p50_us", s->p50);
	ccs_json_num(j, "p99_us", s->p99);
	ccs_json_num(j, "max_us", s->max);
	ccs_json_end(j);
}
