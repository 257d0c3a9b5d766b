/* SPDX-License-Identifier: BSD-2-Clause */
#include "verdict.h"

#include <math.h>
#include <string.h>

#include "tools/common/json_read.h"

struct run {
	struct verdict v;
	double rate_bps, queue_p99;
};

struct runs {
	struct verdict *v;
	unsigned n, max;
	double base_us;
};

static bool read_p99(struct json_read *j, const char *key, void *value)
{
	return strcmp(key, "p99") == 0 ? json_number(j, value) : json_skip(j);
}

static bool read_figure(struct json_read *j, const char *key, void *arg)
{
	struct run *r = arg;
	const struct { const char *key; double *to; } number[] = {
		{ "utilisation", &r->v.utilisation }, { "drops_after_warmup", &r->v.drops },
		{ "errors", &r->v.errors }, { "bottleneck_bps", &r->rate_bps },
	};

	if (strcmp(key, "cc") == 0)
		return json_string(j, r->v.cc, sizeof(r->v.cc));
	if (strcmp(key, "queue_bytes") == 0)
		return json_object(j, read_p99, &r->queue_p99);
	if (strcmp(key, "victim_latency_us") == 0)
		return json_object(j, read_p99, &r->v.victim_p99_us);
	for (unsigned i = 0; i < sizeof(number) / sizeof(*number); i++)
		if (strcmp(key, number[i].key) == 0)
			return json_number(j, number[i].to);
	return json_skip(j);
}

static void judge(struct run *r, double base_us)
{
	struct verdict *v = &r->v;
	const double queue_us = 8e6 * r->queue_p99 / r->rate_bps;

	v->run = true;
	v->p99_us = isnan(queue_us) ? v->victim_p99_us : queue_us + base_us;
	v->g1 = v->utilisation >= UTILISATION_MIN;
	v->g2 = !(v->drops > 0);
	v->g3 = v->p99_us <= DELAY_MAX_RTTS * base_us;
	v->pass = v->g1 && v->g2 && v->g3 && !(v->errors > 0);
}

static bool read_run(struct json_read *j, void *arg)
{
	struct runs *all = arg;
	struct run r = { .v = { .utilisation = NAN, .drops = NAN, .victim_p99_us = NAN },
			 .rate_bps = NAN, .queue_p99 = NAN };

	if (all->n == all->max)
		return json_skip(j);
	if (!json_object(j, read_figure, &r))
		return false;
	judge(&r, all->base_us);
	all->v[all->n++] = r.v;
	return true;
}

static bool read_runs(struct json_read *j, const char *key, void *arg)
{
	return strcmp(key, "runs") == 0 ? json_array(j, read_run, arg) : json_skip(j);
}

unsigned verdicts_read(struct verdict *v, unsigned max, const char *json, double base_us)
{
	struct json_read j = { .text = json, .at = json };
	struct runs all = { .v = v, .max = max, .base_us = base_us };

	return json_object(&j, read_runs, &all) ? all.n : 0;
}

/* The smallest message takes the least time. */
static bool read_least(struct json_read *j, void *least)
{
	double us;

	if (!json_number(j, &us))
		return false;
	*(double *)least = fmin(*(double *)least, us);
	return true;
}

static bool read_times(struct json_read *j, const char *key, void *least)
{
	return strcmp(key, "us") == 0 ? json_array(j, read_least, least) : json_skip(j);
}

static bool read_host(struct json_read *j, void *least)
{
	return json_object(j, read_times, least);
}

static bool read_unloaded(struct json_read *j, const char *key, void *least)
{
	return strcmp(key, "unloaded") == 0 ? json_array(j, read_host, least) : json_skip(j);
}

double verdict_base_us(const char *json)
{
	struct json_read j = { .text = json, .at = json };
	double least = INFINITY;

	return json_object(&j, read_unloaded, &least) && least < INFINITY ? least : NAN;
}
