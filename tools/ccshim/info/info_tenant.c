/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info --tenant: the tenant of a process by its host agent, or by the file that the agent reads. */
#include "info.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "config/tenant.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/stat/stat.h"

static void print_mistake(void *arg, const char *sentence)
{
	(void)arg;
	tool_error("info", "%s", sentence);
}

/* The tenant by the system's file, and why it is not in force. no_agent: why, if no agent
 * answers. */
static void read_file(struct info_tenant *t, const char *no_agent)
{
	static struct ccs_tenants file;
	char proc[32];
	struct stat st;
	int i = -1;

	snprintf(proc, sizeof(proc), "/proc/%ld", (long)t->pid);
	if (ccs_tenants_read(&file, CCS_SYSTEM_FILE, print_mistake, NULL)) {
		t->why = "the agent uses no tenants of a file with mistakes; correct " CCS_SYSTEM_FILE;
		return;
	}
	if (stat(proc, &st) == 0)
		i = ccs_tenants_of(&file, t->pid, st.st_uid);
	if (i >= 0) {
		snprintf(t->name, sizeof(t->name), "%s", file.tenant[i].name);
		t->weight = file.tenant[i].weight;
	}
	t->why = i < 0 ? "no tenant of " CCS_SYSTEM_FILE " matches it" :
		 no_agent ? no_agent : "the agent has no flow of it, or has not read " CCS_SYSTEM_FILE " since it changed";
}

int info_tenant_find(struct info_tenant *t, pid_t pid)
{
	static struct stat_process process;
	struct stat_snapshot s = { .process = &process, .count = 1 };
	const char *no_agent;

	*t = (struct info_tenant){ .pid = pid };
	if (kill(pid, 0) && errno == ESRCH) {
		tool_error("info", "--tenant: there is no process %ld", (long)pid);
		return EXIT_FAILED;
	}
	process.h.pid = (uint32_t)pid;
	no_agent = stat_read_tenants(&s);
	if (no_agent || !*process.tenant) {
		read_file(t, no_agent);
		return EXIT_OK;
	}
	snprintf(t->name, sizeof(t->name), "%s", process.tenant);
	t->weight = process.weight;
	return EXIT_OK;
}

void info_tenant_text(const struct info_tenant *t)
{
	if (!*t->name)
		printf("no tenant: %s\n", t->why);
	else if (t->weight > 0)
		printf("tenant %s, weight %g, ", t->name, t->weight);
	else /* users see no weights */
		printf("tenant %s, ", t->name);
	if (*t->name)
		printf(t->why ? "not in force: %s\n" : "in force\n", t->why);
}

void info_tenant_json(struct ccs_json *j, const struct info_tenant *t)
{
	ccs_json_object(j, "tenant");
	ccs_json_uint(j, "pid", (uint64_t)t->pid);
	ccs_json_str(j, "name", *t->name ? t->name : NULL);
	ccs_json_num(j, "weight", t->weight > 0 ? t->weight : NAN);
	ccs_json_bool(j, "in_force", !t->why);
	ccs_json_str(j, "why", t->why);
	ccs_json_end(j);
}
