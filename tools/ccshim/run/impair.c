/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim impair: ccshim run with network conditions and failures (the option `impair`). */
#include <getopt.h>
#include <string.h>

#include "base/text.h"
#include "config/impair.h"
#include "run.h"
#include "tools/ccshim/shared/ccshim.h"

struct impair {
	struct run run;
	char scope[256], others[256];    /* --peer, --qp and --seed, which are for all the others */
};

static int print_help(void)
{
	printf("usage: ccshim impair [OPTION...] [--] COMMAND [ARG...]\n\n"
	       "Runs COMMAND with the conditions and failures of a bad network, as its RDMA device\n"
	       "would report them, to test it.\n\n"
	       "  --rate RATE            limit of each queue pair: 25g, 400mbit\n"
	       "  --delay TIME           each request leaves this much later: 80us\n"
	       "  --jitter TIME          by which the delay varies, in both directions\n"
	       "  --retry WHEN, --rnr WHEN, --access WHEN, --invalid WHEN, --operation WHEN\n"
	       "                         a request fails: no answer, no receive, remote access,\n"
	       "                         invalid request or remote operation error\n"
	       "  --flush WHEN, --fatal WHEN\n"
	       "                         the queue pair fails: without or with an event\n"
	       "  --port WHEN            the port goes down\n"
	       "  --fail KIND[:WHEN]     the same; KIND is the name of such an option. WHEN is\n"
	       "                         N (after N requests; 0), 1e-5 (a probability for each\n"
	       "                         request) or 2s (a time since the connection)\n"
	       "  --seed N               of jitter and probabilities (1)\n"
	       "  --peer ADDRESS[/N], --qp N\n"
	       "                         only for this peer, for the N-th connection\n"
	       "  -a, --cc ALG           congestion control as well (none)\n"
	       "  -r, --max-rate; -m, --mode; -t, --trace; -o, --option; -c, --config;\n"
	       "  -q, --quiet; -v, --verbose; --adapt; --dry-run\n"
	       "                         as in ccshim run\n"
	       "  -h, --help             this text\n\n"
	       "The status is as of ccshim run.\n");
	return EXIT_OK;
}

/* A value with a comma would be two items. */
static int add_item(struct impair *o, const char *name, const char *separator, const char *value)
{
	const bool is_for_all = strcmp(name, "peer") == 0 || strcmp(name, "qp") == 0 || strcmp(name, "seed") == 0;
	char *const text = is_for_all ? o->scope : o->others;

	if (!*value || strchr(value, ',') || (is_for_all && strstr(text, name)))
		return tool_refuse("impair", "--%s '%s': it is empty, a list, or was given before; see option "
				   "impair of ccshim.conf(5)", *name ? name : "fail", value);
	if (strlen(text) + strlen(name) + strlen(value) + 2 >= sizeof(o->others))
		return tool_refuse("impair", "--%s '%.32s': the items are longer than 255 bytes in total",
				   *name ? name : "fail", value);
	ccs_append(text, sizeof(o->others), "%s%s%s%s", *text ? "," : "", name, separator, value);
	return 0;
}

/* An item of the option impair is NAME=VALUE, or NAME:VALUE for a failure. */
static int parse_item(const char *cmd, void *impair, const struct option_row *row)
{
	(void)cmd;
	return add_item(impair, row->name, "=", optarg);
}

static int parse_kind(const char *cmd, void *impair, const struct option_row *row)
{
	(void)cmd;
	return add_item(impair, row->name, ":", optarg);
}

static int parse_fail(const char *cmd, void *impair, const struct option_row *row)
{
	(void)cmd, (void)row;
	return add_item(impair, "", "", optarg);
}

#define ITEM(name) { name, 0, OPTION_PARSE, .call = parse_item }
#define KIND(id, name) { name, 0, OPTION_PARSE, .call = parse_kind },
static const struct option_row options[] = {
	ITEM("delay"), ITEM("jitter"), ITEM("seed"), ITEM("peer"), ITEM("qp"),
	CCS_IMPAIR_KINDS(KIND)
	{ "fail", 0, OPTION_PARSE, .call = parse_fail },
	/* By the letter, run_options_parse() sets max_rate. */
	{ "rate", 'r', OPTION_PARSE, .at = offsetof(struct impair, run.options), .call = run_options_parse },
	RUN_ROWS(offsetof(struct impair, run)),
	{ .kind = OPTION_COMMAND }
};

int cmd_impair(int argc, char **argv)
{
	struct impair o = { .scope = "" };
	struct run_options *run = &o.run.options;
	char value[600], err[512];
	int status;

	ccs_options_default(&run->scratch);
	status = tool_options("impair", print_help, options, &o, argc, argv);
	if (status >= 0)
		return status;
	if (run_options_value(run, "impair"))
		return tool_refuse("impair", "-o impair=%s: this command sets the option impair: give its items as "
				   "--delay, --retry and so on, or use ccshim run -o", run_options_value(run, "impair"));
	if (!*o.others && !run_options_value(run, "max_rate"))
		return tool_refuse_usage("impair", "no condition and no failure is given, such as --delay 80us");
	snprintf(value, sizeof(value), "%s%s%s", o.scope, *o.scope && *o.others ? "," : "", o.others);
	if (ccs_impair_check(value, err, sizeof(err)))
		return tool_refuse("impair", "%s", err);
	if (run_options_set(run, "impair", "impair", value) ||
	    (!run_options_value(run, "cc") && run_options_set(run, "impair", "cc", "none")))
		return EXIT_USAGE;
	return run_command(&o.run, argv + optind);
}
