/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim set: changes settings of a running process, through the mailbox of its statistics file. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "config/request.h"
#include "observe/stats_dir.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/options.h"
#include "set.h"
#include "stat/stat.h"
#include "tools/common/terminal.h"

struct set {
	pid_t pid;                       /* as this program sees it; 0: all */
	const char *lqpn, *peer;
	bool only_new, show, all;
	double timeout_us;
	char **settings;
	int count;
};

static int print_help(void)
{
	printf("usage: ccshim set -p PID [--qp LQPN | --peer ADDR[/BITS]] [--new] NAME=VALUE...\n"
	       "       ccshim set -p PID [--qp LQPN | --peer ADDR[/BITS]] --show\n"
	       "       ccshim set --all [--peer ADDR[/BITS]] [--new] NAME=VALUE... | --show\n"
	       "       ccshim set tenant NAME weight=NUMBER\n\n"
	       "Changes settings of a running process of yours, for all its current and future\n"
	       "queue pairs or for some. NAME is an option that may differ between queue pairs,\n"
	       "or a parameter of their algorithm. Either all settings are applied or none.\n"
	       "The weight of a tenant changes in this host's ccshimd, until it reloads or ends.\n\n"
	       "  -p, --pid PID   the process\n"
	       "  --all           every running process of yours, or as root, of all users;\n"
	       "                  one that is not polling applies the request when it polls\n"
	       "  --qp LQPN       only that connected queue pair\n"
	       "  --peer ADDR     only queue pairs to that peer or network\n"
	       "  --new           only queue pairs that are connected later\n"
	       "  --show          print the current settings\n"
	       "  --timeout T     how long to wait for acceptance       [2s, --all: 500ms]\n"
	       "  -h, --help      this text\n\n"
	       "The status is 0 if the settings are applied, 1 if the process refuses or does\n"
	       "not exist, 2 for a usage error or a setting that no process would accept, 3 if\n"
	       "the process did not answer in time: then no setting is changed, or with --all,\n"
	       "not yet.\n");
	return EXIT_OK;
}

/* -- the request ------------------------------------------------------------------- */

static int add_line(char *text, const char *line)
{
	const size_t had = strlen(text);

	if (strchr(line, '\n') || had + strlen(line) + 1 >= CCS_REQUEST_LEN)
		return tool_refuse("set", "'%.32s' %s", line,
				   strchr(line, '\n') ? "contains a line break; remove it"
						      : "makes the request too long; set fewer options at once");
	sprintf(text + had, "%s\n", line);
	return 0;
}

static int write_request(const struct set *set, char text[CCS_REQUEST_LEN])
{
	char subject[128];

	memset(text, 0, CCS_REQUEST_LEN);
	if (set->lqpn)
		snprintf(subject, sizeof(subject), "qp %s", set->lqpn);
	else if (set->peer)
		snprintf(subject, sizeof(subject), "%speer %s", set->only_new ? "new " : "", set->peer);
	else
		snprintf(subject, sizeof(subject), "%s", set->only_new ? "new" : "all");
	if (add_line(text, subject))
		return EXIT_USAGE;
	for (int i = 0; i < set->count; i++)
		if (add_line(text, set->settings[i]))
			return EXIT_USAGE;
	return 0;
}

/* The process checks the settings. */
static int check_request(const char *text)
{
	struct ccs_request request;
	char err[512];

	if (ccs_request_parse(&request, text, err, sizeof(err)) == 0)
		return 0;
	return tool_refuse("set", "%s", err);
}

/* -- the command line -------------------------------------------------------------- */

static int parse_pid(const char *cmd, void *pid, const struct option_row *row)
{
	(void)row;
	*(pid_t *)pid = ccs_stats_pid_of(optarg);
	if (*(pid_t *)pid)
		return 0;
	return tool_refuse(cmd, "-p: '%s' is not a process ID", optarg);
}

static int parse_timeout(const char *cmd, void *member, const struct option_row *row)
{
	double *us = member;

	(void)row;
	if (ccs_parse_unit(optarg, CCS_UNIT_TIME, us) == 0 && *us >= 0 && *us <= 3.6e9)
		return 0;
	return tool_refuse(cmd, "--timeout: '%s' is not a time such as 500ms or 10s", optarg);
}

#define AT(member) .at = offsetof(struct set, member)

static const struct option_row options[] = {
	{ "pid", 'p', OPTION_PARSE, AT(pid), .call = parse_pid, .with = "!all" },
	{ "qp", 0, OPTION_TEXT, AT(lqpn), .with = "!all peer new" },
	{ "peer", 0, OPTION_TEXT, AT(peer) },
	{ "new", 0, OPTION_FLAG, AT(only_new) },
	{ "show", 0, OPTION_FLAG, AT(show) },
	{ "timeout", 0, OPTION_PARSE, AT(timeout_us), .call = parse_timeout },
	{ "all", 0, OPTION_FLAG, AT(all) },
	{ 0 }
};

static int check_usage(const struct set *set)
{
	const char *what = !set->pid && !set->all ? "-p PID is missing"
		: set->show && set->count ? "--show takes no settings"
		: !set->show && !set->count ? "nothing to set: give NAME=VALUE, or --show" : NULL;

	if (!what)
		return 0;
	return tool_refuse_usage("set", "%s", what);
}

static int report_absence(pid_t pid, const struct stat_snapshot *s)
{
	if (*s->obstacle)
		tool_error("set", "%s", s->obstacle);
	else if (kill(pid, 0) && errno == ESRCH)
		tool_error("set", "there is no process %ld", (long)pid);
	else if (errno == EPERM && geteuid())
		tool_error("set", "process %ld belongs to another user; changing its settings requires "
			   "that user or root", (long)pid);
	else
		tool_error("set", "cannot find statistics of process %ld: it is not owned by you, not "
			   "running under ccshim, has mode=off or stats=n, or no queue pair yet",
			   (long)pid);
	return EXIT_FAILED;
}

static void print_of_one(const struct stat_process *p, int status, char *text)
{
	(void)p;
	if (status) {
		tool_error("set", "%s", text);
		return;
	}
	for (char *line; (line = strsep(&text, "\n"));)
		if (*line || text)
			terminal_print(stdout, "  ", "%s", line);
}

static void print_of_many(const struct stat_process *p, int status, char *text)
{
	(void)status;
	for (char *line; (line = strsep(&text, "\n"));)
		if (*line || text)
			terminal_print(stdout, "          ", "%7ld %s: %s", (long)p->h.pid, p->h.program, line);
}

static int deliver(const struct set *set, const struct set_request *request)
{
	struct stat_snapshot s;
	int status;

	stat_read_brief(&s, set->pid);
	if (set->all || *s.stuck)
		stat_warn_of_omissions("set", &s);
	if (s.count)
		status = set_all(&s, request, set_send, set->all ? print_of_many : print_of_one);
	else if (set->pid)
		status = report_absence(set->pid, &s);
	else {
		tool_error("set", "no process%s runs under ccshim with statistics and a queue pair",
			   geteuid() ? " of yours" : "");
		status = EXIT_FAILED;
	}
	if (*s.stuck && (!status || status > EXIT_FAILED))
		status = EXIT_FAILED;
	stat_free(&s);
	return status;
}

int cmd_set(int argc, char **argv)
{
	struct set set = { .timeout_us = -1 };
	struct set_request request;
	int status;

	if (argc > 1 && strcmp(argv[1], "tenant") == 0)
		return set_tenant(argc - 2, argv + 2);
	status = tool_options("set", print_help, options, &set, argc, argv);
	if (status >= 0)
		return status;
	set.settings = argv + optind;
	set.count = argc - optind;
	if (check_usage(&set) || write_request(&set, request.text) || check_request(request.text))
		return EXIT_USAGE;
	request.stays = set.all && !set.show;
	request.timeout_us = set.timeout_us >= 0 ? set.timeout_us : request.stays ? 5e5 : 2e6;
	stat_warn_of_option("set");
	return deliver(&set, &request);
}
