/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccshim run: checks the configuration, sets the environment and executes the command. The
 * command is not started if the configuration has a mistake: running it with unintended
 * settings would be worse than not running it.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/filename.h"
#include "config/options.h"
#include "run.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/preload.h"
#include "tools/common/preload_list.h"

static int print_help(void)
{
	printf("usage: ccshim run [OPTION...] [--] COMMAND [ARG...]\n\n"
	       "Runs COMMAND with the RDMA traffic of its queue pairs under congestion control.\n\n"
	       "  -a, --cc ALG[:PARAM=VALUE,...]\n"
	       "                         the algorithm; see 'ccshim info -a'; a path is a\n"
	       "                         plug-in's, see ccshim_cc(3)\n"
	       "  -r, --max-rate RATE    rate limit per queue pair: 10g, 400mbit\n"
	       "  -m, --mode off|observe|enforce\n"
	       "                         measure only, or pace traffic\n"
	       "  -t, --trace FILE       record events and decisions of algorithms\n"
	       "  -o, --option NAME=VALUE\n"
	       "                         any option; see 'ccshim info -f'\n"
	       "  -c, --config FILE      a configuration file instead of the user's\n"
	       "  --adapt                make UCX use ordinary verbs (UCX_TLS), and\n"
	       "                         Open MPI's mpirun pass all this to other hosts\n"
	       "  --dry-run              print what would be set, run nothing\n"
	       "  -q, --quiet            errors only (log_level=error)\n"
	       "  -v, -vv, --verbose     more messages (log_level=info, debug)\n"
	       "  -h, --help             this text\n\n"
	       "The status is COMMAND's; 2 for a mistake in the options, 125 if ccshim fails,\n"
	       "126 if COMMAND cannot be run, 127 if it is not found.\n");
	return EXIT_OK;
}

int run_set_log_level(const char *cmd, void *member, const struct option_row *row)
{
	struct run *run = member;
	const char *level = "error";

	if (row->letter == 'v')
		level = run->verbose++ ? "debug" : "info";
	else
		run->quiet = true;
	return run_options_set(&run->options, cmd, "log_level", level);
}

/* eval "$(ccshim run --dry-run ...)" has the same effect as the options. */
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

	if (*run->options.config)
		print_export("CCSHIM_CONFIG");
	for (size_t i = 0; i < ccs_opt_count; i++) {
		ccs_opt_variable(&ccs_opt_table[i], name, sizeof(name));
		if (run->options.value[i])
			print_export(name);
	}
	for (unsigned i = 0; run->adapted.variables[i]; i++)
		print_export(run->adapted.variables[i]);
	print_export("LD_PRELOAD");
	return EXIT_OK;
}

/* Add the library to LD_PRELOAD. */
static int set_preload(void)
{
	const char *old = getenv("LD_PRELOAD");
	char lib[PATH_MAX], err[PATH_MAX + 128], *list;
	int status = -1;

	if (preload_find(lib, sizeof(lib), err, sizeof(err))) {
		tool_error("run", "%s", err);
		return -1;
	}
	list = preload_list_add(old ? old : "", lib);
	if (list)
		status = run_set_variable("run", "LD_PRELOAD", list);
	free(list);
	return status;
}

/* Say before the run, not after it, that a file cannot be created. */
static void warn_of_directory(const char *option, const char *file)
{
	const char *slash = strrchr(file, '/');
	char dir[CCS_FILENAME_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash > file ? (int)(slash - file) : 1, slash ? file : ".");
	if (*file && !strchr(dir, '%') && access(file, W_OK) && access(dir, W_OK | X_OK))
		tool_error("run", "warning: %s=%s cannot be written: %s: %s; create that directory, or "
			   "name another file", option, file, dir, strerror(errno));
}

/* Check the whole configuration that applies to the program, with sections and conflicts. */
static int check_configuration(const char *program, bool quiet)
{
	struct ccs_options o;

	if (ccs_options_load_as(program, &o, tool_complain, "run") ||
	    tool_check_cc("run", &o))
		return -1;
	if (!quiet) {
		warn_of_directory("report", o.report);
		warn_of_directory("trace", o.trace);
		warn_of_directory("log_file", o.log_file);
	}
	return 0;
}

/* Returns only if the command cannot be executed, after a message: the exit status for that. */
static int execute(const struct command *c, char **argv)
{
	const char *why = NULL;
	char buf[PATH_MAX];
	struct stat st;
	int error;

	execvp(*argv, argv);
	error = errno;
	if (error == EACCES && stat(*argv, &st) == 0)
		why = S_ISDIR(st.st_mode) ? "it is a directory; give the path of a program"
		    : access(*argv, X_OK) ? "Permission denied; make it executable with chmod +x" : NULL;
	if (why)
		tool_error("run", "%s: %s", *argv, why);
	else if (error == ENOENT && *c->problem && preload_which(*argv, buf, sizeof(buf)))
		tool_error("run", "%s; %s", c->problem, c->remedy);
	else
		tool_error("run", "%s: %s%s", *argv, strerror(error),
			   error == ENOENT && !strchr(*argv, '/') ? " in any directory of PATH" : "");
	return error == ENOENT ? EXIT_NO_COMMAND : EXIT_NO_EXEC;
}

int run_command(struct run *run, char **argv)
{
	const char *program = "ccshim";

	if (!*argv && !run->dry)
		return tool_refuse_usage("run", "a command is missing");
	if (run_options_export(&run->options, "run"))
		return EXIT_ERROR;
	if (*argv && command_follow(&run->command, argv))
		program = basename(run->command.path);
	if (check_configuration(program, run->quiet))
		return EXIT_USAGE;
	if (set_preload() || run_adapt(&run->adapted, &run->command, argv, run->adapt, run->quiet))
		return EXIT_ERROR;
	if (run->dry)
		return print_exports(run);
	return execute(&run->command, argv);
}

int cmd_run(int argc, char **argv)
{
	static const struct option_row options[] = { RUN_ROWS(0), { .kind = OPTION_COMMAND } };
	struct run run = { .dry = false };
	int status;

	ccs_options_default(&run.options.scratch);
	status = tool_options("run", print_help, options, &run, argc, argv);
	return status >= 0 ? status : run_command(&run, argv + optind);
}
