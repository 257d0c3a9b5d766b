/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim impair: ccshim run with network conditions and failures (the option `impair`). */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/impair.h"
#include "run_options.h"
#include "tools/ccshim/shared/ccshim.h"

enum { OPT_FAIL = 256, OPT_ITEM, OPT_KIND, OPT_PASS, ARGS_MAX = 64 };

/* OPT_ITEM: NAME=VALUE is an item. OPT_KIND: NAME:VALUE is one. OPT_PASS: an option of ccshim run. */
#define ITEM(name) { name, required_argument, NULL, OPT_ITEM }
#define KIND(id, name) { name, required_argument, NULL, OPT_KIND },
static const struct option options[] = {
	ITEM("rate"), ITEM("delay"), ITEM("jitter"), ITEM("seed"), ITEM("peer"), ITEM("qp"),
	CCS_IMPAIR_KINDS(KIND)
	{ "fail", required_argument, NULL, OPT_FAIL },
	RUN_LONG_OPTIONS,
	{ "adapt", no_argument, NULL, OPT_PASS },
	{ "dry-run", no_argument, NULL, OPT_PASS },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

struct request {
	/* The option's size limits these more. */
	char items[1024];                /* all, in order */
	char plain[1024], scope[1024];   /* all but --peer and --qp; only these */
	unsigned peers, qps;
	char option[1024];               /* impair=... */
	char *args[ARGS_MAX];            /* of ccshim run */
	char letters[ARGS_MAX][3];
	int n;
};

static int print_help(void)
{
	printf("usage: ccshim impair [OPTION...] [--] COMMAND [ARG...]\n\n"
	       "Runs COMMAND with the conditions of a worse network, and with failures as its\n"
	       "RDMA device would report them. For tests of applications.\n\n"
	       "  --rate RATE            limit of all queue pairs together: 25g, 400mbit\n"
	       "  --delay TIME           each request leaves this much later: 80us\n"
	       "  --jitter TIME          by which the delay varies, in both directions\n"
	       "  --retry WHEN           the peer does not answer\n"
	       "  --rnr WHEN             the peer has posted no receive\n"
	       "  --access WHEN, --invalid WHEN, --operation WHEN\n"
	       "                         a remote access, invalid request or operational error\n"
	       "  --flush WHEN, --fatal WHEN\n"
	       "                         the queue pair enters the error state; also by an event\n"
	       "  --port WHEN[:TIME]     the port is down, for that time\n"
	       "  --fail KIND[:WHEN]     the same with the name of such an option\n"
	       "                         WHEN is N (after N requests of a queue pair; 0),\n"
	       "                         1e-5 (a probability for each request) or 2s (a time\n"
	       "                         since the connection). All may be given several times.\n"
	       "  --seed N               of the probabilities and the jitter (1)\n"
	       "  --peer ADDRESS[/N]     only for this peer\n"
	       "  --qp N                 only for the N-th connection of a process\n"
	       "  -a, --cc ALG           congestion control as well (none)\n"
	       "  -r, --max-rate; -m, --mode; -t, --trace; -o, --option; -c, --config;\n"
	       "  -q, --quiet; -v, --verbose; --adapt; --dry-run\n"
	       "                         as in ccshim run\n"
	       "  -h, --help             this text\n\n"
	       "The status is as of ccshim run.\n");
	return EXIT_OK;
}

static void append_item(char *text, const char *name, const char *separator, const char *value)
{
	ccs_append(text, 1024, "%s%s%s%s", *text ? "," : "", name, separator, value);
}

/* A value with a comma would be two items. */
static int add_item(struct request *r, const char *name, const char *separator, const char *value)
{
	if (!*value || strchr(value, ',')) {
		tool_error("impair", "--%s '%s': it is empty or has a comma; give each value with an "
			   "option of its own", *name ? name : "fail", value);
		return -1;
	}
	r->peers += strcmp(name, "peer") == 0;
	r->qps += strcmp(name, "qp") == 0;
	append_item(r->items, name, separator, value);
	append_item(strcmp(name, "peer") == 0 || strcmp(name, "qp") == 0 ? r->scope : r->plain, name,
		    separator, value);
	return 0;
}

static int add_arg(struct request *r, const char *arg)
{
	if (r->n == ARGS_MAX - 4) {
		tool_error("impair", "there are too many options");
		return -1;
	}
	r->args[r->n++] = (char *)arg;
	return 0;
}

/* `name` is the long option, or NULL. */
static int parse_option(struct request *r, int letter, const char *name)
{
	switch (letter) {
	case OPT_FAIL:
		return add_item(r, "", "", optarg);
	case OPT_ITEM:
		return add_item(r, name, "=", optarg);
	case OPT_KIND:
		return add_item(r, name, ":", optarg);
	case OPT_PASS:
		return add_arg(r, strcmp(name, "adapt") == 0 ? "--adapt" : "--dry-run");
	case '?':
		tool_usage_error("impair");
		return -1;
	default:
		snprintf(r->letters[r->n], sizeof(*r->letters), "-%c", letter);
		return add_arg(r, r->letters[r->n]) || (optarg && add_arg(r, optarg)) ? -1 : 0;
	}
}

/* The command line of ccshim run, with the rest of ours. */
static int call_run(struct request *r, char **command, int n)
{
	char **const argv = calloc((size_t)(r->n + n + 4), sizeof(*argv));
	int argc = r->n, status;

	if (!argv)
		return EXIT_ERROR;
	memcpy(argv, r->args, (size_t)argc * sizeof(*argv));
	argv[argc++] = (char *)"-o";
	argv[argc++] = r->option;
	argv[argc++] = (char *)"--";
	memcpy(argv + argc, command, (size_t)n * sizeof(*argv));
	optind = 0; /* getopt() begins again */
	status = cmd_run(argc + n, argv);
	free(argv);
	return status;
}

int cmd_impair(int argc, char **argv)
{
	struct request r = { .args = { (char *)"run", (char *)"-a", (char *)"none" },
			     .n = 3 };
	int letter, index = 0;
	char err[512];

	argv[0] = (char *)"ccshim impair"; /* the prefix of getopt's messages */
	while ((letter = getopt_long(argc, argv, "+" RUN_OPTIONS "qvh", options, &index)) != -1) {
		if (letter == 'h')
			return print_help();
		if (parse_option(&r, letter, options[index].name))
			return EXIT_USAGE;
	}
	if (!*r.plain) {
		tool_error("impair", "no condition and no failure is given, such as --delay 80us");
		return tool_usage_error("impair");
	}
	if (r.peers > 1 || r.qps > 1)
		ccs_append(r.option, sizeof(r.option), "impair=%s", r.items);
	else /* wherever they stand, they are for all */
		ccs_append(r.option, sizeof(r.option), "impair=%s%s%s", r.scope, *r.scope ? "," : "",
			   r.plain);
	if (ccs_impair_check(r.option + strlen("impair="), err, sizeof(err))) {
		tool_error("impair", "%s", err);
		return EXIT_USAGE;
	}
	return call_run(&r, argv + optind, argc - optind);
}
