/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim impair: ccshim run with network conditions and failures (the option `impair`). */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/impair.h"
#include "run_options.h"
#include "tools/ccshim/shared/ccshim.h"

/* ITEM: NAME=VALUE is an item of the option. KIND: NAME:VALUE is. */
enum { OPT_PASS = 255, OPT_FAIL, OPT_ITEM, OPT_KIND };

#define ITEM(name) { name, required_argument, NULL, OPT_ITEM }
#define KIND(id, name) { name, required_argument, NULL, OPT_KIND },
static const struct option options[] = {
	ITEM("delay"), ITEM("jitter"), ITEM("seed"), ITEM("peer"), ITEM("qp"),
	CCS_IMPAIR_KINDS(KIND)
	{ "fail", required_argument, NULL, OPT_FAIL },
	{ "rate", required_argument, NULL, 'r' },
	RUN_LONG_OPTIONS,
	{ "adapt", no_argument, NULL, OPT_PASS },
	{ "dry-run", no_argument, NULL, OPT_PASS },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

/* The items: all in order; those that select queue pairs; and the others. */
struct items {
	char all[512], selecting[512], others[512];
	unsigned peers, qps;
	bool rate;
};

static int print_help(void)
{
	printf("usage: ccshim impair [OPTION...] [--] COMMAND [ARG...]\n\n"
	       "Runs COMMAND with the conditions of a worse network, and with failures as its\n"
	       "RDMA device would report them. For tests of applications.\n\n"
	       "  --rate RATE            limit of each queue pair: 25g, 400mbit\n"
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

static void append(char *text, const char *name, const char *separator, const char *value)
{
	ccs_append(text, 512, "%s%s%s%s", *text ? "," : "", name, separator, value);
}

/* A value with a comma would be two items. */
static int add_item(struct items *o, const char *name, const char *separator, const char *value)
{
	const bool peer = strcmp(name, "peer") == 0, qp = strcmp(name, "qp") == 0;

	if (!*value || strchr(value, ',')) {
		tool_error("impair", "--%s '%s': it is empty or has a comma; give each value with an "
			   "option of its own", *name ? name : "fail", value);
		return -1;
	}
	o->peers += peer;
	o->qps += qp;
	append(o->all, name, separator, value);
	append(peer || qp ? o->selecting : o->others, name, separator, value);
	return 0;
}

/* Copy the options of ccshim run to *to. */
static int parse_options(struct items *o, int argc, char **argv, char ***to)
{
	int letter, index = 0;

	for (int at = optind; (letter = getopt_long(argc, argv, "+" RUN_OPTIONS "qvh", options, &index)) != -1;
	     at = optind) {
		int status = 0;

		if (letter == 'h' || letter == '?')
			return letter == 'h' ? print_help() : tool_usage_error("impair");
		if (letter == OPT_FAIL)
			status = add_item(o, "", "", optarg);
		else if (letter == OPT_ITEM || letter == OPT_KIND)
			status = add_item(o, options[index].name, letter == OPT_ITEM ? "=" : ":", optarg);
		for (; letter < OPT_FAIL && letter != 'r' && at < optind; at++)
			*(*to)++ = argv[at];
		if (letter == 'r') {
			o->rate = true;
			*(*to)++ = (char *)"-r";
			*(*to)++ = optarg;
		}
		if (status)
			return EXIT_USAGE;
	}
	return -1;
}

int cmd_impair(int argc, char **argv)
{
	char **const run = calloc((size_t)argc * 2 + 8, sizeof(*run)), **to = run;
	char option[1100], err[512], *const value = option + strlen("impair=");
	char *const first[] = { (char *)"run", (char *)"-a", (char *)"none", (char *)"-o", option };
	struct items o = { .peers = 0 };
	int status;

	if (!run)
		return EXIT_ERROR;
	argv[0] = (char *)"ccshim impair"; /* the prefix of getopt's messages */
	for (unsigned i = 0; i < 5; i++)
		*to++ = first[i];
	status = parse_options(&o, argc, argv, &to);
	if (o.peers > 1 || o.qps > 1)
		snprintf(option, sizeof(option), "impair=%s", o.all);
	else /* they are for all, wherever they stand */
		snprintf(option, sizeof(option), "impair=%s%s%s", o.selecting,
			 *o.selecting && *o.others ? "," : "", o.others);
	if (status < 0 && !*o.others && !o.rate) {
		tool_error("impair", "no condition and no failure is given, such as --delay 80us");
		status = tool_usage_error("impair");
	}
	if (status < 0 && ccs_impair_check(value, err, sizeof(err))) {
		tool_error("impair", "%s", err);
		status = EXIT_USAGE;
	}
	if (status < 0) {
		*to++ = (char *)"--";
		memcpy(to, argv + optind, (size_t)(argc - optind) * sizeof(*to));
		to += argc - optind;
		optind = 0; /* getopt() begins again */
		status = cmd_run((int)(to - run), run);
	}
	free(run);
	return status;
}
