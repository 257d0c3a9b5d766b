/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_OPTIONS_H
#define CCS_TOOLS_OPTIONS_H
/* The table of a subcommand's options, from which the members of a structure are set. */
#include <stddef.h>

enum option_kind {
	OPTION_FLAG,             /* a bool, which becomes true */
	OPTION_TEXT,             /* a const char * */
	OPTION_NUMBER,           /* a double, from least to most */
	OPTION_COUNT,            /* an unsigned, from first to last */
	OPTION_PARSE,            /* call() parses getopt's optarg */
	OPTION_CALL,             /* call() is for an option without a value */
	OPTION_COMMAND,          /* in the row that ends a table: a command follows */
};

/* A name of NULL ends a table. */
struct option_row {
	const char *name;
	char letter;             /* 0: none */
	enum option_kind kind;
	size_t at;               /* offset of the member */
	double least, most;
	unsigned first, last;
	/* 0, or an exit status after a message of the subcommand cmd. */
	int (*call)(const char *cmd, void *member, const struct option_row *row);
	/* Names with spaces between them: the option has an effect only with one of these, or after "!",
	 * without all of these; otherwise it is refused. */
	const char *with;
};

/*
 * Parse the options of a subcommand, also -h and --help, and set optind. -1, or the exit status with
 * which to end.
 */
int tool_options(const char *cmd, int (*help)(void), const struct option_row *table, void *to, int argc,
		 char **argv);

/* Refuse an argument that is no option. Returns EXIT_USAGE. */
int tool_refuse_operand(const char *cmd, const char *operand);

#endif
