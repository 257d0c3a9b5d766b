/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info: which sections, for which path, as text or JSON. */
#include "tools/info.h"

#include <errno.h>
#include <string.h>

#include "runtime/check_cc.h"
#include "tools/ccshim.h"
#include "tools/path.h"

struct info {
	bool version, config, file, algorithms, devices, json;
	struct ccs_match qp;            /* the queue pair asked for: what is known of it */
	const char *operand;            /* an algorithm or a device */
	struct ccs_cc_path path;
	struct ccs_cc_spec cc;          /* the operand parsed, if it is an algorithm */
	struct info_options options;
};

static int help(void)
{
	printf("usage: ccshim info [-vcfad] [OPTION...] [ALG[:PARAM=VALUE,...] | DEVICE]\n\n"
	       "  -v              version of ccshim and of libibverbs\n"
	       "  -c              the options in force and where each comes from\n"
	       "  -f              every option documented, as a valid configuration file\n"
	       "                  of the defaults, or with -c of what is in force\n"
	       "  -a              the algorithms, or ALG, with every parameter\n"
	       "  -d              the devices, or DEVICE, and whether they can be controlled\n"
	       "  --app NAME      options as the program of that name sees them\n"
	       "  --peer ADDR, --device NAME, --port N, --dscp N, --sl N\n"
	       "                  ... and its queue pairs to that peer, on that device and port,\n"
	       "                  with that DSCP and service level\n"
	       "  --line-rate R   derive parameters for a port of that rate      [10g]\n"
	       "  --base-rtt T    ... for that unloaded round-trip time          [10us]\n"
	       "  --noise T       ... for that much noise of the hosts in it     [0]\n"
	       "  --segment S     ... for segments of that size                  [64k]\n"
	       "  --flows N       ... for that many flows of this host           [1]\n"
	       "  --json          JSON\n"
	       "  -h              this text\n");
	return EXIT_OK;
}

enum { OPT_WHO = 256, OPT_JSON };

static const struct option long_options[] = {
	{ "app", required_argument, NULL, OPT_WHO },
	{ "peer", required_argument, NULL, OPT_WHO },
	{ "device", required_argument, NULL, OPT_WHO },
	{ "port", required_argument, NULL, OPT_WHO },
	{ "dscp", required_argument, NULL, OPT_WHO },
	{ "sl", required_argument, NULL, OPT_WHO },
	{ "json", no_argument, NULL, OPT_JSON },
	PATH_LONG_OPTIONS,
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

/* As a section would name it. */
static int take_who(struct info *info, const char *key)
{
	const bool is_net = strcmp(key, "peer") == 0 && strchr(optarg, '/');
	char err[256];

	if (!is_net && ccs_match_give(&info->qp, key, optarg, err, sizeof(err)) == 0)
		return 0;
	tool_error("info", "%s", is_net ? "--peer takes the address of one peer" : err);
	return EXIT_USAGE;
}

static int take_option(struct info *info, int letter, const char *name)
{
	switch (letter) {
	case 'v': info->version = true; return 0;
	case 'c': info->config = true; return 0;
	case 'f': info->file = true; return 0;
	case 'a': info->algorithms = true; return 0;
	case 'd': info->devices = true; return 0;
	case OPT_WHO: return take_who(info, name);
	case OPT_JSON: info->json = true; return 0;
	default: return path_take("info", letter, &info->path);
	}
}

static int take_operand(struct info *info, char **operands)
{
	char err[1024];

	info->operand = operands[0];
	if (!operands[0])
		return 0;
	if (operands[1] || info->algorithms == info->devices) {
		tool_error("info", operands[1] ? "'%s' is one name too many"
					       : "'%s' needs -a (an algorithm) or -d (a device)",
			   operands[1] ? operands[1] : operands[0]);
		return tool_usage_error("info");
	}
	if (!info->algorithms || ccs_spec_parse(&info->cc, info->operand, err, sizeof(err)) == 0)
		return 0;
	tool_error("info", "%s", err);
	return EXIT_USAGE;
}

static struct ccs_who who_is(const struct ccs_match *m)
{
	struct ccs_who who = {
		.known = m->keys | CCS_MATCH_APP,
		.app = m->keys & CCS_MATCH_APP ? m->app : program_invocation_short_name,
		.device = m->device,
		.port = m->port, .dscp = m->dscp, .sl = m->sl,
	};

	memcpy(who.peer, m->peer, sizeof(who.peer));
	return who;
}

/* -f alone documents the defaults. Gives the number of mistakes in the configuration. */
static int load(struct info *info)
{
	struct info_options *o = &info->options;
	int mistakes;

	ccs_options_default(&o->values);
	if (!info->config)
		return 0;
	o->who = who_is(&info->qp);
	mistakes = ccs_rules_load(&o->rules, o->who.app, tool_complain, (void *)"info");
	if (mistakes < 0) {
		tool_error("info", "%s", strerror(ENOMEM));
		return 1;
	}
	return mistakes + ccs_rules_resolve(&o->rules, &o->who, &o->values, o->from,
					    tool_complain, (void *)"info") +
	       tool_check_cc("info", &o->values);
}

static const struct ccs_cc_spec *chosen(const struct info *info)
{
	return info->operand ? &info->cc : NULL;
}

static int show_text(struct info *info)
{
	if (info->version)
		info_version_text();
	if (info->file)
		info_options_file(&info->options);
	else if (info->config)
		info_options_text(&info->options);
	if (info->algorithms)
		info_algorithms_text(chosen(info), &info->path);
	return info->devices ? info_devices(NULL, info->operand) : EXIT_OK;
}

static int show_json(struct info *info)
{
	struct ccs_json j;
	int status = EXIT_OK;

	ccs_json_start(&j, stdout);
	ccs_json_object(&j, NULL);
	if (info->version)
		info_version_json(&j);
	if (info->config || info->file)
		info_options_json(&j, &info->options);
	if (info->algorithms)
		info_algorithms_json(&j, chosen(info), &info->path);
	if (info->devices)
		status = info_devices(&j, info->operand);
	return ccs_json_finish(&j) ? status : EXIT_FAILED;
}

int cmd_info(int argc, char **argv)
{
	struct info info = {
		.path = { .line_rate = 10e9, .base_rtt_us = 10, .segment = 65536, .flows = 1 },
	};
	int letter, mistakes, status, which = 0;

	argv[0] = (char *)"ccshim info"; /* getopt's complaints begin with it */
	while ((letter = getopt_long(argc, argv, "vcfadh", long_options, &which)) != -1) {
		if (letter == 'h')
			return help();
		if (take_option(&info, letter, long_options[which].name))
			return EXIT_USAGE;
	}
	if (take_operand(&info, argv + optind))
		return EXIT_USAGE;
	if (!(info.version || info.config || info.file || info.algorithms || info.devices)) {
		tool_error("info", "say what to show: -v, -c, -f, -a or -d");
		return tool_usage_error("info");
	}
	mistakes = load(&info);
	status = info.json ? show_json(&info) : show_text(&info);
	ccs_rules_free(&info.options.rules);
	return status == EXIT_OK && mistakes ? EXIT_FAILED : status;
}
