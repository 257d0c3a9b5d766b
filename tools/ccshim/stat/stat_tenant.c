/* SPDX-License-Identifier: BSD-2-Clause */
/* The host agent knows the tenant of each process that has flows. */
#include "stat.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/options.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/ask_agent.h"
#include "tools/common/json_read.h"

/* A member of the arrays "clients" and "tenants" of the agent's status. */
struct member {
	double pid;
	char tenant[64];
	struct ccs_terms terms;
};

static const struct { const char *key; size_t at; } terms[] = {
	{ "weight", offsetof(struct ccs_terms, weight) }, { "cap_bps", offsetof(struct ccs_terms, cap) },
	{ "guarantee_bps", offsetof(struct ccs_terms, guarantee) }, { "floor", offsetof(struct ccs_terms, floor) },
};

static bool read_value(struct json_read *j, const char *key, void *arg)
{
	const struct json_read before = *j;
	struct member *m = arg;

	if (strcmp(key, "tenant") == 0) {
		if (json_string(j, m->tenant, sizeof(m->tenant))) {
			ccs_make_printable(m->tenant, "");
			return true;
		}
		*j = before; /* null */
		return json_skip(j);
	}
	if (strcmp(key, "pid") == 0)
		return json_number(j, &m->pid);
	for (unsigned i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		if (strcmp(key, terms[i].key) == 0)
			return json_number(j, (double *)(void *)((char *)&m->terms + terms[i].at));
	return json_skip(j);
}

static bool read_client(struct json_read *j, void *arg)
{
	struct stat_snapshot *s = arg;
	struct member m = { 0 };

	if (!json_object(j, read_value, &m))
		return false;
	for (size_t i = 0; i < s->count; i++)
		if ((double)s->process[i].h.pid == m.pid)
			memcpy(s->process[i].tenant, m.tenant, sizeof(m.tenant));
	return true;
}

/* Called after read_client(). */
static bool read_tenant(struct json_read *j, void *arg)
{
	struct stat_snapshot *s = arg;
	struct member m = { 0 };

	if (!json_object(j, read_value, &m))
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->process[i].tenant, m.tenant) == 0)
			s->process[i].terms = m.terms;
	return true;
}

static bool read_clients(struct json_read *j, const char *key, void *arg)
{
	struct stat_snapshot *s = arg;
	double omitted;

	if (strcmp(key, "clients_omitted") == 0) {
		if (!json_number(j, &omitted))
			return false;
		s->unlisted = omitted > 0 && omitted < 1e9 ? (unsigned)omitted : 0;
		return true;
	}
	return strcmp(key, "clients") == 0 ? json_array(j, read_client, arg) : json_skip(j);
}

static bool read_weights(struct json_read *j, const char *key, void *arg)
{
	return strcmp(key, "tenants") == 0 ? json_array(j, read_tenant, arg) : json_skip(j);
}

bool stat_parse_tenants(struct stat_snapshot *s, const char *status)
{
	struct json_read clients = { .text = status, .at = status }, tenants = clients;

	return status && json_object(&clients, read_clients, s) && json_object(&tenants, read_weights, s);
}

static void warn_of_unlisted(const char *cmd, const struct stat_snapshot *s)
{
	static bool warned;

	if (s->unlisted && !warned)
		tool_error(cmd, "--by tenant: the agent does not list %u of its processes, which seem to have no "
			   "tenant here", s->unlisted);
	warned |= s->unlisted;
}

const char *stat_read_tenants(struct stat_snapshot *s)
{
	static char why[400];
	struct ccs_options o;
	char *text;
	bool ok;

	ccs_options_load_as("ccshim", &o, NULL, NULL);
	text = ask_agent(o.agent);
	ok = stat_parse_tenants(s, text);
	if (!ok)
		snprintf(why, sizeof(why), "no reply from the agent at %s: %s; tenants need ccshimd", o.agent,
			 strerror(text ? EBADMSG : errno));
	free(text);
	return ok ? NULL : why;
}

bool stat_require_tenants(const char *cmd, struct stat_snapshot *s)
{
	const char *why = stat_read_tenants(s);

	if (why)
		tool_error(cmd, "--by tenant: %s", why);
	warn_of_unlisted(cmd, s);
	return !why;
}
