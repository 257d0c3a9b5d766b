/* SPDX-License-Identifier: BSD-2-Clause */
#include "tenants.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

	if (ccs_tenants_read(&t->read, t->file, complain, NULL))
		agent_error("%s: its tenants are not in force%s; correct the file, and send SIGHUP", t->file,
			    t->now.n ? ", the tenants read before are" : "");
	else
		t->now = t->read;
	for (unsigned i = 0; i < t->now.n; i++) {
		const struct ccs_tenant *from = &t->now.tenant[i];

		memcpy(tenant[i].name, from->name, sizeof(tenant[i].name));
		tenant[i].identity = ccs_tenant_identity(from, t->host);
		tenant[i].weight = from->weight;
	}
	return t->now.n;
}

static int tenant_of(void *arg, pid_t pid, uid_t uid)
{
	const struct tenants *t = arg;

	return ccs_tenants_of(&t->now, pid, uid);
}

_Static_assert((int)CCS_TENANTS_MOST == (int)CCS_AGENT_TENANTS, "all fit");

void tenants_open(struct tenants *t, const char *file, struct ccs_agent_config *config)
{
	t->file = file ? file : CCS_SYSTEM_FILE;
	if (gethostname(t->host, sizeof(t->host)))
		agent_error("cannot read the host's name; tenants of several hosts may count as one");
	t->host[sizeof(t->host) - 1] = '\0';
	config->tenants = read_tenants;
	config->tenant_of = tenant_of;
	config->tenant_arg = t;
}
