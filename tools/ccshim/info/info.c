/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info: parses the command line and prints the sections that it selects. */
#include "info.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "config/plugin.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/path_options.h"
#include "tools/common/ask_agent.h"

struct info {
	bool version, config, file, algorithms, devices, json;
	struct ccs_match qp;            /* the given properties of a queue pair */
	const char *operand;            /* an algorithm or a device */
	struct ccs_cc_path path;
	struct ccs_cc_spec cc;          /* the operand parsed, if it is an algorithm */
	struct info_options options;
	pid_t tenant;                   /* of this process; 0: not selected */
};

static int help(void)
{
	printf("usage: ccshim info [-acdf] [OPTION...] [ALG[:PARAM=VALUE,...] | DEVICE]\n\n"
	       "  --versions        version of ccshim and of libibverbs\n"
	       "  -c, --config      the current value and origin of each option\n"
	       "  -f, --file        every option documented, as a valid configuration file\n"
	       "                    with the defaults, or with -c the current values\n"
	       "  -a, --algorithms  the algorithms, or ALG, with every parameter\n"
	       "  -d, --devices     the devices, or DEVICE, and whether they can be controlled\n"
	       "  --tenant PID      the tenant of a process, and whether it is in force\n"
	       "  --app NAME        options as the program of that name sees them\n"
	       "  --peer ADDR, --device NAME, --port N, --dscp N, --sl N\n"
	       "                    ... and its queue pairs to that peer, on that device and\n"
	       "                    port, with that DSCP and service level\n"
	       "  --share N%%        ... as one of the first N%% of the processes sees them\n"
	       "  --line-rate R     derive parameters for a port of that rate      [10g]\n"
	       "  --base-rtt T      ... for that unloaded round-trip time          [10us]\n"
	       "  --rtt-jitter T    ... for that delay added by the hosts (p95)      [0]\n"
	       "  --segment S       ... for segments of that size                  [64k]\n"
	       "  --flows N         ... for N flows of this host                   [1]\n"
	       "  --json            JSON\n"
	       "  -h, --help        this text\n");
	return EXIT_OK;
}

/* Parse a key and its value, as in the header of a section. */
static int parse_match(const char *cmd, void *match, const struct option_row *row)
{
	const bool is_net = strcmp(row->name, "peer") == 0 && strchr(optarg, '/');
	char err[256];

	if (!is_net && ccs_match_add_key(match, row->name, optarg, err, sizeof(err)) == 0)
		return 0;
	return tool_refuse(cmd, "%s", is_net ? "--peer needs the address of one peer, not of a network" : err);
}

static int parse_pid(const char *cmd, void *tenant, const struct option_row *row)
{
	unsigned pid;

	(void)row;
	if (ccs_parse_digits(optarg, INT_MAX, &pid) || !pid || (kill((pid_t)pid, 0) && errno == ESRCH))
		return tool_refuse(cmd, "--tenant: there is no process %s", optarg);
	*(pid_t *)tenant = (pid_t)pid;
	return 0;
}

#define AT(member) .at = offsetof(struct info, member)

static const struct option_row options[] = {
	{ "app", 0, OPTION_PARSE, AT(qp), .call = parse_match, .with = "config" },
	{ "peer", 0, OPTION_PARSE, AT(qp), .call = parse_match, .with = "config" },
	{ "device", 0, OPTION_PARSE, AT(qp), .call = parse_match, .with = "config" },
	{ "port", 0, OPTION_PARSE, AT(qp), .call = parse_match, .with = "config" },
	{ "dscp", 0, OPTION_PARSE, AT(qp), .call = parse_match, .with = "config" },
	{ "sl", 0, OPTION_PARSE, AT(qp), .call = parse_match, .with = "config" },
	{ "share", 0, OPTION_PARSE, AT(qp), .call = parse_match, .with = "config" },
	{ "versions", 0, OPTION_FLAG, AT(version) },
	{ "config", 'c', OPTION_FLAG, AT(config) },
	{ "file", 'f', OPTION_FLAG, AT(file) },
	{ "algorithms", 'a', OPTION_FLAG, AT(algorithms) },
	{ "devices", 'd', OPTION_FLAG, AT(devices) },
	{ "tenant", 0, OPTION_PARSE, AT(tenant), .call = parse_pid },
	{ "json", 0, OPTION_FLAG, AT(json) },
	PATH_OPTIONS(struct info, "algorithms"),
	{ 0 }
};

static int parse_operand(struct info *info, char **operands)
{
	char err[1024];

	info->operand = operands[0];
	if (!operands[0])
		return 0;
	if (operands[1] || info->algorithms == info->devices)
		return tool_refuse_usage("info", operands[1] ? "unexpected argument '%s'"
							     : "'%s' needs -a (an algorithm) or -d (a device)",
					 operands[1] ? operands[1] : operands[0]);
	if (!info->algorithms || ccs_spec_parse(&info->cc, info->operand, err, sizeof(err)) == 0)
		return 0;
	return tool_refuse("info", "%s", err);
}

static struct ccs_match_subject make_subject(const struct ccs_match *m)
{
	struct ccs_match_subject subject = {
		.known = m->keys | CCS_MATCH_APP,
		.app = m->keys & CCS_MATCH_APP ? m->app : program_invocation_short_name,
		.device = m->device,
		.port = m->port, .dscp = m->dscp, .sl = m->sl, .place = m->share,
	};

	memcpy(subject.peer, m->peer.address.b, sizeof(subject.peer));
	return subject;
}

/* -f alone documents the defaults. Returns the number of mistakes in the configuration. */
static int load_options(struct info *info)
{
	struct info_options *o = &info->options;
	int mistakes;

	ccs_options_default(&o->values);
	if (!info->config)
		return 0;
	o->subject = make_subject(&info->qp);
	mistakes = ccs_rules_load(&o->rules, &o->subject, tool_complain, (void *)"info");
	if (mistakes < 0) {
		tool_error("info", "%s", strerror(ENOMEM));
		return 1;
	}
	return mistakes + ccs_rules_resolve(&o->rules, &o->subject, &o->values, o->from,
					    tool_complain, (void *)"info") +
	       tool_check_cc("info", &o->values);
}

static const struct ccs_cc_spec *chosen(const struct info *info)
{
	return info->operand ? &info->cc : NULL;
}

static bool has_agent(const struct info *info)
{
	char *text = ask_agent(info->options.values.agent);

	free(text);
	return text;
}

static int print_text(struct info *info)
{
	if (info->version)
		info_version_text();
	if (info->file)
		info_options_file(&info->options);
	else if (info->config)
		info_options_text(&info->options);
	if (info->config && info->options.rules.tenants)
		printf("\n# The tenants of " CCS_SYSTEM_FILE " %s (agent = %s).\n",
		       has_agent(info) ? "are enforced by the host agent"
				       : "are not in force: no host agent responds", info->options.values.agent);
	if (info->algorithms)
		info_algorithms_text(chosen(info), &info->path);
	if (info->tenant)
		info_tenant(NULL, info->tenant);
	return info->devices ? info_devices(NULL, info->operand) : EXIT_OK;
}

static int print_json(struct info *info)
{
	struct ccs_json j;
	int status = EXIT_OK;

	ccs_document_start(&j, stdout, ccs_document_now());
	if (info->version)
		info_version_json(&j);
	if (info->config || info->file)
		info_options_json(&j, &info->options);
	if (info->config && info->options.rules.tenants)
		ccs_json_bool(&j, "tenants_in_force", has_agent(info));
	if (info->algorithms)
		info_algorithms_json(&j, chosen(info), &info->path);
	if (info->tenant)
		info_tenant(&j, info->tenant);
	if (info->devices)
		status = info_devices(&j, info->operand);
	return ccs_json_finish(&j) ? status : EXIT_FAILED;
}

int cmd_info(int argc, char **argv)
{
	struct info info = {
		.path = { .line_rate = 10e9, .base_rtt_us = 10, .segment = 65536, .flows = 1 },
	};
	int mistakes, status = tool_options("info", help, options, &info, argc, argv);

	if (status >= 0)
		return status;
	if (parse_operand(&info, argv + optind))
		return EXIT_USAGE;
	if (!(info.version || info.config || info.file || info.algorithms || info.devices ||
	      info.tenant))
		return tool_refuse_usage("info", "nothing selected: give -a, -c, -d, -f, --tenant or --versions");
	mistakes = load_options(&info);
	status = info.json ? print_json(&info) : print_text(&info);
	ccs_rules_free(&info.options.rules);
	return status == EXIT_OK && mistakes ? EXIT_FAILED : status;
}
