/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim set tenant: changes the terms of a tenant in the running host agent. */
#include "set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/tenant.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/ask_agent.h"

/* NAME=VALUE of terms. */
static int parse_terms(int argc, char **argv, struct ccs_terms *t, unsigned *set)
{
	char name[16], err[256];

	for (int i = 0; i < argc; i++) {
		const size_t len = strcspn(argv[i], "=");
		unsigned term = 0;
		int error = ENOENT;

		snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : 0), argv[i]);
		if (argv[i][len])
			error = ccs_term_parse(name, argv[i] + len + 1, t, &term, err, sizeof(err));
		if (!error && !(*set & term)) {
			*set |= term;
			continue;
		}
		if (error == ENOENT)
			tool_error("set", "'%.64s' is not a term of a tenant: weight=NUMBER, cap=RATE, "
				   "guarantee=RATE, class=foreground, class=background or floor=PERCENT%%", argv[i]);
		else
			tool_error("set", "%s", error ? err : "a term is given twice");
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

static int report(int error, bool reached, const char *name, const char *socket)
{
	if (!reached)
		tool_error("set", "no reply from the agent at %s: %s; tenants need ccshimd", socket,
			   strerror(error));
	else if (error == EPERM)
		tool_error("set", "terms of tenants are set by root; a process of a tenant by job, or by a uid "
			   "other than 0, may lower its cap and set class=background");
	else if (error == ENOENT)
		tool_error("set", "the agent has no tenant '%s'; the section [tenant %s] of " CCS_SYSTEM_FILE
			   " defines one, and ccshimd reads it at SIGHUP", name, name);
	else if (error == ERANGE)
		tool_error("set", "the guarantees of all tenants would exceed %g of this host's fastest port",
			   CCS_GUARANTEES_MOST);
	else if (error == EINVAL)
		tool_error("set", "the agent refuses these terms of tenant %s: a cap is at least the "
			   "guarantee, and only class background has a floor, and no guarantee", name);
	else if (error)
		tool_error("set", "the agent refuses the terms: %s", strerror(error));
	return error || !reached ? EXIT_FAILED : EXIT_OK;
}

int set_tenant(int argc, char **argv)
{
	struct ccs_options o;
	struct ccs_terms terms = { 0 };
	unsigned set = 0;
	bool reached;
	int error;

	if (argc < 2 || strlen(argv[0]) >= 64)
		return tool_refuse_usage("set", "expected: tenant NAME TERM=VALUE...");
	if (parse_terms(argc - 1, argv + 1, &terms, &set))
		return EXIT_USAGE;
	if ((set & CCS_TERM_FOREGROUND) && (set & CCS_TERM_BACKGROUND))
		return tool_refuse("set", "a term is given twice");
	ccs_options_load_as("ccshim", &o, tool_complain, (void *)"set");
	error = agent_set_tenant(o.agent, argv[0], &terms, set, &reached);
	return report(error, reached, argv[0], o.agent);
}
