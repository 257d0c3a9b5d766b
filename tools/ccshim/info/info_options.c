/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info -c and -f: the options, their values and origins. */
#include <string.h>

#include "config/conf.h"
#include "info.h"
#include "tools/common/terminal.h"

#define WIDTH 78

static const char *const origins[] = {
	[CCS_FROM_DEFAULT] = "default",
	[CCS_FROM_SYSTEM_FILE] = "system file",
	[CCS_FROM_USER_FILE] = "user file",
	[CCS_FROM_ENV] = "environment",
	[CCS_FROM_REQUEST] = "request",
};

static const char *origin(const struct ccs_setting *s)
{
	return origins[s ? s->source : CCS_FROM_DEFAULT];
}

/* "user file /etc/x.conf:3 [peer 10.0.0.0/24]" */
static char *origin_text(const struct ccs_setting *s, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s%s%s", origin(s), s && *s->where ? " " : "", s ? s->where : "",
		 s && *s->match.text ? " " : "", s ? s->match.text : "");
	return buf;
}

static int name_width(void)
{
	size_t width = 0;

	for (size_t i = 0; i < ccs_opt_count; i++)
		if (strlen(ccs_opt_table[i].name) > width)
			width = strlen(ccs_opt_table[i].name);
	return (int)width;
}

static char *value_text(const struct info_options *o, const struct ccs_opt *opt, char text[520])
{
	char value[512];

	ccs_options_format(&o->values, opt, value, sizeof(value));
	return ccs_conf_quote(value, text, 520);
}

/* Print "name = value # origin". The origin precedes if the value is quoted or the line would be
 * wider than the terminal. Both forms are valid in a configuration file. */
static void print_with_origin(const struct info_options *o, size_t i)
{
	const size_t width = terminal_width(stdout);
	char text[520], from[1280], line[2048];
	int len;

	value_text(o, &ccs_opt_table[i], text);
	origin_text(o->from[i], from, sizeof(from));
	len = snprintf(line, sizeof(line), "%-*s = %-24s # %s", name_width(), ccs_opt_table[i].name,
		       text, from);
	if (*text != '"' && (!width || (size_t)len <= width)) {
		puts(line);
		return;
	}
	terminal_print(stdout, "# ", "# %s", from);
	printf("%-*s = %s\n", *text == '"' ? 0 : name_width(), ccs_opt_table[i].name, text);
}

/* Whether this setting does not apply to the selected queue pair but may apply to others: no setting
 * for all queue pairs of the program takes precedence over it. */
static bool is_for_others(const struct info_options *o, const struct ccs_setting *s)
{
	const struct ccs_match_subject program = { .known = CCS_MATCH_APP, .app = o->subject.app };
	const struct ccs_setting *all = ccs_rules_find(&o->rules, s->opt, &program);

	if (!(s->match.keys & (CCS_MATCH_QP | CCS_MATCH_SHARE)) || ccs_match_matches(&s->match, &o->subject))
		return false;
	return !all || s->source > all->source ||
	       (s->source == all->source && (!all->section || s->section < all->section));
}

static void print_others(const struct info_options *o)
{
	bool first = true;

	for (const struct ccs_setting *s = o->rules.first; s; s = s->next) {
		if (!is_for_others(o, s))
			continue;
		if (first)
			printf("\n# Other processes or queue pairs:\n");
		first = false;
		terminal_print(stdout, "#   ", "# %s = %s in %s at %s", s->opt->name, s->value,
			       s->match.text, s->where);
	}
}

void info_options_text(const struct info_options *o)
{
	for (size_t i = 0; i < ccs_opt_count; i++)
		print_with_origin(o, i);
	print_others(o);
}

void info_options_file(const struct info_options *o)
{
	char values[128], text[520];

	printf("# Options of ccshim, see ccshim.conf(5). In the environment: CCSHIM_NAME.\n");
	for (size_t i = 0; i < ccs_opt_count; i++) {
		const struct ccs_opt *opt = &ccs_opt_table[i];

		printf("\n# %s: %s (default %s)\n", opt->name,
		       ccs_opt_values(opt, values, sizeof(values)), *opt->def ? opt->def : "empty");
		terminal_wrap(stdout, WIDTH, "# ", "# %s", opt->doc);
		printf("%s = %s\n", opt->name, value_text(o, opt, text));
	}
}

void info_options_json(struct ccs_json *j, const struct info_options *o)
{
	char text[512];

	ccs_json_array(j, "options");
	for (size_t i = 0; i < ccs_opt_count; i++) {
		const struct ccs_opt *opt = &ccs_opt_table[i];

		ccs_json_object(j, NULL);
		ccs_json_str(j, "name", opt->name);
		ccs_json_str(j, "value", ccs_options_format(&o->values, opt, text, sizeof(text)));
		ccs_json_str(j, "origin", origin(o->from[i]));
		ccs_json_str(j, "where", o->from[i] ? o->from[i]->where : "");
		ccs_json_str(j, "section", o->from[i] ? o->from[i]->match.text : "");
		ccs_json_bool(j, "per_qp", opt->per_qp);
		ccs_json_str(j, "default", opt->def);
		ccs_json_str(j, "allowed", ccs_opt_values(opt, text, sizeof(text)));
		ccs_json_str(j, "doc", opt->doc);
		ccs_json_end(j);
	}
	ccs_json_end(j);
	ccs_json_array(j, "others");
	for (const struct ccs_setting *s = o->rules.first; s; s = s->next) {
		if (!is_for_others(o, s))
			continue;
		ccs_json_object(j, NULL);
		ccs_json_str(j, "name", s->opt->name);
		ccs_json_str(j, "value", s->value);
		ccs_json_str(j, "where", s->where);
		ccs_json_str(j, "section", s->match.text);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}
