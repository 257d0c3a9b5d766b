/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim impair: ccshim run with network conditions and failures (the option `impair`). */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/impair.h"
#include "run_options.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/next_option.h"

/* OPT_ITEM: NAME=VALUE is an item of the option; OPT_KIND: NAME:VALUE is. */
enum { OPT_PASS = 255, OPT_ITEM, OPT_KIND, OPT_FAIL };

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

struct items {
	char scope[256], others[256];    /* --peer, --qp and --seed, which are for all the others */
	bool rate;
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
static int add_item(struct items *o, const char *name, const char *separator, const char *value)
{
	const bool is_for_all = strcmp(name, "peer") == 0 || strcmp(name, "qp") == 0 || strcmp(name, "seed") == 0;
	char *const text = is_for_all ? o->scope : o->others;

	if (!*value || strchr(value, ',') || (is_for_all && strstr(text, name))) {
		tool_error("impair", "--%s '%s': it is empty, a list, or was given before; see option "
			   "impair of ccshim.conf(5)", *name ? name : "fail", value);
		return -1;
	}
	if (strlen(text) + strlen(name) + strlen(value) + 2 >= sizeof(o->others)) {
		tool_error("impair", "--%s '%.32s': the items are longer than 255 bytes in total",
			   *name ? name : "fail", value);
		return -1;
	}
	ccs_append(text, sizeof(o->others), "%s%s%s%s", *text ? "," : "", name, separator, value);
	return 0;
}

/* It would replace the conditions of this command in silence. */
static int refuse_option(const char *setting)
{
	tool_error("impair", "-o %s: this command sets the option impair: give its items as --delay, --retry and so "
		   "on, or use ccshim run -o", setting);
	return -1;
}

/* Copy the options of ccshim run to *to. Returns -1, or the exit status. */
static int parse_options(struct items *o, int argc, char **argv, char ***to)
{
	int letter, index = 0, status = 0;

	for (int at = optind; !status && (letter = next_option(argc, argv, "+" RUN_OPTIONS "qvh",
							       options, &index)) != -1; at = optind) {
		if (letter == 'h' || letter == '?')
			return letter == 'h' ? print_help() : tool_usage_error("impair");
		if (letter > OPT_PASS)
			status = letter == OPT_FAIL ? add_item(o, "", "", optarg)
				: add_item(o, options[index].name, letter == OPT_ITEM ? "=" : ":", optarg);
		else if (letter == 'o' && strncmp(optarg, "impair=", strlen("impair=")) == 0)
			status = refuse_option(optarg);
		for (; letter <= OPT_PASS && letter != 'r' && at < optind; at++)
			*(*to)++ = argv[at];
		if (letter == 'r') {
			o->rate = true;
			*(*to)++ = (char *)"-r";
			*(*to)++ = optarg;
		}
	}
	return status ? EXIT_USAGE : -1;
}

int cmd_impair(int argc, char **argv)
{
	char **const run = calloc((size_t)argc * 2 + 8, sizeof(*run)), **to = run;
	char option[600] = "impair=", err[512], *const value = option + strlen(option);
	char *const first[] = { (char *)"run", (char *)"-a", (char *)"none", (char *)"-o", option };
	struct items o = { .rate = false };
	int status;

	if (!run)
		return EXIT_ERROR;
	argv[0] = (char *)"ccshim impair"; /* the prefix of getopt's messages */
	memcpy(to, first, sizeof(first));
	to += sizeof(first) / sizeof(*first);
	status = parse_options(&o, argc, argv, &to);
	ccs_append(option, sizeof(option), "%s%s%s", o.scope, *o.scope && *o.others ? "," : "", o.others);
	if (status < 0 && !*o.others && !o.rate) {
		tool_error("impair", "no condition and no failure is given, such as --delay 80us");
		status = tool_usage_error("impair");
	} else if (status < 0 && ccs_impair_check(value, err, sizeof(err))) {
		tool_error("impair", "%s", err);
		status = EXIT_USAGE;
	} else if (status < 0) {
		*to++ = (char *)"--";
		for (; optind < argc; optind++)
			*to++ = argv[optind];
		optind = 0; /* getopt() begins again */
		status = cmd_run((int)(to - run), run);
	}
	free(run);
	return status;
}
