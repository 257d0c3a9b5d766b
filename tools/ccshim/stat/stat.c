/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim stat: its command line, and reading and printing statistics repeatedly. */
#include "stat.h"
#include "namespaces.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/units.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/next_option.h"
#include "tools/common/seconds.h"
#include "tools/common/terminal.h"

enum {
	OPT_JSON = 256, OPT_OPENMETRICS, OPT_PROMETHEUS, OPT_SORT, OPT_RESET, OPT_BASELINE, OPT_MAX_QPS,
	OPT_DISPLAY, OPT_BY, OPT_BUSY, OPT_SUMMARY
};
enum form { TABLE, JSON, OPENMETRICS, PROMETHEUS };

struct request {
	unsigned long pid;               /* 0: all */
	double interval_s;               /* 0: once */
	unsigned long count;             /* 0: unlimited */
	int deltas;                      /* -1: not given, on with an interval */
	enum form form;
	const struct ccs_stats_field *sort;
	unsigned long max_qps;
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
		stat_metrics(s, (unsigned)rq->max_qps, rq->form == OPENMETRICS, stdout);
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

static int read_tenants(struct stat_snapshot *s)
{
	const char *why = stat_read_tenants(s);

	if (why)
		tool_error("stat", "--by tenant: %s", why);
	stat_warn_of_unlisted("stat", s);
	return why ? -1 : 0;
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
	if (!rc && rq->by == STAT_BY_TENANT)
		rc = read_tenants(&s);
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
	unsigned long shown = 0;
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

static int parse_sort(struct request *rq)
{
	struct ccs_suggestion near = ccs_suggest_for(optarg);
	char hint[96];

	for (size_t i = 0; i < ccs_stats_field_count; i++) {
		ccs_suggest_offer(&near, ccs_stats_fields[i].name);
		if (strcmp(ccs_stats_fields[i].name, optarg) == 0)
			rq->sort = &ccs_stats_fields[i];
	}
	if (rq->sort)
		return 0;
	tool_error("stat", "--sort: there is no field '%s'%s", optarg, near.best
		   ? ccs_suggest_hint(&near, hint, sizeof(hint))
		   : "; give a number of --json, such as bytes or gated_us");
	return EXIT_USAGE;
}

static int parse_deltas(struct request *rq)
{
	rq->deltas = strcmp(optarg, "deltas") == 0;
	if (rq->deltas || strcmp(optarg, "totals") == 0)
		return 0;
	tool_error("stat", "--display: '%s' is neither totals nor deltas", optarg);
	return EXIT_USAGE;
}

static int parse_form(struct request *rq, enum form form)
{
	if (rq->form == TABLE || rq->form == form) {
		rq->form = form;
		return 0;
	}
	tool_error("stat", "--json, --prometheus and --openmetrics exclude each other; give one of them");
	return EXIT_USAGE;
}

static bool is_metrics(const struct request *rq)
{
	return rq->form == OPENMETRICS || rq->form == PROMETHEUS;
}

/* 0, or the exit status. */
static int parse_option(struct request *rq, int c)
{
	bool ok = true;

	switch (c) {
	case 'p': ok = tool_parse_count("stat", "-p", optarg, 1, INT_MAX, &rq->pid); break;
	case 'i': ok = tool_parse_number("stat", "-i", optarg, 0.001, 1e6, &rq->interval_s); break;
	case 'n': ok = tool_parse_count("stat", "-n", optarg, 1, ULONG_MAX, &rq->count); break;
	case OPT_DISPLAY: return parse_deltas(rq);
	case OPT_SORT: return parse_sort(rq);
	case OPT_BY: return stat_parse_by("stat", optarg, &rq->by) ? 0 : EXIT_USAGE;
	case OPT_SUMMARY: rq->by = STAT_BY_HOST; return 0;
	case OPT_BUSY: rq->busy = true; return 0;
	case OPT_MAX_QPS: ok = tool_parse_count("stat", "--max-qps", optarg, 0, 1000000, &rq->max_qps); break;
	case OPT_JSON: return parse_form(rq, JSON);
	case OPT_OPENMETRICS: return parse_form(rq, OPENMETRICS);
	case OPT_PROMETHEUS: return parse_form(rq, PROMETHEUS);
	case OPT_RESET: rq->reset = optarg; return 0;
	case OPT_BASELINE: rq->baseline = optarg; return 0;
	default: return tool_usage_error("stat");
	}
	return ok ? 0 : EXIT_USAGE;
}

/* Check the combination of options. */
static int check_options(struct request *rq, char **operands)
{
	const char *why = NULL;

	if (*operands) {
		tool_error("stat", "unexpected argument '%s'", *operands);
		return tool_usage_error("stat");
	}
	if (rq->count && !(rq->interval_s > 0))
		rq->interval_s = 1;
	if (is_metrics(rq) && (rq->deltas == 1 || rq->baseline))
		why = "metrics are totals: --display deltas and --baseline do not apply to them";
	else if (is_metrics(rq) && (rq->sort || rq->by || rq->busy))
		why = "metrics have the queue pairs with most bytes: --sort, --by, --summary and --busy do not "
		      "apply to them";
	else if (rq->baseline && rq->deltas == 1)
		why = "--display deltas and --baseline exclude each other";
	if (!why)
		return 0;
	tool_error("stat", "%s", why);
	return tool_usage_error("stat");
}

int cmd_stat(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "pid", required_argument, NULL, 'p' },
		{ "interval", required_argument, NULL, 'i' },
		{ "count", required_argument, NULL, 'n' },
		{ "display", required_argument, NULL, OPT_DISPLAY },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "openmetrics", no_argument, NULL, OPT_OPENMETRICS },
		{ "prometheus", no_argument, NULL, OPT_PROMETHEUS },
		{ "sort", required_argument, NULL, OPT_SORT },
		{ "by", required_argument, NULL, OPT_BY },
		{ "summary", no_argument, NULL, OPT_SUMMARY },
		{ "busy", no_argument, NULL, OPT_BUSY },
		{ "max-qps", required_argument, NULL, OPT_MAX_QPS },
		{ "reset", required_argument, NULL, OPT_RESET },
		{ "baseline", required_argument, NULL, OPT_BASELINE },
		{ 0 }
	};
	struct request rq = { .deltas = -1, .max_qps = STAT_METRICS_QPS };
	struct stat_snapshot base = { 0 };
	int c, status = 0;

	argv[0] = (char *)"ccshim stat";
	while (!status && (c = next_option(argc, argv, "p:i:n:h", options, NULL)) != -1) {
		if (c == 'h')
			return print_help();
		status = parse_option(&rq, c);
	}
	if (!status)
		status = check_options(&rq, argv + optind);
	if (status)
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
