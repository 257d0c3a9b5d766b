/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info --tenant: the tenant of a process by its host agent, or by the file that the agent reads. */
#include "info.h"

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

/* Set the tenant by the system's file; returns why it is not in force. no_agent: why, if no agent answers. */
static const char *read_file(struct stat_process *p, const char *no_agent, unsigned unlisted)
{
	static struct ccs_tenants file;
	char proc[32];
	struct stat st;
	int i = -1;

	snprintf(proc, sizeof(proc), "/proc/%lu", (unsigned long)p->h.pid);
	if (ccs_tenants_read(&file, CCS_SYSTEM_FILE, print_mistake, NULL))
		return "the agent uses no tenants of a file with mistakes; correct " CCS_SYSTEM_FILE;
	if (stat(proc, &st) == 0)
		i = ccs_tenants_of(&file, (pid_t)p->h.pid, st.st_uid);
	if (i < 0)
		return "no tenant of " CCS_SYSTEM_FILE " matches it";
	snprintf(p->tenant, sizeof(p->tenant), "%s", file.tenant[i].name);
	p->terms = file.tenant[i].terms;
	return no_agent ? no_agent : unlisted ? "the agent lists only some of its processes, without this one"
			: "the agent has no flow of it, or has not read " CCS_SYSTEM_FILE
				     " since it changed";
}

/* Whether weights, guarantees and classes have an effect on flows of that algorithm. */
static bool is_advised(const char *cc)
{
	const size_t len = strcspn(cc, ":");

	return (len == 3 && memcmp(cc, "rcp", 3) == 0) || (len == 4 && memcmp(cc, "auto", 4) == 0);
}

/* Why terms that are in force have no effect on the process, by its statistics; or NULL. */
static const char *find_limit(pid_t pid)
{
	bool enforced = false, advised = false, found = false;
	struct stat_snapshot s;

	stat_read(&s, pid);
	for (size_t i = 0; s.count && i < s.process[0].count; i++) {
		const struct ccs_stats_qp *q = &s.process[0].qp[i].q;

		found = true;
		enforced |= q->enforced;
		/* q->cc may be the fallback, which a flow has until the receiver's agent answers */
		advised |= q->enforced && (is_advised(q->cc) || is_advised(s.process[0].h.cc));
	}
	stat_free(&s);
	return !found || advised ? NULL
		: enforced ? "only its cap has an effect, as no queue pair has cc=rcp or cc=auto"
			   : "without effect, as no queue pair has mode=enforce";
}

static void print_text(const struct stat_process *p, const char *why, const char *limit)
{
	char terms[128];

	stat_format_terms(terms, sizeof(terms), p);
	if (*p->tenant)
		printf("tenant %s", p->tenant);
	if (*p->tenant && p->terms.weight > 0) /* users see no terms */
		printf(", weight %g%s%s", p->terms.weight, *terms == '-' ? "" : ", ", *terms == '-' ? "" : terms);
	printf(!*p->tenant ? "no tenant: %s\n" : why ? ", not in force: %s\n" : limit ? ", in force: %s\n"
	       : ", in force\n", why ? why : limit);
}

void info_tenant(struct ccs_json *j, pid_t pid)
{
	static struct stat_process p;
	struct stat_snapshot s = { .process = &p, .count = 1 };
	const char *why, *limit;

	p.h.pid = (uint32_t)pid;
	why = stat_read_tenants(&s);
	if (why || !*p.tenant)
		why = read_file(&p, why, s.unlisted);
	limit = why ? NULL : find_limit(pid);
	if (!j) {
		print_text(&p, why, limit);
		return;
	}
	ccs_json_object(j, "tenant");
	ccs_json_uint(j, "pid", p.h.pid);
	ccs_json_str(j, "name", *p.tenant ? p.tenant : NULL);
	if (!(p.terms.weight > 0))
		ccs_json_str(j, "weight", NULL);
	stat_json_terms(j, &p.terms);
	ccs_json_bool(j, "in_force", !why);
	ccs_json_str(j, "why", why ? why : limit);
	ccs_json_end(j);
}
