/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccshim replay: events from a trace into an algorithm, its decisions as CSV, or
 * compared with those that were recorded.
 */
#include "tools/replay.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/check_cc.h"
#include "tools/ccshim.h"
#include "tools/path.h"

#define TIMERS_MAX 100000000ul /* between two rows: more is a mistaken unit */
#define RELATIVE 1e-9           /* to which decisions are compared */
#define OBSERVED_MAX 32

struct replay {
	struct ccs_cc_spec spec;
	struct ccs_cc_path path;
	struct ccs_cc cc;
	bool timers, check;
	bool has_qp;             /* given, or that of the first row */
	bool given_qp;
	uint32_t qp;
	bool started;            /* the path is known */
	double now_us;
	unsigned long now_line;  /* that said so */
	uint64_t rows, compared;
	int status;              /* if a row cannot be taken */
	struct replay_file file;
};

static int help(void)
{
	printf("usage: ccshim replay -a ALG[:PARAM=VALUE,...] [OPTION...] FILE|-\n\n"
	       "Tells the algorithm what the trace says, and prints what it decides, as CSV.\n\n"
	       "  -a ALG[:PARAM=VALUE,...]  the algorithm; see 'ccshim info -a'\n"
	       "  --line-rate R             the rate of the port\n"
	       "  --base-rtt T              the unloaded round-trip time\n"
	       "  --noise T                 what hosts add to it, p95           [0]\n"
	       "  --segment S               the size of a segment               [64k]\n"
	       "  --flows N                 flows of this host                  [1]\n"
	       "  --qp N                    the rows of this queue pair only\n"
	       "  --timers                  a row for each timer of the algorithm too\n"
	       "  --check                   compare with the decisions recorded, print no rows\n"
	       "  -h                        this text\n\n"
	       "The trace of CCSHIM_TRACE knows its path; any other needs --line-rate and\n"
	       "--base-rtt. ccshim-replay(1) has its columns. The status is 0, 1 for a mistake\n"
	       "in the trace or another decision than recorded, 2 for one in the options.\n");
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

/* 1: the row is ours, 0: it is another QP's. */
static int choose_qp(struct replay *r, const struct replay_row *row)
{
	if (!row->has_qp && r->given_qp)
		return replay_fault(&r->file, COL_QP, "--qp is given, and the header does not name it");
	if (!row->has_qp || (r->has_qp && row->qp == r->qp))
		return 1;
	if (r->given_qp)
		return 0;
	if (r->has_qp)
		return replay_fault(&r->file, COL_QP, "the trace holds QP %" PRIu32 " and QP %" PRIu32
				    ": choose one with --qp", r->qp, row->qp);
	r->has_qp = true;
	r->qp = row->qp;
	return 1;
}

static int check_time(struct replay *r, const struct replay_row *row)
{
	const enum replay_column column = r->file.has[COL_T_NS] ? COL_T_NS : COL_T_US;
	const double now_us = row->told.ack.now_us;

	if (!r->started && row->told.kind != CCS_TOLD_START) {
		tool_error("replay", "%s:%lu: the path is not known: give --line-rate and --base-rtt",
			   r->file.name, r->file.line);
		r->status = EXIT_USAGE;
		return -1;
	}
	if (row->told.kind != CCS_TOLD_START && now_us < r->now_us)
		return replay_fault(&r->file, column, "time goes back, from %.17g us in line %lu "
				    "to %.17g us", r->now_us, r->now_line, now_us);
	r->started = true;
	r->now_us = now_us;
	r->now_line = r->file.line;
	return 0;
}

/* Those due at the time of the event come before it. */
static int fire_timers(struct replay *r)
{
	struct ccs_cc *cc = &r->cc;

	for (unsigned long n = 0; cc->out.timer_us <= r->now_us && cc->ops->on_timer; n++) {
		const double t_us = cc->out.timer_us;

		if (n == TIMERS_MAX)
			return replay_fault(&r->file, COL_T_US, "more than %lu timers since the row "
					    "before", TIMERS_MAX);
		cc->ops->on_timer(cc, t_us);
		if (r->timers && !r->check)
			print_row(r, t_us, "timer");
	}
	return 0;
}

static int compare(struct replay *r, enum replay_column column, double got, double recorded)
{
	if (isnan(recorded))
		return 0;
	r->compared++;
	if (got == recorded ||
	    (isfinite(recorded) && fabs(got - recorded) <= RELATIVE * fabs(recorded)))
		return 0;
	return replay_fault(&r->file, column, "replayed %.17g, recorded %.17g", got, recorded);
}

static int take_row(struct replay *r, const struct replay_row *row)
{
	const struct ccs_cc_out *out = &r->cc.out;
	const int ours = choose_qp(r, row);

	if (ours <= 0)
		return ours;
	if (check_time(r, row) || (row->told.kind != CCS_TOLD_START && fire_timers(r)))
		return -1;
	ccs_told_repeat(&r->cc, &row->told);
	if (!r->check)
		print_row(r, r->now_us, row->event);
	else
		return compare(r, COL_RATE, out->rate, row->told.out.rate) ||
		       compare(r, COL_WINDOW, out->window, row->told.out.window) ? -1 : 0;
	return 0;
}

static int finish(const struct replay *r)
{
	if (r->given_qp && !r->now_line) {
		tool_error("replay", "%s: there is no row of QP %" PRIu32, r->file.name, r->qp);
		return EXIT_FAILED;
	}
	if (r->check && !r->compared) {
		tool_error("replay", "%s: no decisions are recorded in it, nothing to check",
			   r->file.name);
		return EXIT_FAILED;
	}
	if (r->check)
		printf("%" PRIu64 " recorded values: the same\n", r->compared);
	return EXIT_OK;
}

/* What an ack acknowledges that does not tell: the algorithm's own segment, if it has one. */
static double default_bytes(const struct ccs_cc *cc)
{
	for (unsigned i = 0; i < cc->ops->nparams; i++)
		if (strcmp(cc->ops->params[i].name, "segment") == 0)
			return cc->param[i];
	return cc->path.segment;
}

static int replay(struct replay *r, const char *path)
{
	struct replay_row row;
	int rc;

	r->file.needs = r->spec.ops->needs;
	r->file.segment = default_bytes(&r->cc);
	if (replay_open(&r->file, path))
		return EXIT_FAILED;
	print_header(r);
	while ((rc = replay_next(&r->file, &row)) == 1 && !ferror(stdout))
		if (take_row(r, &row))
			return r->status;
	return rc < 0 ? EXIT_FAILED : finish(r);
}

static int take_algorithm(struct replay *r)
{
	char err[1024];

	if (ccs_spec_parse(&r->spec, optarg, err, sizeof(err)) == 0)
		return 0;
	tool_error("replay", "-a: %s", err);
	return EXIT_USAGE;
}

static int take_qp(struct replay *r)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(optarg, &end, 10);
	if (*optarg < '0' || *optarg > '9' || *end || errno || value > UINT32_MAX) {
		tool_error("replay", "--qp: '%s' is not the number of a queue pair", optarg);
		return EXIT_USAGE;
	}
	r->qp = (uint32_t)value;
	r->has_qp = r->given_qp = true;
	return 0;
}

enum { OPT_QP = 256, OPT_TIMERS, OPT_CHECK };

static const struct option long_options[] = {
	PATH_LONG_OPTIONS,
	{ "qp", required_argument, NULL, OPT_QP },
	{ "timers", no_argument, NULL, OPT_TIMERS },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

static int take_option(struct replay *r, int letter)
{
	switch (letter) {
	case 'a': return take_algorithm(r);
	case OPT_QP: return take_qp(r);
	case OPT_TIMERS: r->timers = true; return 0;
	case OPT_CHECK: r->check = true; return 0;
	default: return path_take("replay", letter, &r->path);
	}
}

/* A path that is not given is learnt from the trace; until then any will do. */
static int begin(struct replay *r, char **operands)
{
	const bool rate = r->path.line_rate > 0, rtt = r->path.base_rtt_us > 0;

	if (!r->spec.ops || !operands[0] || operands[1] || rate != rtt) {
		if (operands[0] && operands[1])
			tool_error("replay", "'%s' is one name too many", operands[1]);
		else
			tool_error("replay", "%s", !r->spec.ops ? "-a is missing: which algorithm?"
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
				  .file.cmd = "replay" };
	int letter, status;

	argv[0] = (char *)"ccshim replay"; /* getopt's complaints begin with it */
	while ((letter = getopt_long(argc, argv, "a:h", long_options, NULL)) != -1) {
		if (letter == 'h')
			return help();
		if (take_option(&r, letter))
			return EXIT_USAGE;
	}
	if (begin(&r, argv + optind))
		return EXIT_USAGE;
	status = replay(&r, argv[optind]);
	replay_close(&r.file);
	return status;
}
