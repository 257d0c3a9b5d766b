/* SPDX-License-Identifier: BSD-2-Clause */
#include "rows.h"

#include <math.h>
#include <string.h>

#include "human.h"

#define ROW(title, key, field, format) \
	{ title, key, offsetof(struct report, field), human_##format }

const struct row rows[] = {
	ROW("goodput", "goodput_bps", goodput, rate),
	ROW("utilisation", "utilisation", utilisation, percent),
	ROW("Jain", "jain", jain, share),
	ROW("Jain, worst window", "jain_min_window", jain_min, share),
	ROW("converged", "converged_share", converged, percent),
	ROW("convergence", "convergence_us", converged_us, us),
	ROW("drops", "drops", drops, count),
	ROW("drops after warm-up", "drops_after_warmup", drops_after, count),
	ROW("ECN marks", "marks", marks, count),
	ROW("under its fallback", "fallback_share", fallback, percent),
	ROW("retransmitted", "retransmitted_share", retransmitted, percent),
	ROW("queue mean", "queue_mean_bytes", queue.mean, bytes),
	ROW("queue p50", "queue_p50_bytes", queue.p50, bytes),
	ROW("queue p99", "queue_p99_bytes", queue.p99, bytes),
	ROW("queue max", "queue_max_bytes", queue.max, bytes),
	ROW("victim p50", "victim_p50_us", victim.p50, us),
	ROW("victim p90", "victim_p90_us", victim.p90, us),
	ROW("victim p99", "victim_p99_us", victim.p99, us),
	ROW("victim p99.9", "victim_p999_us", victim.p999, us),
	ROW("victim max", "victim_max_us", victim.max, us),
	{ NULL, NULL, 0, NULL },
};

static double figure(const struct row *row, const struct report *p)
{
	double v;

	memcpy(&v, (const char *)p + row->offset, sizeof(v));
	return v;
}

bool row_known(const struct row *row, const struct report *p, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (!isnan(figure(row, &p[i])))
			return true;
	return false;
}

struct repeats row_repeats(const struct row *row, const struct report *p, unsigned setting,
			   unsigned settings, unsigned repeats)
{
	double v[MAX_REPEATS];
	unsigned k;

	for (k = 0; k < repeats; k++)
		v[k] = figure(row, &p[setting + k * settings]);
	return repeats_of(v, repeats);
}
