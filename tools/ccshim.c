/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim SUBCOMMAND: dispatch. */
#include "config.h"
#include "tools/ccshim.h"

#include <stdarg.h>
#include <string.h>

#include "base/nearest.h"
#include "runtime/check_cc.h"

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *doc;
} commands[] = {
	{ "run", cmd_run, "run a command under congestion control" },
	{ "check", cmd_check, "tell whether a command can be controlled here" },
	{ "info", cmd_info, "show version, configuration, algorithms and devices" },
	{ "stat", cmd_stat, "show what running processes do" },
	{ "replay", cmd_replay, "run an algorithm over a recorded trace" },
	{ "set", cmd_set, "change settings of a running process" },
	{ "plot", cmd_plot, "draw a picture of a recorded trace" },
	{ "debug", cmd_debug, "gather what a bug report needs" },
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))
#define FOR_EACH_COMMAND(c) \
	for (const struct command *c = commands; c < commands + COMMANDS; c++)

void tool_error(const char *cmd, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, *cmd ? "ccshim %s: " : "ccshim%s: ", cmd);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
}

int tool_usage_error(const char *cmd)
{
	fprintf(stderr, "Try 'ccshim%s%s -h'.\n", *cmd ? " " : "", cmd);
	return EXIT_USAGE;
}

void tool_complain(void *arg, const char *sentence)
{
	tool_error(arg, "%s", sentence);
}

int tool_check_cc(const char *cmd, const struct ccs_options *o)
{
	struct ccs_cc_spec spec;
	char err[1024];

	if (ccs_spec_parse(&spec, o->cc, err, sizeof(err)) == 0)
		return 0;
	tool_error(cmd, "cc: %s", err);
	return 1;
}

static int help(void)
{
	printf("usage: ccshim SUBCOMMAND [OPTION...]\n\n");
	FOR_EACH_COMMAND(c)
		printf("  %-8s %s\n", c->name, c->doc);
	printf("\n  -h, --help     this text; 'ccshim SUBCOMMAND -h' for more\n"
	       "  -V, --version  the version\n");
	return EXIT_OK;
}

static int unknown(const char *word)
{
	struct ccs_nearest near = ccs_nearest_to(word);
	char hint[96];

	FOR_EACH_COMMAND(c)
		ccs_nearest_offer(&near, c->name);
	tool_error("", "there is no %s '%s'%s", *word == '-' ? "option" : "subcommand", word,
		   ccs_nearest_hint(&near, hint, sizeof(hint)));
	return tool_usage_error("");
}

static int dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return help();
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
		printf("ccshim %s\n", PACKAGE_VERSION);
		return EXIT_OK;
	}
	FOR_EACH_COMMAND(c)
		if (strcmp(word, c->name) == 0)
			return c->main(argc - 1, argv + 1);
	if (*word)
		return unknown(word);
	tool_error("", "a subcommand is missing");
	return tool_usage_error("");
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) {
		tool_error("", "standard output: %m");
		status = EXIT_FAILED;
	}
	return status;
}
