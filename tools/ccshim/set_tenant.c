/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim set tenant: changes the weight of a tenant in the running host agent. */
#include "set_tenant.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "cc/shares.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/ask_agent.h"

static int parse_weight(const char *text, double *weight)
{
	const char *end;

	if (strncmp(text, "weight=", 7) == 0) {
		*weight = ccs_strtod(text + 7, &end);
		if (text[7] && !*end && *weight >= CCS_WEIGHT_LEAST && *weight <= CCS_WEIGHT_MOST)
			return 0;
		tool_error("set", "weight: '%.32s' is not a number from %g to %g", text + 7,
			   CCS_WEIGHT_LEAST, CCS_WEIGHT_MOST);
	} else {
		tool_error("set", "'%.32s' is not weight=NUMBER, which is what a tenant has", text);
	}
	return EXIT_USAGE;
}

static int report(int error, bool reached, const char *name, const char *socket)
{
	if (!reached)
		tool_error("set", "no reply from the agent at %s: %s; tenants need ccshimd", socket,
			   strerror(error));
	else if (error == EPERM)
		tool_error("set", "weights of tenants may be set by root only");
	else if (error == ENOENT)
		tool_error("set", "the agent has no tenant '%s'; the section [tenant %s] of " CCS_SYSTEM_FILE
			   " defines one, and ccshimd reads it at SIGHUP", name, name);
	else if (error)
		tool_error("set", "the agent refuses the weight: %s", strerror(error));
	return error || !reached ? EXIT_FAILED : EXIT_OK;
}

int set_tenant(int argc, char **argv)
{
	struct ccs_options o;
	double weight;
	bool reached;
	int error;

	if (argc != 2 || strlen(argv[0]) >= 64) {
		tool_error("set", "expected: tenant NAME weight=NUMBER");
		return tool_usage_error("set");
	}
	if (parse_weight(argv[1], &weight))
		return EXIT_USAGE;
	ccs_options_load_as("ccshim", &o, tool_complain, (void *)"set");
	error = agent_set_tenant(o.agent, argv[0], weight, &reached);
	return report(error, reached, argv[0], o.agent);
}
