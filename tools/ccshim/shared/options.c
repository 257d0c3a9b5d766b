/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "base/units.h"
#include "ccshim.h"
#include "tools/common/next_option.h"

enum { ROWS_MAX = 40, FIRST = 256 };

/* The table as getopt_long() has it: a row is FIRST and its index, or its letter. Returns its end. */
static const struct option_row *list_options(const struct option_row *table, struct option *longs,
					     char *letters)
{
	unsigned n = 0;

	for (; table[n].name; n++) {
		const struct option_row *row = &table[n];
		const bool plain = row->kind == OPTION_FLAG || row->kind == OPTION_CALL;

		longs[n] = (struct option){ row->name, plain ? no_argument : required_argument, NULL, FIRST + (int)n };
		if (row->letter)
			letters += sprintf(letters, "%c%s", row->letter, plain ? "" : ":");
	}
	longs[n] = (struct option){ "help", no_argument, NULL, 'h' };
	strcpy(letters, "h");
	return &table[n];
}

static const struct option_row *find_row(const struct option_row *table, int option)
{
	const struct option_row *row = table;

	if (option >= FIRST)
		return &table[option - FIRST];
	while (row->letter != option)
		row++;
	return row;
}

static int parse_number(const char *cmd, const char *option, const struct option_row *row, double *value)
{
	if (ccs_parse_unit(optarg, CCS_UNIT_NONE, value) == 0 && *value >= row->least && *value <= row->most)
		return 0;
	return tool_refuse(cmd, "%s: '%s' is not a number from %g to %g", option, optarg, row->least, row->most);
}

/* In decimal digits only. */
static int parse_count(const char *cmd, const char *option, const struct option_row *row, unsigned *value)
{
	if (ccs_parse_digits(optarg, row->last, value) == 0 && *value >= row->first)
		return 0;
	return tool_refuse(cmd, "%s: '%s' is not a whole number from %u to %u", option, optarg, row->first, row->last);
}

static int handle_option(const char *cmd, const struct option_row *row, void *member)
{
	char name[64];

	if (row->letter)
		snprintf(name, sizeof(name), "-%c", row->letter);
	else
		snprintf(name, sizeof(name), "--%s", row->name);
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)member = optarg;
		return 0;
	case OPTION_NUMBER:
		return parse_number(cmd, name, row, member);
	case OPTION_COUNT:
		return parse_count(cmd, name, row, member);
	default:
		return row->call(cmd, member, row);
	}
}

/* Whether the option has an effect beside the given ones, a set of rows; if not, the others for a message. */
static bool has_effect(const struct option_row *table, const struct option_row *row, uint64_t given,
		       char *others, size_t len)
{
	const bool excludes = *row->with == '!';
	char names[256], *at = names, *name;
	bool found = false;

	*others = '\0';
	snprintf(names, sizeof(names), "%s", row->with + excludes);
	while ((name = strsep(&at, " "))) {
		unsigned i = 0;

		while (table[i].name && strcmp(table[i].name, name) != 0)
			i++;
		found |= given >> i & 1;
		if ((given >> i & 1) == excludes)
			ccs_append(others, len, "%s--%s", *others ? " or " : "", name);
	}
	return found != excludes;
}

/* An option without effect is a mistake, not silence. */
static int check_effects(const char *cmd, const struct option_row *table, uint64_t given)
{
	char others[256];

	for (unsigned i = 0; table[i].name; i++)
		if (given >> i & 1 && table[i].with && !has_effect(table, &table[i], given, others, sizeof(others)))
			return tool_refuse_usage(cmd, *table[i].with == '!' ? "--%s and %s exclude each other"
						 : "--%s has no effect without %s", table[i].name, others);
	return 0;
}

int tool_options(const char *cmd, int (*help)(void), const struct option_row *table, void *to, int argc,
		 char **argv)
{
	struct option longs[ROWS_MAX + 2] = { 0 };
	char letters[2 * ROWS_MAX + 3] = "+"; /* "+": options end before the first other argument */
	const struct option_row *end = list_options(table, longs, letters + 1);
	const char *accepted = end->kind == OPTION_COMMAND ? letters : letters + 1;
	static char prefix[32];
	uint64_t given = 0;
	int status = 0, option;

	snprintf(prefix, sizeof(prefix), "ccshim %s", cmd);
	argv[0] = prefix; /* of getopt's messages */
	while (!status && (option = next_option(argc, argv, accepted, longs, NULL)) != -1) {
		const struct option_row *row;

		if (option == 'h')
			return help();
		if (option == '?')
			return tool_usage_error(cmd);
		row = find_row(table, option);
		given |= 1ull << (row - table);
		status = handle_option(cmd, row, (char *)to + row->at);
	}
	if (!status)
		status = check_effects(cmd, table, given);
	return status ? status : -1;
}

int tool_refuse_operand(const char *cmd, const char *operand)
{
	return tool_refuse_usage(cmd, "unexpected argument '%s'", operand);
}
