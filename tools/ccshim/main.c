/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim SUBCOMMAND: dispatch. */
#include "config.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/terminal.h"

#include <string.h>

#include "base/suggest.h"

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *doc;
} commands[] = {
	{ "run", cmd_run, "run a command under congestion control" },
	{ "impair", cmd_impair, "run a command with delays and failures, to test it" },
	{ "check", cmd_check, "check whether a command can be controlled here" },
	{ "doctor", cmd_doctor, "judge the network by counters of this host" },
	{ "info", cmd_info, "show version, configuration, algorithms and devices" },
	{ "stat", cmd_stat, "show statistics of running processes" },
	{ "top", cmd_top, "show the busiest flows on the whole terminal" },
	{ "serve", cmd_serve, "show flows and recordings on a local web page" },
	{ "replay", cmd_replay, "run an algorithm over a recorded trace" },
	{ "set", cmd_set, "change settings of a running process" },
	{ "plot", cmd_plot, "draw a picture of a recorded trace" },
	{ "plan", cmd_plan, "compute switch settings: headroom, buffers, marking, queues" },
	{ "lab", cmd_lab, "run a command among virtual RDMA hosts on this machine" },
	{ "debug", cmd_debug, "collect information for a bug report" },
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))
#define FOR_EACH_COMMAND(c) \
	for (const struct command *c = commands; c < commands + COMMANDS; c++)

static int print_help(void)
{
	printf("usage: ccshim SUBCOMMAND [OPTION...]\n\n");
	FOR_EACH_COMMAND(c)
		printf("  %-8s %s\n", c->name, c->doc);
	printf("\n  -h, --help     this text; 'ccshim SUBCOMMAND -h' for more\n"
	       "  -V, --version  the version\n\n");
	terminal_print(stdout, "", "Report vulnerabilities in private%s%s", *CCS_SECURITY_CONTACT ? " to " :
		       ": this build has no address; ask whom you got it from",
		       CCS_SECURITY_CONTACT);
	return EXIT_OK;
}

static int refuse_unknown(const char *word)
{
	struct ccs_suggestion near = ccs_suggest_for(word);
	char hint[96];

	FOR_EACH_COMMAND(c)
		ccs_suggest_offer(&near, c->name);
	ccs_suggest_offer(&near, "--help");
	ccs_suggest_offer(&near, "--version");
	return tool_refuse_usage("", "there is no %s '%s'%s", *word == '-' ? "option" : "subcommand", word,
				 ccs_suggest_hint(&near, hint, sizeof(hint)));
}

static int dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return print_help();
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
		printf("ccshim %s\n%s\nReport bugs to %s\n", PACKAGE_VERSION, PACKAGE_URL,
		       PACKAGE_BUGREPORT);
		return EXIT_OK;
	}
	FOR_EACH_COMMAND(c)
		if (strcmp(word, c->name) == 0)
			return c->main(argc - 1, argv + 1);
	if (*word)
		return refuse_unknown(word);
	return tool_refuse_usage("", "a subcommand is missing");
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	if (fflush(stdout) != 0 || ferror(stdout)) {
		tool_error("", "standard output: %m");
		status = status ? status : EXIT_FAILED;
	}
	return status;
}
