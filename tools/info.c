/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info: which sections, for which path, as text or JSON. */
#include "tools/info.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/units.h"
#include "runtime/check_cc.h"
#include "tools/ccshim.h"

struct info {
	bool version, config, file, algorithms, devices, json;
	const char *app;
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
	       "  --line-rate R   derive parameters for a port of that rate      [10g]\n"
	       "  --base-rtt T    ... for that unloaded round-trip time          [10us]\n"
	       "  --noise T       ... for that much noise of the hosts in it     [0]\n"
	       "  --segment S     ... for segments of that size                  [64k]\n"
	       "  --flows N       ... for that many flows of this host           [1]\n"
	       "  --json          JSON\n"
	       "  -h              this text\n");
	return EXIT_OK;
}

enum { OPT_APP = 256, OPT_JSON, OPT_LINE_RATE, OPT_BASE_RTT, OPT_NOISE, OPT_SEGMENT, OPT_FLOWS };

static const struct option long_options[] = {
	{ "app", required_argument, NULL, OPT_APP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "line-rate", required_argument, NULL, OPT_LINE_RATE },
	{ "base-rtt", required_argument, NULL, OPT_BASE_RTT },
	{ "noise", required_argument, NULL, OPT_NOISE },
	{ "segment", required_argument, NULL, OPT_SEGMENT },
	{ "flows", required_argument, NULL, OPT_FLOWS },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

/* The option of the same name knows what is allowed. */
static int take_path(const char *name, double *value)
{
	const struct ccs_opt *opt = ccs_opt_find(name);
	struct ccs_options o;
	char err[512];

	ccs_options_default(&o);
	if (ccs_options_set(&o, name, optarg, err, sizeof(err))) {
		tool_error("info", "%s", err);
		return -1;
	}
	if (*(double *)((char *)&o + opt->offset) > 0) /* 0 is auto: stay as it is */
		*value = *(double *)((char *)&o + opt->offset);
	return 0;
}

static int take_flows(unsigned *flows)
{
	double value;

	if (ccs_parse_unit(optarg, CCS_UNIT_NONE, &value) == 0 && value >= 1 && value <= 1e6 &&
	    value == (double)(unsigned)value) {
		*flows = (unsigned)value;
		return 0;
	}
	tool_error("info", "flows: '%s' is not a whole number from 1 to 1000000", optarg);
	return -1;
}

static int take_option(struct info *info, int letter)
{
	switch (letter) {
	case 'v': info->version = true; return 0;
	case 'c': info->config = true; return 0;
	case 'f': info->file = true; return 0;
	case 'a': info->algorithms = true; return 0;
	case 'd': info->devices = true; return 0;
	case OPT_APP: info->app = optarg; return 0;
	case OPT_JSON: info->json = true; return 0;
	case OPT_LINE_RATE: return take_path("line_rate", &info->path.line_rate);
	case OPT_BASE_RTT: return take_path("base_rtt", &info->path.base_rtt_us);
	case OPT_NOISE: return take_path("noise", &info->path.noise_us);
	case OPT_SEGMENT: return take_path("segment", &info->path.segment);
	case OPT_FLOWS: return take_flows(&info->path.flows);
	default: return tool_usage_error("info");
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

/* -f alone documents the defaults. Gives the number of mistakes in the configuration. */
static int load(struct info *info)
{
	memset(info->options.origin, 0, sizeof(info->options.origin));
	ccs_options_default(&info->options.values);
	if (!info->config)
		return 0;
	return ccs_options_load_as(info->app ? info->app : program_invocation_short_name,
				   &info->options.values, info->options.origin, tool_complain,
				   (void *)"info") +
	       tool_check_cc("info", &info->options.values);
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
	int letter, mistakes, status;

	argv[0] = (char *)"ccshim info"; /* getopt's complaints begin with it */
	while ((letter = getopt_long(argc, argv, "vcfadh", long_options, NULL)) != -1) {
		if (letter == 'h')
			return help();
		if (take_option(&info, letter))
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
	return status == EXIT_OK && mistakes ? EXIT_FAILED : status;
}
