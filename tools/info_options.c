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
};

static void put_line(const struct info_options *o, size_t i, bool with_origin)
{
	const struct ccs_opt *opt = &ccs_opt_table[i];
	char value[512], text[520];

	ccs_options_format(&o->values, opt, value, sizeof(value));
	ccs_conf_quote(value, text, sizeof(text));
	if (with_origin && *text == '"') /* nothing may follow the quote */
		printf("# %s\n%s = %s\n", origins[o->origin[i]], opt->name, text);
	else if (with_origin)
		printf("%-9s = %-24s # %s\n", opt->name, text, origins[o->origin[i]]);
	else
		printf("%s = %s\n", opt->name, text);
}

void info_options_text(const struct info_options *o)
{
	for (size_t i = 0; i < ccs_opt_count; i++)
		put_line(o, i, true);
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
		ccs_json_str(j, "origin", origins[o->origin[i]]);
		ccs_json_str(j, "default", opt->def);
		ccs_json_str(j, "allowed", ccs_opt_values(opt, text, sizeof(text)));
		ccs_json_str(j, "doc", opt->doc);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}
