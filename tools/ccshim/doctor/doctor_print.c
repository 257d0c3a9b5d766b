/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints findings, as text of at most 80 columns or as JSON. */
#include "config.h"
#include "doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "tools/common/terminal.h"

enum { WIDTH = 80 };

static const char *const severities[] = { "note", "problem" };

/* -- text -------------------------------------------------------------------------------------- */

static size_t width(void)
{
	const size_t terminal = terminal_width(stdout);

	return terminal && terminal < WIDTH ? terminal : WIDTH;
}

/* A number with at least three digits and no exponent. */
static char *format_number(double v, char *buf, size_t len)
{
	if (v >= 1e13)
		snprintf(buf, len, "%.6g", v);
	else
		snprintf(buf, len, "%.*f", v == floor(v) || v >= 100 ? 0 : v >= 1 ? 1 : 3, v);
	return buf;
}

static void print_figure(const struct doctor *d, const struct doctor_figure *f)
{
	char value[32], rate[32];

	format_number(f->value, value, sizeof(value));
	if (f->is_counter)
		printf(f->value < 1e13 ? "    %-40.40s %+14.0f  %s/s\n" : "    %-40.40s %+14.6g  %s/s\n", f->name, f->value,
		       format_number(f->value / d->interval_s, rate, sizeof(rate)));
	else
		printf("    %-40.40s %14s\n", f->name, value);
}

static void print_finding(const struct doctor *d, const struct doctor_finding *f)
{
	printf("\n");
	terminal_wrap(stdout, width(), "  ", "%s: %s: %s", severities[f->severity], f->verdict, f->where);
	terminal_wrap(stdout, width(), "  ", "  %s", f->text);
	terminal_wrap(stdout, width(), "  ", "  What to do: %s", f->remedy);
	for (unsigned i = 0; i < f->figures; i++)
		print_figure(d, &f->figure[i]);
}

/* Print the ports and processes that were read: "nothing found" depends on them. */
static void print_scope(const struct doctor *d)
{
	char line[2048] = "";
	size_t qps = 0;

	for (size_t i = 0; i < d->after.ports; i++)
		ccs_append(line, sizeof(line), "%s%s/%u%s%s", i ? ", " : "", d->after.port[i].device,
			   d->after.port[i].port, *d->after.port[i].interface ? " on " : "",
			   d->after.port[i].interface);
	for (size_t i = 0; i < d->after.stat.count; i++)
		qps += d->after.stat.process[i].count;
	terminal_wrap(stdout, width(), "  ", "%.3g s; %s; %zu queue pair%s of %zu process%s under ccshim; %s",
		      d->interval_s, *line ? line : "no RDMA device", qps, qps == 1 ? "" : "s",
		      d->after.stat.count, d->after.stat.count == 1 ? "" : "es",
		      d->after.agent.present ? "ccshimd runs" : "no ccshimd");
}

void doctor_print(const struct doctor *d)
{
	const unsigned problems = doctor_count(d, DOCTOR_PROBLEM), notes = doctor_count(d, DOCTOR_NOTE);

	print_scope(d);
	for (size_t i = 0; i < d->findings; i++)
		print_finding(d, &d->finding[i]);
	printf("\n");
	if (problems || notes)
		printf("%u problem%s, %u note%s\n", problems, problems == 1 ? "" : "s", notes,
		       notes == 1 ? "" : "s");
	else
		puts("nothing found");
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void write_finding(struct ccs_json *j, const struct doctor *d, const struct doctor_finding *f)
{
	ccs_json_object(j, NULL);
	ccs_json_str(j, "verdict", f->verdict);
	ccs_json_str(j, "severity", severities[f->severity]);
	ccs_json_str(j, "where", f->where);
	ccs_json_str(j, "text", f->text);
	ccs_json_str(j, "remedy", f->remedy);
	ccs_json_array(j, "figures");
	for (unsigned i = 0; i < f->figures; i++) {
		ccs_json_object(j, NULL);
		ccs_json_str(j, "name", f->figure[i].name);
		ccs_json_num(j, f->figure[i].is_counter ? "increase" : "value", f->figure[i].value);
		if (f->figure[i].is_counter)
			ccs_json_num(j, "per_second", f->figure[i].value / d->interval_s);
		ccs_json_end(j);
	}
	ccs_json_end(j);
	ccs_json_end(j);
}

static size_t count_known(const struct doctor_port *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->counters; i++)
		n += p->counter[i].means != DOCTOR_UNKNOWN;
	return n;
}

static void write_ports(struct ccs_json *j, const struct doctor *d)
{
	ccs_json_array(j, "ports");
	for (size_t i = 0; i < d->after.ports; i++) {
		ccs_json_object(j, NULL);
		ccs_json_str(j, "device", d->after.port[i].device);
		ccs_json_uint(j, "port", d->after.port[i].port);
		ccs_json_str(j, "interface", *d->after.port[i].interface ? d->after.port[i].interface : NULL);
		ccs_json_str(j, "driver", *d->after.port[i].driver ? d->after.port[i].driver : NULL);
		ccs_json_uint(j, "counters", d->after.port[i].counters);
		ccs_json_uint(j, "known_counters", count_known(&d->after.port[i]));
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

bool doctor_print_json(const struct doctor *d)
{
	struct ccs_json j;

	ccs_document_start(&j, stdout, d->unix_s);
	ccs_json_num(&j, "interval_s", d->interval_s);
	write_ports(&j, d);
	ccs_json_uint(&j, "processes", d->after.stat.count);
	ccs_json_bool(&j, "agent", d->after.agent.present);
	if (d->traffic >= 0)
		ccs_json_bool(&j, "traffic", d->traffic);
	ccs_json_array(&j, "findings");
	for (size_t i = 0; i < d->findings; i++)
		write_finding(&j, d, &d->finding[i]);
	ccs_json_end(&j);
	ccs_json_str(&j, "status", doctor_count(d, DOCTOR_PROBLEM) ? "problem" :
		     d->findings ? "note" : "ok");
	return ccs_json_finish(&j);
}
