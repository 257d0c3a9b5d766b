/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the page shows. */
#include "serve.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/ask_agent.h"
#include "tools/common/seconds.h"

/* Requests that follow each other faster get the same reading, so that any number of pages costs
 * no more than one, and all show the same interval. */
#define INTERVAL_S 0.5

static void print_json(struct stat_snapshot *s, FILE *f)
{
	stat_json(s, false, f);
}

static void print_metrics(struct stat_snapshot *s, FILE *f)
{
	stat_metrics(s, STAT_METRICS_QPS, false, f);
}

static char *format(struct stat_snapshot *s, void (*print)(struct stat_snapshot *s, FILE *f))
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	print(s, f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

static char *read_flows(struct serve *s)
{
	struct stat_snapshot increase;
	char *text = NULL;

	if (stat_read_increase(&increase, &s->last)) {
		stat_parse_tenants(&increase, s->agent);
		stat_parse_tenants(&s->last, s->agent);
		text = format(&increase, print_json);
	}
	stat_free(&increase);
	return text;
}

static char *read_agent(const struct serve *s)
{
	return strcmp(s->options.agent, "off") == 0 ? NULL : ask_agent(s->options.agent);
}

void serve_data_start(struct serve *s)
{
	stat_read(&s->last, 0);
}

/* Whether a reading is old or was never made; then the next one begins now. */
static bool is_due(double *read_s)
{
	const double now_s = seconds_now(CLOCK_MONOTONIC);

	if (*read_s > 0 && now_s - *read_s < INTERVAL_S)
		return false;
	*read_s = now_s;
	return true;
}

const char *serve_data_agent(struct serve *s)
{
	if (is_due(&s->agent_s)) {
		free(s->agent);
		s->agent = read_agent(s);
	}
	return s->agent;
}

const char *serve_data_flows(struct serve *s)
{
	if (is_due(&s->flows_s)) {
		serve_data_agent(s);
		free(s->flows);
		s->flows = read_flows(s);
	}
	return s->flows;
}

char *serve_data_metrics(struct serve *s)
{
	struct stat_snapshot copy;
	char *text;

	serve_data_flows(s);
	text = stat_copy(&copy, &s->last) ? NULL : format(&copy, print_metrics);
	stat_free(&copy);
	return text;
}

void serve_data_end(struct serve *s)
{
	stat_free(&s->last);
	free(s->flows);
	free(s->agent);
}
