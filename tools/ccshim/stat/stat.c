/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim stat: its command line, and reading and printing statistics repeatedly. */
#include "stat.h"
#include "namespaces.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/units.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/seconds.h"
#include "tools/common/terminal.h"

enum form { TABLE, JSON, OPENMETRICS, PROMETHEUS };

struct request {
	unsigned pid;                    /* 0: all */
	double interval_s;               /* 0: once */
	unsigned count;                  /* 0: unlimited */
	int deltas;                      /* -1: not given, on with an interval */
	enum form form;
	const struct ccs_stats_field *sort;
	unsigned max_qps;
	const char *reset, *baseline;    /* files */
	enum stat_by by;
	bool busy;                       /* only queue pairs with data */
};

static int print_help(void)
{
	printf("usage: ccshim stat [OPTION...]\n\n"
	       "Shows statistics of processes under congestion control: for each queue pair its\n"
	       "algorithm, rate, window, round-trip times, time at the gate, CNPs, and the links\n"
	       "on its path.\n\n"
	       "  -p, --pid PID           this process only\n"
	       "  -i, --interval SECONDS  repeat at this interval; a terminal is redrawn\n"
	       "  -n, --count N           number of repetitions\n"
	       "  --display WHAT          totals since the queue pair was created, or deltas\n"
	       "                          since the last time              [deltas with -i]\n"
	       "  --by GROUP              sums by process, peer, job, host or tenant\n"
	       "  --summary               one line, as --by host\n"
	       "  --busy                  only queue pairs that have sent, or have data to send\n"
	       "  --sort FIELD            sort queue pairs by a field of --json, largest first\n"
	       "  --json                  a JSON object, with -i one per line\n"
	       "  --prometheus            metrics in Prometheus' text format for node_exporter\n"
	       "  --openmetrics           metrics as OpenMetrics\n"
	       "  --max-qps N             maximum number of queue pairs in metrics       [100]\n"
	       "  --reset FILE            save the statistics in a file, as a baseline\n"
	       "  --baseline FILE         show statistics since that baseline\n"
	       "  -h, --help              this text\n\n"
	       "The status is 0; 1 if the process of -p has no statistics; 2 for a mistake in\n"
	       "the options.\n");
	return EXIT_OK;
}

/* -- the baseline ---------------------------------------------------------------- */

static int save_baseline(const char *file)
{
	struct stat_snapshot s;
	struct stat st;
	int error;

	if (lstat(file, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
		tool_error("stat", "%s: not a regular file, which a baseline would replace: give the "
			   "name of one", file);
		return EXIT_FAILED;
	}
	stat_read(&s, 0);
	error = stat_save(&s, file);
	stat_free(&s);
	if (error)
		tool_error("stat", "%s: %s; name another file with --reset", file, strerror(error));
	return error ? EXIT_FAILED : EXIT_OK;
}

static int load_baseline(const char *file, struct stat_snapshot *base)
{
	const int error = stat_load(base, file);

	if (error)
		tool_error("stat", "%s: %s; 'ccshim stat --reset FILE' writes one", file,
			   error == EBADMSG ? "not a baseline" : strerror(error));
	return error ? EXIT_FAILED : EXIT_OK;
}

/* -- reading and printing -------------------------------------------------------- */

static bool is_in_other_root(pid_t pid)
{
	struct namespaces n;
	bool is;

	namespaces_read(&n, pid);
	is = n.count && namespaces_is_in_other_mount(&n, n.process);
	namespaces_free(&n);
	return is;
}

/* Explain why the process of -p has no statistics. */
static int explain_absence(pid_t pid)
{
	if (kill(pid, 0) && errno == ESRCH)
		tool_error("stat", "there is no process %ld", (long)pid);
	else if (errno == EPERM && geteuid())
		tool_error("stat", "process %ld belongs to another user; reading its statistics requires root", (long)pid);
	else
		tool_error("stat", "process %ld has no statistics: it does not run under ccshim, has "
			   "no queue pairs yet, or runs with mode=off or stats=n%s", (long)pid,
			   is_in_other_root(pid) ? "; or it is in a container, with a directory of files "
			   "that is not searched, see option stats_dir" : "");
	return EXIT_FAILED;
}

static void print_snapshot(const struct request *rq, struct stat_snapshot *s)
{
	static const char clear[] = "\033[H\033[J";
	size_t qps = 0;

	switch (rq->form) {
	case JSON:
		stat_json(s, rq->interval_s > 0, stdout);
		break;
	case OPENMETRICS:
	case PROMETHEUS:
		stat_metrics(s, rq->max_qps, rq->form == OPENMETRICS, stdout);
		for (size_t i = 0; i < s->count; i++)
			qps += s->process[i].count;
		if (qps > rq->max_qps)
			tool_error("stat", "%zu queue pairs are left out of the metrics; --max-qps "
				   "allows more", qps - rq->max_qps);
		break;
	default:
		if (rq->interval_s > 0 && terminal_obeys_sequences(stdout))
			fputs(clear, stdout);
		stat_table(s, stdout);
		if (!s->count && (s->by || !rq->pid))
			puts(s->by ? "there are no such queue pairs"
			     : "no process has statistics; start one with: ccshim run -- COMMAND");
	}
	fflush(stdout);
}

/* Print a copy of `now`, with base subtracted and sorted. */
static int print_copy(const struct request *rq, const struct stat_snapshot *now,
		const struct stat_snapshot *base)
{
	struct stat_snapshot s;
	int rc = stat_copy(&s, now);

	if (!rc && base)
		stat_subtract(&s, base);
	if (!rc && rq->busy)
		stat_keep(&s, stat_is_busy, NULL);
	if (!rc && rq->by == STAT_BY_TENANT && !stat_require_tenants("stat", &s))
		rc = -1;
	if (!rc)
		rc = stat_group(&s, rq->by);
	if (!rc && rq->sort)
		stat_sort(&s, rq->sort);
	if (!rc)
		print_snapshot(rq, &s);
	stat_free(&s);
	return rc || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
}

/* Print once or repeatedly. If the process of -p ends in between, this is no error. */
static int monitor(const struct request *rq, const struct stat_snapshot *baseline)
{
	struct stat_snapshot before = { 0 }, now;
	const bool deltas = rq->deltas < 0 ? rq->interval_s > 0 && !baseline : rq->deltas;
	unsigned shown = 0;
	int status = EXIT_OK;

	if (deltas && !baseline) {
		stat_read(&before, (pid_t)rq->pid);
		seconds_sleep(rq->interval_s > 0 ? rq->interval_s : 1);
	}
	for (;;) {
		stat_read(&now, (pid_t)rq->pid);
		stat_warn_of_omissions("stat", &now);
		if (rq->pid && !now.count) {
			status = shown ? EXIT_OK : explain_absence((pid_t)rq->pid);
			break;
		}
		status = print_copy(rq, &now, baseline ? baseline : deltas ? &before : NULL);
		shown++;
		if (status || !(rq->interval_s > 0) || shown == rq->count)
			break;
		stat_free(&before);
		before = now;
		seconds_sleep(rq->interval_s);
	}
	stat_free(&now);
	stat_free(&before);
	return status;
}

/* -- options --------------------------------------------------------------------- */

static int parse_sort(const char *cmd, void *member, const struct option_row *row)
{
	const struct ccs_stats_field **sort = member;
	struct ccs_suggestion near = ccs_suggest_for(optarg);
	char hint[96];

	(void)row;
	*sort = NULL;
	for (size_t i = 0; i < ccs_stats_field_count; i++) {
		ccs_suggest_offer(&near, ccs_stats_fields[i].name);
		if (strcmp(ccs_stats_fields[i].name, optarg) == 0)
			*sort = &ccs_stats_fields[i];
	}
	if (*sort)
		return 0;
	tool_error(cmd, "--sort: there is no field '%s'%s", optarg, near.best
		   ? ccs_suggest_hint(&near, hint, sizeof(hint))
		   : "; give a number of --json, such as bytes or gated_us");
	return EXIT_USAGE;
}

static int parse_deltas(const char *cmd, void *member, const struct option_row *row)
{
	int *deltas = member;

	(void)row;
	*deltas = strcmp(optarg, "deltas") == 0;
	if (*deltas || strcmp(optarg, "totals") == 0)
		return 0;
	tool_error(cmd, "--display: there is no '%s'; give totals or deltas", optarg);
	return EXIT_USAGE;
}

static int set_form(const char *cmd, void *member, const struct option_row *row)
{
	(void)cmd;
	*(enum form *)member = *row->name == 'j' ? JSON : *row->name == 'o' ? OPENMETRICS : PROMETHEUS;
	return 0;
}

static int set_summary(const char *cmd, void *by, const struct option_row *row)
{
	(void)cmd, (void)row;
	*(enum stat_by *)by = STAT_BY_HOST;
	return 0;
}

static bool is_metrics(const struct request *rq)
{
	return rq->form == OPENMETRICS || rq->form == PROMETHEUS;
}

/* Check the combination of options. */
static int check_options(struct request *rq, char **operands)
{
	const char *why = NULL;

	if (*operands)
		return tool_refuse_operand("stat", *operands);
	if (rq->count && !(rq->interval_s > 0))
		rq->interval_s = 1;
	if (is_metrics(rq) && (rq->deltas == 1 || rq->baseline))
		why = "metrics are totals: --display deltas and --baseline do not apply to them";
	else if (rq->baseline && rq->deltas == 1)
		why = "--display deltas and --baseline exclude each other";
	if (!why)
		return 0;
	tool_error("stat", "%s", why);
	return tool_usage_error("stat");
}

#define AT(member) .at = offsetof(struct request, member)

static const struct option_row options[] = {
	{ "pid", 'p', OPTION_COUNT, AT(pid), .first = 1, .last = INT_MAX },
	{ "interval", 'i', OPTION_NUMBER, AT(interval_s), .least = 0.001, .most = 1e6, .with = "!openmetrics prometheus" },
	{ "count", 'n', OPTION_COUNT, AT(count), .first = 1, .last = UINT_MAX, .with = "!openmetrics prometheus" },
	{ "display", 0, OPTION_PARSE, AT(deltas), .call = parse_deltas },
	{ "json", 0, OPTION_CALL, AT(form), .call = set_form, .with = "!openmetrics prometheus" },
	{ "openmetrics", 0, OPTION_CALL, AT(form), .call = set_form, .with = "!prometheus" },
	{ "prometheus", 0, OPTION_CALL, AT(form), .call = set_form },
	{ "sort", 0, OPTION_PARSE, AT(sort), .call = parse_sort, .with = "!openmetrics prometheus" },
	{ "by", 0, OPTION_PARSE, AT(by), .call = stat_parse_by, .with = "!openmetrics prometheus" },
	{ "summary", 0, OPTION_CALL, AT(by), .call = set_summary, .with = "!openmetrics prometheus" },
	{ "busy", 0, OPTION_FLAG, AT(busy), .with = "!openmetrics prometheus" },
	{ "max-qps", 0, OPTION_COUNT, AT(max_qps), .last = 1000000, .with = "openmetrics prometheus" },
	{ "reset", 0, OPTION_TEXT, AT(reset), .with = "!pid interval count display json openmetrics prometheus sort by "
						"summary busy baseline" },
	{ "baseline", 0, OPTION_TEXT, AT(baseline) },
	{ 0 }
};

int cmd_stat(int argc, char **argv)
{
	struct request rq = { .deltas = -1, .max_qps = STAT_METRICS_QPS };
	struct stat_snapshot base = { 0 };
	int status = tool_options("stat", print_help, options, &rq, argc, argv);

	if (status >= 0 || (status = check_options(&rq, argv + optind)))
		return status;
	if (is_metrics(&rq) && rq.deltas < 0)
		rq.deltas = 0;
	stat_warn_of_option("stat");
	if (rq.reset)
		return save_baseline(rq.reset);
	if (rq.baseline)
		status = load_baseline(rq.baseline, &base);
	if (!status)
		status = monitor(&rq, rq.baseline ? &base : NULL);
	stat_free(&base);
	return status;
}
