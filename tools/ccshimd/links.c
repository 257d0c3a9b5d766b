/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccshimd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/units.h"

/* bit/s; -1: not a rate. */
static int parse_rate(const char *text, double *rate)
{
	return ccs_parse_unit(text, CCS_UNIT_RATE, rate) || *rate < 1 || isinf(*rate) ? -1 : 0;
}

int parse_capacity(const char *text, struct ccs_agent_capacity *c)
{
	char *name = strdup(text), *value = name ? strchr(name, '=') : NULL;

	if (value && value != name) {
		*value++ = '\0';
		*c = (struct ccs_agent_capacity){ .interface = name };
		if (parse_rate(value, &c->rate) == 0)
			return 0;
	}
	agent_error("--capacity %s: expected INTERFACE=RATE, like eth0=25g", text);
	free(name);
	return -1;
}

static int set(struct ccs_agent_publication *p, const char *name, const char *value)
{
	struct ccs_prefix prefix;
	char *end;
	long hop;

	if (strcmp(name, "to") == 0) {
		p->to = value;
		return ccs_prefix_parse(value, &prefix);
	}
	if (strcmp(name, "from") == 0) {
		p->from = value;
		return ccs_prefix_parse(value, &prefix);
	}
	if (strcmp(name, "rate") == 0)
		return parse_rate(value, &p->rate);
	if (strcmp(name, "hop") != 0)
		return -1;
	hop = strtol(value, &end, 10);
	p->hop = (uint16_t)hop;
	return *value < '0' || *value > '9' || *end || hop < 1 || hop > 255 ? -1 : 0;
}

int parse_publication(const char *text, struct ccs_agent_publication *p)
{
	char *rest = strdup(text), *part = rest, *value;

	*p = (struct ccs_agent_publication){ .port = strsep(&rest, ","), .hop = 1 };
	while (part && *part && (part = strsep(&rest, ","))) {
		value = strchr(part, '=');
		if (!value)
			break;
		*value++ = '\0';
		if (set(p, part, value))
			break;
	}
	if (p->port && *p->port && !part)
		return 0;
	agent_error("--publish %s: expected PORT[,to=PREFIX][,from=PREFIX][,hop=N][,rate=RATE], "
		     "like eth0,to=10.9.0.1,hop=1,rate=25g", text);
	return -1;
}
