/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "runtime/conf.h"
#include "tools/info.h"

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

static void put_line(const struct info_options *o, size_t i, bool with_origin)
{
	const struct ccs_opt *opt = &ccs_opt_table[i];
	char value[512], text[520], from[1280];

	ccs_options_format(&o->values, opt, value, sizeof(value));
	ccs_conf_quote(value, text, sizeof(text));
	origin_text(o->from[i], from, sizeof(from));
	if (with_origin && *text == '"') /* nothing may follow the quote */
		printf("# %s\n%s = %s\n", from, opt->name, text);
	else if (with_origin)
		printf("%-9s = %-24s # %s\n", opt->name, text, from);
	else
		printf("%s = %s\n", opt->name, text);
}

/* Whether some queue pair has it, though not the one (or none) that was asked for: nothing
 * wins over it whichever the queue pair. */
static bool is_for_others(const struct info_options *o, const struct ccs_setting *s)
{
	const struct ccs_who nobody = { .known = CCS_MATCH_APP, .app = o->who.app };
	const struct ccs_setting *all = ccs_rules_find(&o->rules, s->opt, &nobody);

	if (!(s->match.keys & CCS_MATCH_QP) || ccs_match_holds(&s->match, &o->who))
		return false;
	return !all || s->source > all->source ||
	       (s->source == all->source && (!all->section || s->section < all->section));
}

static void put_sections(const struct info_options *o)
{
	bool first = true;

	for (const struct ccs_setting *s = o->rules.first; s; s = s->next) {
		if (!is_for_others(o, s))
			continue;
		if (first)
			printf("\n# Other queue pairs:\n");
		first = false;
		printf("# %s = %s in %s at %s\n", s->opt->name, s->value, s->match.text,
		       s->where);
	}
}

void info_options_text(const struct info_options *o)
{
	for (size_t i = 0; i < ccs_opt_count; i++)
		put_line(o, i, true);
	put_sections(o);
}

static void put_wrapped(const char *text)
{
	int column = 0;

	while (*text) {
		const int word = (int)strcspn(text, " ");

		if (!column || column + 1 + word > WIDTH)
			column = printf("%s#", column ? "\n" : "") - (column > 0);
		column += printf(" %.*s", word, text);
		text += word;
		text += *text == ' ';
	}
	putchar('\n');
}

void info_options_file(const struct info_options *o)
{
	char values[128];

	printf("# Options of ccshim; see ccshim.conf(5). name is CCSHIM_NAME in the "
	       "environment.\n");
	for (size_t i = 0; i < ccs_opt_count; i++) {
		const struct ccs_opt *opt = &ccs_opt_table[i];

		printf("\n# %s: %s (default %s)\n", opt->name,
		       ccs_opt_values(opt, values, sizeof(values)), *opt->def ? opt->def : "empty");
		put_wrapped(opt->doc);
		put_line(o, i, false);
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
