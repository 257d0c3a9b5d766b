/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccshimd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "cc/minmax.h"
#include "config/options.h"

static void complain(void *arg, const char *sentence)
{
	(void)arg;
	agent_error("%s", sentence);
}

/* Other hosts ignore them then. */
static void warn_without_key(const struct tenants *t)
{
	for (const struct ccs_tenant *h = t->now.tenant; !t->has_key && h < t->now.tenant + t->now.n; h++)
		if (h->terms.guarantee > 0 || h->terms.floor > 0)
			agent_error("%s: without --key-file the guarantee and class of tenant %s count only for "
				    "data that it READs", h->where, h->name);
}

/* Read the file. False after a mistake. */
static bool read_file(struct tenants *t)
{
	if (t->named && access(t->file, F_OK))
		agent_error("%s: %s: there are no tenants", t->file, strerror(errno));
	if (ccs_tenants_read(&t->read, t->file, complain, NULL) ||
	    (t->port > 0 && ccs_tenants_check_guarantees(&t->read, t->port, complain, NULL))) {
		agent_error("%s: its tenants are not in force%s; correct the file, and send SIGHUP", t->file,
			    t->now.n ? ", the tenants read before are" : "");
		return false;
	}
	t->now = t->read;
	warn_without_key(t);
	return true;
}

/* With a mistake, the tenants read before stay in force with the terms that have been set since, so that
 * no file is half in force. */
static unsigned read_tenants(void *arg, struct ccs_agent_tenant tenant[CCS_AGENT_TENANTS])
{
	struct tenants *t = arg;
	const unsigned n = read_file(t) ? t->now.n : 0;

	for (unsigned i = 0; i < n; i++) {
		const struct ccs_tenant *from = &t->now.tenant[i];

		memcpy(tenant[i].name, from->name, sizeof(tenant[i].name));
		tenant[i].identity = ccs_tenant_identity(from, t->host);
		tenant[i].terms = from->terms;
		/* not root's, as it is of root of a container as well; cgroup and app: several users' */
		tenant[i].users_may_lower = from->kind == CCS_TENANT_JOB ||
					    (from->kind == CCS_TENANT_UID && strcmp(from->pattern, "0") != 0);
	}
	return t->now.n;
}

static int tenant_of(void *arg, pid_t pid, uid_t uid)
{
	const struct tenants *t = arg;

	return ccs_tenants_of(&t->now, pid, uid);
}

_Static_assert((int)CCS_TENANTS_MOST == (int)CCS_AGENT_TENANTS, "all fit");

/* The capacity of the fastest interface: as configured, or its speed. 0: no speed is known. */
static double fastest_port(const struct ccs_agent_config *config)
{
	struct if_nameindex *all = if_nameindex();
	double most = 0;

	for (unsigned i = 0; i < config->ncapacities; i++)
		most = ccs_max(most, config->capacities[i].rate);
	for (struct if_nameindex *i = all; i && i->if_name; i++)
		most = ccs_max(most, ccs_sysfs_speed(config->sysfs ? config->sysfs : "/sys", i->if_name));
	if_freenameindex(all);
	return most;
}

void tenants_open(struct tenants *t, const char *file, struct ccs_agent_config *config)
{
	t->port = fastest_port(config);
	config->guarantees = CCS_GUARANTEES_MOST * t->port;
	t->file = file ? file : CCS_SYSTEM_FILE;
	t->named = file;
	t->has_key = config->auth;
	if (gethostname(t->host, sizeof(t->host)))
		agent_error("cannot read the host's name; tenants of several hosts may count as one");
	t->host[sizeof(t->host) - 1] = '\0';
	config->tenants = read_tenants;
	config->tenant_of = tenant_of;
	config->tenant_arg = t;
}
