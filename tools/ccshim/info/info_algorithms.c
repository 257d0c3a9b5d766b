/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info -a: the algorithms and their parameters. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"
#include "info.h"
#include "tools/common/terminal.h"

#define TEXT_LEN 64
#define PARAM_LEAD "                 " /* below the values of a parameter */

/* Six digits of derived values are enough in text. */
static double round_to_six_digits(double value)
{
	char text[CCS_NUMBER_LEN];
	const char *end;

	snprintf(text, sizeof(text), "%.6g", value);
	return ccs_strtod(text, &end);
}

/* 1e6 for 1e+06. */
static void tidy_exponent(char *text)
{
	char *digits = strchr(text, 'e');
	const char *rest;

	if (!digits)
		return;
	digits += digits[1] == '-' ? 2 : 1;
	rest = digits + strspn(digits, "+0");
	memmove(digits, rest, strlen(rest) + 1);
}

static char *value_text(const struct ccs_cc_param *param, double value, char *buf)
{
	if (param->choices) {
		snprintf(buf, TEXT_LEN, "%s", param->choices[(unsigned)value]);
		return buf;
	}
	ccs_format_unit(round_to_six_digits(value), ccs_unit_named(param->unit), buf, TEXT_LEN);
	tidy_exponent(buf);
	return buf;
}

static char *range_text(const struct ccs_cc_param *param, char *buf, size_t len)
{
	const char *unit = ccs_unit_named(param->unit) == CCS_UNIT_TIME ? "" : param->unit;
	char min[TEXT_LEN], max[TEXT_LEN];
	size_t at = 0;

	if (!param->choices) {
		snprintf(buf, len, "%s to %s%s%s", value_text(param, param->min, min),
			 value_text(param, param->max, max), *unit ? " " : "", unit);
		return buf;
	}
	for (unsigned i = 0; param->choices[i] && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s", i ? "|" : "", param->choices[i]);
	return buf;
}

static const char *origin_of(const struct ccs_cc *cc, unsigned i)
{
	if (!isnan(cc->spec->given[i]))
		return "given";
	return isnan(cc->ops->params[i].def) ? "derived" : "default";
}

static void print_algorithm(const struct ccs_cc *cc)
{
	const struct ccs_cc_ops *ops = cc->ops;
	char value[TEXT_LEN], range[256];
	const char *sep = "  needs ";

	terminal_print(stdout, "  ", "%s: %s", ops->name, ops->doc);
	for (const struct ccs_cc_need_name *s = ccs_cc_need_names; s->name; s++)
		if (ops->needs & s->bit) {
			printf("%s%s", sep, s->name);
			sep = ", ";
		}
	if (ops->needs)
		putchar('\n');
	for (unsigned i = 0; i < ops->nparams; i++) {
		const struct ccs_cc_param *param = &ops->params[i];

		terminal_print(stdout, PARAM_LEAD, "  %-14s %-10s %-8s %s", param->name,
			       value_text(param, cc->param[i], value), origin_of(cc, i),
			       range_text(param, range, sizeof(range)));
		terminal_print(stdout, PARAM_LEAD, PARAM_LEAD "%s (%s)", param->doc, param->source);
	}
}

/* Call print() for the given algorithm, or for each built-in algorithm. */
static void for_each(const struct ccs_cc_spec *only, const struct ccs_cc_path *path,
		     void (*print)(void *arg, const struct ccs_cc *cc), void *arg)
{
	struct ccs_cc cc;

	if (only) {
		ccs_cc_start(&cc, only, path);
		print(arg, &cc);
		return;
	}
	for (unsigned i = 0; ccs_cc_all[i]; i++) {
		const struct ccs_cc_spec plain = ccs_cc_default_spec(ccs_cc_all[i]);

		ccs_cc_start(&cc, &plain, path);
		print(arg, &cc);
	}
}

static void print_paragraph(void *arg, const struct ccs_cc *cc)
{
	(void)arg;
	putchar('\n');
	print_algorithm(cc);
}

void info_algorithms_text(const struct ccs_cc_spec *only, const struct ccs_cc_path *path)
{
	char rate[CCS_UNIT_LEN], rtt[CCS_UNIT_LEN], jitter[CCS_UNIT_LEN], segment[CCS_UNIT_LEN];

	terminal_print(stdout, "# ",
		       "# derived for line rate %s, base RTT %s, RTT jitter %s, segment %s, %u flow%s",
		       ccs_format_unit(path->line_rate, CCS_UNIT_RATE, rate, sizeof(rate)),
		       ccs_format_unit(path->base_rtt_us, CCS_UNIT_TIME, rtt, sizeof(rtt)),
		       ccs_format_unit(path->rtt_jitter_us, CCS_UNIT_TIME, jitter, sizeof(jitter)),
		       ccs_format_unit(path->segment, CCS_UNIT_BYTES, segment, sizeof(segment)),
		       path->flows, path->flows == 1 ? "" : "s");
	for_each(only, path, print_paragraph, NULL);
}

static void write_param(struct ccs_json *j, const struct ccs_cc *cc, unsigned i)
{
	const struct ccs_cc_param *param = &cc->ops->params[i];
	char text[TEXT_LEN];

	ccs_json_object(j, NULL);
	ccs_json_str(j, "name", param->name);
	ccs_json_str(j, "unit", param->unit);
	if (param->choices)
		ccs_json_str(j, "value", value_text(param, cc->param[i], text));
	else
		ccs_json_num(j, "value", cc->param[i]);
	ccs_json_str(j, "origin", origin_of(cc, i));
	if (param->choices) {
		ccs_json_array(j, "choices");
		for (unsigned k = 0; param->choices[k]; k++)
			ccs_json_str(j, NULL, param->choices[k]);
		ccs_json_end(j);
	} else {
		ccs_json_num(j, "min", param->min);
		ccs_json_num(j, "max", param->max);
	}
	ccs_json_str(j, "doc", param->doc);
	ccs_json_str(j, "source", param->source);
	ccs_json_end(j);
}

static void write_algorithm(void *arg, const struct ccs_cc *cc)
{
	struct ccs_json *j = arg;

	ccs_json_object(j, NULL);
	ccs_json_str(j, "name", cc->ops->name);
	ccs_json_str(j, "doc", cc->ops->doc);
	ccs_json_array(j, "needs");
	for (const struct ccs_cc_need_name *s = ccs_cc_need_names; s->name; s++)
		if (cc->ops->needs & s->bit)
			ccs_json_str(j, NULL, s->name);
	ccs_json_end(j);
	ccs_json_array(j, "params");
	for (unsigned i = 0; i < cc->ops->nparams; i++)
		write_param(j, cc, i);
	ccs_json_end(j);
	ccs_json_end(j);
}

void info_algorithms_json(struct ccs_json *j, const struct ccs_cc_spec *only,
			  const struct ccs_cc_path *path)
{
	ccs_json_object(j, "path");
	ccs_json_num(j, "line_rate_bps", path->line_rate);
	ccs_json_num(j, "base_rtt_us", path->base_rtt_us);
	ccs_json_num(j, "rtt_jitter_us", path->rtt_jitter_us);
	ccs_json_num(j, "segment_bytes", path->segment);
	ccs_json_uint(j, "flows", path->flows);
	ccs_json_end(j);
	ccs_json_array(j, "algorithms");
	for_each(only, path, write_algorithm, j);
	ccs_json_end(j);
}
