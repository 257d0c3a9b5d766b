/* SPDX-License-Identifier: BSD-2-Clause */
#include "rows.h"

#include <math.h>
#include <string.h>

#include "tools/common/human.h"

#define ROW(title, key, field, format) \
	{ title, key, offsetof(struct report, field), human_##format, 0, 0 }
/* A percentile of a spread: q of samples. */
#define OF(title, key, field, p, q, format) \
	{ title, key, offsetof(struct report, field.p), human_##format, \
	  offsetof(struct report, field.n), q }

const struct row rows[] = {
	ROW("goodput", "goodput_bps", goodput, rate),
	ROW("utilisation", "utilisation", utilisation, percent),
	ROW("Jain", "jain", jain, share),
	ROW("Jain, worst window", "jain_min_window", jain_min, share),
	ROW("off its weight, worst", "off_weight", off_weight, percent),
	ROW("Jain in a tenant", "jain_in_tenant", jain_within, share),
	ROW("converged", "converged_share", converged, percent),
	ROW("convergence", "convergence_us", converged_us, us),
	OF("operation p50", "operation_p50_us", operation, p50, 0, us),
	OF("operation p99", "operation_p99_us", operation, p99, 0.99, us),
	OF("operation max", "operation_max_us", operation, max, 0, us),
	ROW("operations / none", "operation_slowdown", slower, share),
	ROW("drops", "drops", drops, count),
	ROW("drops after warm-up", "drops_after_warmup", drops_after, count),
	ROW("ECN marks", "marks", marks, count),
	ROW("under its fallback", "fallback_share", fallback, percent),
	ROW("waited for a QP", "waited_share", waited, percent),
	ROW("retransmitted", "retransmitted_share", retransmitted, percent),
	ROW("queue mean", "queue_mean_bytes", queue.mean, bytes),
	OF("queue p50", "queue_p50_bytes", queue, p50, 0, bytes),
	OF("queue p99", "queue_p99_bytes", queue, p99, 0.99, bytes),
	OF("queue max", "queue_max_bytes", queue, max, 0, bytes),
	OF("victim p50", "victim_p50_us", victim, p50, 0, us),
	OF("victim p90", "victim_p90_us", victim, p90, 0.9, us),
	OF("victim p99", "victim_p99_us", victim, p99, 0.99, us),
	OF("victim p99.9", "victim_p999_us", victim, p999, 0.999, us),
	OF("victim max", "victim_max_us", victim, max, 0, us),
	{ NULL, NULL, 0, NULL, 0, 0 },
};

static double figure(const struct row *row, const struct report *p)
{
	double v;

	memcpy(&v, (const char *)p + row->offset, sizeof(v));
	return v;
}

static size_t samples(const struct row *row, const struct report *p)
{
	size_t n;

	memcpy(&n, (const char *)p + row->samples, sizeof(n));
	return n;
}

size_t row_too_few(const struct row *row, const struct report *p, unsigned setting,
		   unsigned settings, unsigned repeats)
{
	size_t least = SIZE_MAX, n;

	if (!(row->q > 0))
		return 0;
	for (unsigned k = 0; k < repeats; k++) {
		n = samples(row, &p[setting + k * settings]);
		least = n < least ? n : least;
	}
	return least < spread_needs(row->q) ? least : 0;
}

bool row_known(const struct row *row, const struct report *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!isnan(figure(row, &p[i])))
			return true;
	return false;
}

struct repeats row_repeats(const struct row *row, const struct report *p, unsigned setting,
			   unsigned settings, unsigned repeats)
{
	double v[MAX_REPEATS];

	for (unsigned k = 0; k < repeats; k++)
		v[k] = figure(row, &p[setting + k * settings]);
	return repeats_of(v, repeats);
}
