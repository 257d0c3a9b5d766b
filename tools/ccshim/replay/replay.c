/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccshim replay: passes the events of a trace to an algorithm, and prints its decisions
 * as CSV or compares them with the recorded ones; or prints traces as one table.
 */
#include "replay.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/plugin.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/path_options.h"

#define TIMERS_MAX 100000000ul /* between two rows: more means a mistaken unit */
#define RELATIVE 1e-9           /* tolerance when decisions are compared */
#define OBSERVED_MAX 32
#define ANY_QP UINT32_MAX

struct replay {
	struct ccs_cc_spec spec;
	struct ccs_cc_path path;
	struct ccs_cc cc;
	bool timers, check, table;
	unsigned only_qp, only_pid; /* ANY_QP, 0: any */
	bool has_qp;             /* qp and process are known from the first row that is replayed */
	unsigned qp, process;
	bool started;            /* the path is known */
	double now_us;
	unsigned long now_line;  /* the line of now_us */
	uint64_t rows, compared;
	int status;              /* if a row cannot be replayed */
	struct replay_file file;
};

static int print_help(void)
{
	printf("usage: ccshim replay -a ALG[:PARAM=VALUE,...] [OPTION...] FILE|-\n"
	       "       ccshim replay --table FILE...\n\n"
	       "Passes the events of a trace to an algorithm and prints its decisions as CSV, or\n"
	       "prints the events of traces as one table.\n\n"
	       "  -a, --cc ALG    the algorithm, ALG[:PARAM=VALUE,...]; see 'ccshim info -a'\n"
	       "  --line-rate R   line rate of the port\n"
	       "  --base-rtt T    unloaded round-trip time\n"
	       "  --rtt-jitter T  delay added by the hosts, p95       [0]\n"
	       "  --segment S     segment size                        [64k]\n"
	       "  --flows N       flows of this host                  [1]\n"
	       "  --qp N          only the rows of this queue pair\n"
	       "  --pid N         only the rows of this process\n"
	       "  --table         print the traces of any number of processes as one CSV table\n"
	       "  --timers        also a row for each timer of the algorithm\n"
	       "  --check         compare with the recorded decisions, print no rows\n"
	       "  -h, --help      this text\n\n"
	       "A trace of CCSHIM_TRACE contains its network path; any other trace needs\n"
	       "--line-rate and --base-rtt. ccshim-replay(1) documents the columns. The status\n"
	       "is 0; 1 for a mistake in the trace or a decision that differs from the recorded\n"
	       "one; 2 for a mistake in the options.\n");
	return EXIT_OK;
}

static void print_header(const struct replay *r)
{
	struct ccs_cc_obs obs[OBSERVED_MAX];
	const unsigned n = r->cc.ops->observe ? r->cc.ops->observe(&r->cc, obs, OBSERVED_MAX) : 0;

	if (r->check)
		return;
	printf("i,t_us,event,rate_bps,window_bytes");
	for (unsigned i = 0; i < n; i++)
		printf(",%s", obs[i].name);
	putchar('\n');
}

static void print_row(struct replay *r, double t_us, const char *event)
{
	struct ccs_cc_obs obs[OBSERVED_MAX];
	const unsigned n = r->cc.ops->observe ? r->cc.ops->observe(&r->cc, obs, OBSERVED_MAX) : 0;

	printf("%" PRIu64 ",%.17g,%s,%.17g,%.17g", r->rows++, t_us, event, r->cc.out.rate,
	       r->cc.out.window);
	for (unsigned i = 0; i < n; i++)
		if (obs[i].text)
			printf(",%s", obs[i].text);
		else
			printf(",%.17g", obs[i].value);
	putchar('\n');
}

/* 1 if the row belongs to the chosen QP, 0 if not. */
static int choose_qp(struct replay *r, const struct replay_row *row)
{
	const struct replay_process *p = r->file.process;

	if (!row->has_qp && r->only_qp != ANY_QP)
		return replay_fault(&r->file, COL_QP, "--qp is given, but the header has no such column");
	if ((r->only_qp != ANY_QP && row->qp != r->only_qp) ||
	    (r->only_pid && p[row->process].pid != r->only_pid))
		return 0;
	if (r->has_qp && row->qp != r->qp)
		return replay_fault(&r->file, COL_QP, "the trace contains QP %" PRIu32 " and QP %" PRIu32
				    ": choose one with --qp", r->qp, row->qp);
	if (r->has_qp && row->process != r->process)
		return replay_fault(&r->file, COL_PID, "the trace contains QP %" PRIu32 " of processes "
				    "%u and %u: choose one with --pid", r->qp, p[r->process].pid,
				    p[row->process].pid);
	r->has_qp = true;
	r->qp = row->qp;
	r->process = row->process;
	return 1;
}

static int check_time(struct replay *r, const struct replay_row *row)
{
	const enum replay_column column = r->file.has[COL_T_NS] ? COL_T_NS : COL_T_US;
	const double now_us = row->ev.ack.now_us;

	if (!r->started && row->ev.kind != CCS_CC_EVENT_START) {
		tool_error("replay", "%s:%lu: the network path is unknown: give --line-rate and --base-rtt",
			   r->file.name, r->file.line);
		r->status = EXIT_USAGE;
		return -1;
	}
	if (row->ev.kind != CCS_CC_EVENT_START && now_us < r->now_us)
		return replay_fault(&r->file, column, "time goes back, from %.17g us in line %lu "
				    "to %.17g us", r->now_us, r->now_line, now_us);
	r->started = true;
	r->now_us = now_us;
	r->now_line = r->file.line;
	return 0;
}

/* Timers due at the time of the event fire before it. */
static int fire_timers(struct replay *r)
{
	struct ccs_cc *cc = &r->cc;

	for (unsigned long n = 0; cc->out.timer_us <= r->now_us && cc->ops->on_timer; n++) {
		const double t_us = cc->out.timer_us;

		if (n == TIMERS_MAX)
			return replay_fault(&r->file, COL_T_US, "more than %lu timers since the "
					    "previous row; check the unit of its time", TIMERS_MAX);
		cc->ops->on_timer(cc, t_us);
		if (r->timers && !r->check)
			print_row(r, t_us, "timer");
	}
	return 0;
}

static int compare_decision(struct replay *r, enum replay_column column, double got, double recorded)
{
	if (isnan(recorded))
		return 0;
	r->compared++;
	if (got == recorded ||
	    (isfinite(recorded) && fabs(got - recorded) <= RELATIVE * fabs(recorded)))
		return 0;
	return replay_fault(&r->file, column, "replayed %.17g, recorded %.17g", got, recorded);
}

static int replay_row(struct replay *r, const struct replay_row *row)
{
	const struct ccs_cc_out *out = &r->cc.out;
	const int ours = choose_qp(r, row);

	if (ours <= 0)
		return ours;
	if (check_time(r, row) || (row->ev.kind != CCS_CC_EVENT_START && fire_timers(r)))
		return -1;
	ccs_cc_event_replay(&r->cc, &row->ev);
	if (!r->check)
		print_row(r, r->now_us, row->event);
	else
		return compare_decision(r, COL_RATE, out->rate, row->ev.out.rate) ||
		       compare_decision(r, COL_WINDOW, out->window, row->ev.out.window) ? -1 : 0;
	return 0;
}

static int finish(const struct replay *r)
{
	const bool by_qp = r->only_qp != ANY_QP;

	if ((by_qp || r->only_pid) && !r->now_line) {
		tool_error("replay", "%s: there is no row of %s %u", r->file.name,
			   by_qp ? "QP" : "process", by_qp ? r->only_qp : r->only_pid);
		return EXIT_FAILED;
	}
	if (r->check && !r->compared) {
		tool_error("replay", "%s: it has no recorded decisions to check",
			   r->file.name);
		return EXIT_FAILED;
	}
	if (r->check)
		printf("%" PRIu64 " recorded values: the same\n", r->compared);
	return EXIT_OK;
}

/* Bytes of an ack without a number: the algorithm's parameter segment, if it has one. */
static double default_bytes(const struct ccs_cc *cc)
{
	const int i = ccs_cc_find_param(cc->ops, "segment");

	return i < 0 ? cc->path.segment : cc->param[i];
}

static int replay_trace(struct replay *r, const char *path)
{
	struct replay_row row;
	int rc;

	r->file.needs = r->spec.ops->needs;
	r->file.segment = default_bytes(&r->cc);
	if (replay_open(&r->file, path))
		return EXIT_FAILED;
	print_header(r);
	while ((rc = replay_next(&r->file, &row)) == 1 && !ferror(stdout))
		if (replay_row(r, &row))
			return r->status;
	return rc < 0 ? EXIT_FAILED : finish(r);
}

static int parse_algorithm(const char *cmd, void *spec, const struct option_row *row)
{
	char err[1024];

	(void)row;
	if (ccs_spec_parse(spec, optarg, err, sizeof(err)) == 0)
		return 0;
	return tool_refuse(cmd, "-a: %s", err);
}

#define AT(member) .at = offsetof(struct replay, member)

static const struct option_row options[] = {
	PATH_OPTIONS(struct replay, "!table"),
	{ "cc", 'a', OPTION_PARSE, AT(spec), .call = parse_algorithm, .with = "!table" },
	{ "qp", 0, OPTION_COUNT, AT(only_qp), .last = ANY_QP - 1, .with = "!table" },
	{ "pid", 0, OPTION_COUNT, AT(only_pid), .first = 1, .last = UINT32_MAX, .with = "!table" },
	{ "table", 0, OPTION_FLAG, AT(table) },
	{ "timers", 0, OPTION_FLAG, AT(timers), .with = "!table" },
	{ "check", 0, OPTION_FLAG, AT(check), .with = "!table" },
	{ 0 }
};

/* If no path is given, the trace contains it; until then any path is good enough. */
static int start_replay(struct replay *r, char **operands)
{
	const bool rate = r->path.line_rate > 0, rtt = r->path.base_rtt_us > 0;

	if (!r->spec.ops || !operands[0] || operands[1] || rate != rtt) {
		if (operands[0] && operands[1])
			tool_error("replay", "unexpected argument '%s'", operands[1]);
		else
			tool_error("replay", "%s", !r->spec.ops && !r->table ? "-a ALG is missing"
				   : !operands[0] ? "a trace is missing; - is standard input"
				   : rate ? "--line-rate needs --base-rtt" : "--base-rtt needs --line-rate");
		return tool_usage_error("replay");
	}
	r->started = rate;
	if (!rate) {
		r->path.line_rate = 10e9;
		r->path.base_rtt_us = 10;
	}
	ccs_cc_start(&r->cc, &r->spec, &r->path);
	return 0;
}

int cmd_replay(int argc, char **argv)
{
	static struct replay r = { .path = { .segment = 65536, .flows = 1 }, .status = EXIT_FAILED,
				  .only_qp = ANY_QP, .file.cmd = "replay" };
	int status = tool_options("replay", print_help, options, &r, argc, argv);

	if (status >= 0)
		return status;
	if (r.table && argv[optind])
		return replay_print_table(argv + optind);
	if (start_replay(&r, argv + optind))
		return EXIT_USAGE;
	status = replay_trace(&r, argv[optind]);
	replay_close(&r.file);
	return status;
}
