/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/next_option.h"

#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

enum { OPTIONS_MAX = 96, PRINT_VERSION = 1 << 20 };

char *option_hint(const char *word, const struct option *longs, char *buf, size_t len)
{
	struct ccs_suggestion near;
	char name[64];

	*buf = '\0';
	if (strncmp(word, "--", 2) != 0)
		return buf;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	near = ccs_suggest_for(name);
	for (; longs->name; longs++)
		ccs_suggest_offer(&near, longs->name);
	if (near.best)
		snprintf(buf, len, "; did you mean '--%s'?", near.best);
	return buf;
}

int print_version(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;

	printf("%.*s %s\n", (int)strcspn(name, " "), name, PACKAGE_VERSION);
	return 0;
}

static void exit_with_version(const char *program)
{
	print_version(program);
	if (!fflush(stdout) && !ferror(stdout))
		exit(0);
	fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno));
	exit(1);
}

/* The table with --version, unless it has a name that begins so. */
static void add_version(struct option all[OPTIONS_MAX + 1], const struct option *longs)
{
	bool present = false;
	unsigned n = 0;

	for (; n < OPTIONS_MAX - 1 && longs[n].name; n++) {
		all[n] = longs[n];
		present |= strncmp(longs[n].name, "version", 7) == 0;
	}
	if (!present)
		all[n++] = (struct option){ "version", no_argument, NULL, PRINT_VERSION };
	all[n] = (struct option){ 0 };
}

int next_option(int argc, char **argv, const char *letters, const struct option *longs, int *index)
{
	struct option all[OPTIONS_MAX + 1];
	const char *word;
	char hint[96];
	int letter;

	add_version(all, longs);
	letter = getopt_long(argc, argv, letters, all, index);
	if (letter == PRINT_VERSION)
		exit_with_version(argv[0]);
	word = letter == '?' && !optopt ? argv[optind - 1] : "";
	if (*option_hint(word, all, hint, sizeof(hint)))
		fprintf(stderr, "%s: %s\n", argv[0], hint + strlen("; "));
	return letter;
}
