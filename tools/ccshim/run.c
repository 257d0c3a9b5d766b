/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccshim run: checks the configuration, sets the environment and executes the command. The
 * command is not started if the configuration has a mistake: running it with unintended
 * settings would be worse than not running it.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cc/cc.h"
#include "config/filename.h"
#include "config/options.h"
#include "ccshim.h"
#include "preload.h"
#include "tools/common/preload_list.h"

struct run {
	struct ccs_options scratch;         /* to check each value */
	const char *value[CCS_OPT_MAX];     /* by option; NULL: not given here */
	char config[PATH_MAX], trace[PATH_MAX];
	char algorithm[PATH_MAX + 512];     /* of a plug-in, with its absolute path */
	bool dry;
	int verbose;
};

static int print_help(void)
{
	printf("usage: ccshim run [OPTION...] [--] COMMAND [ARG...]\n\n"
	       "Runs COMMAND with the RDMA traffic of its queue pairs under congestion control.\n\n"
	       "  -a ALG[:PARAM=VALUE,...]  the algorithm (cc); see 'ccshim info -a';\n"
	       "                            a path is a plug-in's, see ccshim_cc(3)\n"
	       "  -r RATE                   rate limit per queue pair (max_rate): 10g, 400mbit\n"
	       "  -m off|observe|enforce    measure only, or pace traffic (mode)\n"
	       "  -t FILE                   record events and decisions of algorithms (trace)\n"
	       "  -o NAME=VALUE             any option; see 'ccshim info -f'\n"
	       "  -c FILE                   a configuration file instead of the user's\n"
	       "  -n                        print what would be set, run nothing\n"
	       "  -q                        errors only (log_level=error)\n"
	       "  -v, -vv                   more messages (log_level=info, debug)\n"
	       "  -h                        this text\n\n"
	       "The status is COMMAND's; 2 for a mistake in the options, 125 if ccshim fails,\n"
	       "126 if COMMAND cannot be run, 127 if it is not found.\n");
	return EXIT_OK;
}

/* Make the path of a plug-in absolute: the command may change directory before it is loaded. */
static const char *with_absolute_path(struct run *run, const char *spec)
{
	const size_t len = ccs_cc_name_len(spec);
	char file[PATH_MAX], real[PATH_MAX];

	if (!ccs_cc_is_path(spec) || len >= sizeof(file))
		return spec;
	snprintf(file, sizeof(file), "%.*s", (int)len, spec);
	if (!realpath(file, real) || strlen(spec + len) >= 512)
		return spec;
	snprintf(run->algorithm, sizeof(run->algorithm), "%s%s", real, spec + len);
	return run->algorithm;
}

static int set_option(struct run *run, const char *name, const char *value)
{
	char err[1024];

	if (strcmp(name, "cc") == 0)
		value = with_absolute_path(run, value);
	if (ccs_options_set(&run->scratch, name, value, err, sizeof(err))) {
		tool_error("run", "%s", err);
		return -1;
	}
	run->value[ccs_opt_find(name) - ccs_opt_table] = value;
	return 0;
}

static int set_pair(struct run *run, char *pair)
{
	char *eq = strchr(pair, '=');

	if (!eq) {
		tool_error("run", "-o %s: expected NAME=VALUE", pair);
		return -1;
	}
	*eq = '\0';
	return set_option(run, pair, eq + 1);
}

/* The path is made absolute: the command may change directory before it reads the file. */
static int set_config(struct run *run, const char *file)
{
	if (realpath(file, run->config))
		return 0;
	tool_error("run", "-c %s: %m", file);
	return -1;
}

static int set_verbose(struct run *run)
{
	return set_option(run, "log_level", run->verbose++ ? "debug" : "info");
}

/* The path is made absolute for the same reason; the directory has no escapes. */
static int set_trace(struct run *run)
{
	char here[PATH_MAX], dir[PATH_MAX];

	if (!*optarg || *optarg == '/' || !getcwd(here, sizeof(here)) ||
	    ccs_filename_escape(here, dir, sizeof(dir)) ||
	    snprintf(run->trace, sizeof(run->trace), "%s/%s", dir, optarg) >= PATH_MAX)
		return set_option(run, "trace", optarg);
	return set_option(run, "trace", run->trace);
}

static int parse_option(struct run *run, int letter)
{
	switch (letter) {
	case 'a':
		return set_option(run, "cc", optarg);
	case 'r':
		return set_option(run, "max_rate", optarg);
	case 'm':
		return set_option(run, "mode", optarg);
	case 't':
		return set_trace(run);
	case 'o':
		return set_pair(run, optarg);
	case 'c':
		return set_config(run, optarg);
	case 'n':
		run->dry = true;
		return 0;
	case 'q':
		return set_option(run, "log_level", "error");
	case 'v':
		return set_verbose(run);
	default:
		tool_usage_error("run");
		return -1;
	}
}

static int set_variable(const char *name, const char *value)
{
	if (setenv(name, value, 1) == 0)
		return 0;
	tool_error("run", "%s: %m", name);
	return -1;
}

static int set_options(const struct run *run)
{
	char name[64];

	if (*run->config && set_variable("CCSHIM_CONFIG", run->config))
		return -1;
	for (size_t i = 0; i < ccs_opt_count; i++) {
		ccs_opt_variable(&ccs_opt_table[i], name, sizeof(name));
		if (run->value[i] && set_variable(name, run->value[i]))
			return -1;
	}
	return 0;
}

/* eval "$(ccshim run -n ...)" has the same effect as the options. */
static void print_export(const char *name)
{
	printf("export %s='", name);
	for (const char *p = getenv(name); *p; p++)
		if (*p == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*p);
	printf("'\n");
}

static int print_exports(const struct run *run)
{
	char name[64];

	if (*run->config)
		print_export("CCSHIM_CONFIG");
	for (size_t i = 0; i < ccs_opt_count; i++) {
		ccs_opt_variable(&ccs_opt_table[i], name, sizeof(name));
		if (run->value[i])
			print_export(name);
	}
	print_export("LD_PRELOAD");
	return EXIT_OK;
}

/* Append the library to those that are preloaded already. */
static int set_preload(void)
{
	const char *old = getenv("LD_PRELOAD");
	char lib[PATH_MAX], err[PATH_MAX + 128], *list;
	int status = -1;

	if (preload_find(lib, sizeof(lib), err, sizeof(err))) {
		tool_error("run", "%s", err);
		return -1;
	}
	list = preload_list_append(old ? old : "", lib);
	if (list)
		status = set_variable("LD_PRELOAD", list);
	free(list);
	return status;
}

static void warn_if_not_preloaded(const char *command)
{
	char buf[PATH_MAX];
	const char *path = preload_which(command, buf, sizeof(buf));
	const char *why = path ? preload_obstacle_text(preload_obstacle(path)) : NULL;

	if (why)
		tool_error("run", "warning: %s will not be controlled: %s", command, why);
}

/* Check the whole configuration that applies to the command, with sections and conflicts. */
static int check_configuration(const char *command)
{
	const char *slash = strrchr(command, '/');
	struct ccs_options o;

	return ccs_options_load_as(slash ? slash + 1 : command, &o, tool_complain, "run") ||
	       tool_check_cc("run", &o);
}

int cmd_run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "trace", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct run run = { .dry = false };
	int letter, status;

	argv[0] = (char *)"ccshim run"; /* the prefix of getopt's messages */
	ccs_options_default(&run.scratch);
	while ((letter = getopt_long(argc, argv, "+a:r:m:t:o:c:nqvh", long_options, NULL)) != -1) {
		if (letter == 'h')
			return print_help();
		if (parse_option(&run, letter))
			return EXIT_USAGE;
	}
	argv += optind;
	if (!*argv && !run.dry) {
		tool_error("run", "a command is missing");
		return tool_usage_error("run");
	}
	if (set_options(&run))
		return EXIT_ERROR;
	if (check_configuration(*argv ? *argv : "ccshim"))
		return EXIT_USAGE;
	if (set_preload())
		return EXIT_ERROR;
	if (*argv)
		warn_if_not_preloaded(*argv);
	if (run.dry)
		return print_exports(&run);
	execvp(*argv, argv);
	status = errno == ENOENT ? EXIT_NO_COMMAND : EXIT_NO_EXEC;
	tool_error("run", "%s: %m", *argv);
	return status;
}
