/* SPDX-License-Identifier: BSD-2-Clause */
#include "tenants.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "cc/minmax.h"
#include "ccshimd.h"
#include "config/options.h"

static void complain(void *arg, const char *sentence)
{
	(void)arg;
	agent_error("%s", sentence);
}

/* With a mistake, the tenants read before stay in force, so that no file is half in force. */
static unsigned read_tenants(void *arg, struct ccs_agent_tenant tenant[CCS_AGENT_TENANTS])
{
	struct tenants *t = arg;

	if (ccs_tenants_read(&t->read, t->file, complain, NULL) ||
	    (t->port > 0 && ccs_tenants_check_guarantees(&t->read, t->port, complain, NULL)))
		agent_error("%s: its tenants are not in force%s; correct the file, and send SIGHUP", t->file,
			    t->now.n ? ", the tenants read before are" : "");
	else
		t->now = t->read;
	for (unsigned i = 0; i < t->now.n; i++) {
		const struct ccs_tenant *from = &t->now.tenant[i];

		memcpy(tenant[i].name, from->name, sizeof(tenant[i].name));
		tenant[i].identity = ccs_tenant_identity(from, t->host);
		tenant[i].terms = from->terms;
		tenant[i].users_may_lower = from->kind == CCS_TENANT_JOB || from->kind == CCS_TENANT_UID;
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
	if (gethostname(t->host, sizeof(t->host)))
		agent_error("cannot read the host's name; tenants of several hosts may count as one");
	t->host[sizeof(t->host) - 1] = '\0';
	config->tenants = read_tenants;
	config->tenant_of = tenant_of;
	config->tenant_arg = t;
}
