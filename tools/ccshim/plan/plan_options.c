/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the options of a calculation, and formats rates and times. */
#include "plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/human.h"
#include "tools/common/topology.h"

void plan_refuse(struct plan *p, const char *option, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tool_error("plan", "--%s: %s", option, text);
	p->failed = true;
}

static const struct plan_option *find_option(const struct plan *p, const char *name)
{
	FOR_EACH_OPTION(o, p->calc)
		if (strcmp(o->name, name) == 0)
			return o;
	abort(); /* a calculation reads an option that is not in its table */
}

const char *plan_text(const struct plan *p, const char *option)
{
	return p->value[find_option(p, option) - p->calc->options];
}

static const char *const examples[] = {
	[CCS_UNIT_NONE] = "number, such as 2 or 0.5",
	[CCS_UNIT_RATE] = "rate in bit/s, such as 100g or 25gbps",
	[CCS_UNIT_BYTES] = "size, such as 9216, 64k or 32m",
	[CCS_UNIT_TIME] = "time, such as 50us or 1.5us",
	[CCS_UNIT_LENGTH] = "length, such as 100m",
};

/* Plausible values, with a wide margin; results outside of it are meaningless. Times are in us. */
static const struct {
	double least, most;
	const char *text;
} ranges[] = {
	[CCS_UNIT_NONE] = { 1e-9, 1e12, "1e-9 to 1e12" },
	[CCS_UNIT_RATE] = { TOPOLOGY_RATE_MIN, TOPOLOGY_RATE_MAX, TOPOLOGY_RATES },
	[CCS_UNIT_BYTES] = { 1, 0x1p40, "1 to 1t" },
	[CCS_UNIT_TIME] = { 1e-3, 1e9, "1ns to 1000s" },
	[CCS_UNIT_LENGTH] = { 1e-3, 1e8, "1 mm to 100000 km" },
};

static double parse(struct plan *p, const char *option, const char *text, enum ccs_unit unit,
		    bool zero)
{
	double value;

	if (ccs_parse_unit(text, unit, &value) != 0 || !isfinite(value) || !(value > 0 || zero)) {
		plan_refuse(p, option, "'%s' is not a %s%s", text, zero ? "" : "positive ",
			    examples[unit]);
		return 1;
	}
	if (value != 0 && (value < ranges[unit].least || value > ranges[unit].most)) {
		plan_refuse(p, option, "'%s' is not in the range %s", text, ranges[unit].text);
		return 1;
	}
	return value;
}

static const char *required(struct plan *p, const char *option)
{
	const char *text = plan_text(p, option);

	if (!text)
		plan_refuse(p, option, "it is missing");
	return text ? text : "1";
}

double plan_parse(struct plan *p, const char *option, const char *text, enum ccs_unit unit)
{
	return parse(p, option, text, unit, false);
}

double plan_value(struct plan *p, const char *option, enum ccs_unit unit)
{
	return parse(p, option, required(p, option), unit, false);
}

double plan_value_or_0(struct plan *p, const char *option, enum ccs_unit unit)
{
	return parse(p, option, required(p, option), unit, true);
}

unsigned plan_count(struct plan *p, const char *option, unsigned least, unsigned most)
{
	const char *text = required(p, option), *end;
	const double value = ccs_strtod(text, &end);

	if (end != text && !*end && value == floor(value) && value >= least && value <= most)
		return (unsigned)value;
	plan_refuse(p, option, "'%s' is not a whole number from %u to %u", text, least, most);
	return least;
}

double plan_fraction(struct plan *p, const char *option)
{
	const char *text = required(p, option), *end;
	double value = ccs_strtod(text, &end), divisor = 1;
	bool ok = end != text;

	if (ok && *end == '/') {
		text = end + 1;
		divisor = ccs_strtod(text, &end);
		ok = end != text && divisor > 0;
	}
	if (ok && !*end && value / divisor >= 1e-9 && value / divisor <= 1e9)
		return value / divisor;
	plan_refuse(p, option, "'%s' is not a positive fraction up to 1e9, such as 1/8 or 0.125",
		    plan_text(p, option));
	return 1;
}

double plan_share(struct plan *p, const char *option, const char *text)
{
	const char *end;
	double value = ccs_strtod(text, &end);

	if (end != text && strcmp(end, "%") == 0) {
		value /= 100;
		end++;
	}
	if (end != text && !*end && value > 0 && value <= 1)
		return value;
	plan_refuse(p, option, "'%s' is not a share above 0, such as 1%% or 0.01", text);
	return 1;
}

double plan_cells(struct plan *p, const char *option, const char *text, double cell_bytes)
{
	const char *end;
	const double value = ccs_strtod(text, &end);

	if (end != text && (!*end || strcmp(end, "cells") == 0) && value >= 1e-9 && value <= 1e12)
		return value;
	return plan_parse(p, option, text, CCS_UNIT_BYTES) / cell_bytes;
}

bool plan_topology(struct plan *p, const char *option, struct topology *t)
{
	char err[320];
	const bool ok = topology_read(t, plan_text(p, option), err, sizeof(err));

	if (!ok)
		plan_refuse(p, option, "%s", err);
	return ok;
}

static char *next_buffer(void)
{
	static char buffers[8][32];
	static unsigned next;

	return buffers[next++ % 8];
}

const char *plan_rate_text(double bps)
{
	return human_rate(bps, next_buffer(), 32);
}

const char *plan_time_text(double us)
{
	return human_us(us, next_buffer(), 32);
}
