/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a row and printing its result. */
#include "rows.h"

#include <inttypes.h>

const struct group *const sim_groups[] = {
	&sim_timely, &sim_dcqcn, &sim_hpcc, &sim_swift, &sim_copa, &sim_rcp, &sim_none, NULL
};

static const struct {
	const char *name;
	int width, decimals;
} figures[FIGURES] = {
	[UTIL] = { "util/%", 6, 1 },     [JAIN] = { "Jain", 5, 3 },
	[RTT_AVG] = { "RTT/us", 8, 1 },  [RTT_P99] = { "p99/us", 8, 1 },
	[Q_AVG] = { "queue/KB", 8, 1 },  [Q_P95] = { "p95/KB", 7, 1 },
	[Q_P99] = { "p99/KB", 7, 1 },
	[JOIN_MS] = { "join/ms", 7, 1 }, [LEAVE_MS] = { "leave/ms", 8, 1 },
};

void row_figures(const struct row *row, uint64_t seed, double figure[FIGURES])
{
	static struct sim_result r;

	sim_run(&row->conf, seed, &r);
	figure[UTIL] = 100 * r.util;
	figure[JAIN] = r.jain;
	figure[RTT_AVG] = r.rtt_avg;
	figure[RTT_P99] = r.rtt_p99;
	figure[Q_AVG] = r.q_avg / 1e3;
	figure[Q_P95] = r.q_p95 / 1e3;
	figure[Q_P99] = r.q_p99 / 1e3;
	figure[JOIN_MS] = r.join_us / 1e3;
	figure[LEAVE_MS] = r.leave_us / 1e3;
}

void row_heading(FILE *out, const char *lead)
{
	fprintf(out, "%s%-46s %4s", lead, "", "seed");
	for (unsigned i = 0; i < FIGURES; i++)
		fprintf(out, " %*s", figures[i].width, figures[i].name);
	fputc('\n', out);
}

unsigned row_print(FILE *out, const char *lead, const struct row *row, uint64_t seed,
		   const double figure[FIGURES])
{
	unsigned broken = 0;

	fprintf(out, "%s%-46s %4" PRIu64, lead, row->name, seed);
	for (unsigned i = 0; i < FIGURES; i++)
		if (i >= JOIN_MS && !row->conf.guests.n)
			fprintf(out, " %*s", figures[i].width, "-");
		else
			fprintf(out, " %*.*f", figures[i].width, figures[i].decimals, figure[i]);
	fputc('\n', out);
	for (const struct bound *b = row->bound; b < row->bound + 6 && b->most > 0; b++) {
		if (figure[b->figure] >= b->least && figure[b->figure] <= b->most)
			continue;
		fprintf(out, "%s  %s is not within %g to %g\n", lead, figures[b->figure].name,
			b->least, b->most);
		broken++;
	}
	return broken;
}
