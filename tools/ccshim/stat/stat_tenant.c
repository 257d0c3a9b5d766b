/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums by tenant: the host agent knows the tenant of each process that has flows. */
#include "stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/json.h"
#include "tools/common/ask_agent.h"
#include "tools/common/human.h"
#include "tools/common/json_read.h"

enum { TENANTS = 65 };

/* [0]: the processes without a tenant. */
struct tenant {
	char name[64];
	double weight;
	size_t processes;
	struct ccs_stats_gone sum;
};

struct status {
	struct { uint64_t pid; char tenant[64]; } *process;
	size_t processes;
	struct tenant tenant[TENANTS];
	unsigned tenants;
};

static bool read_process_member(struct json_read *j, const char *key, void *arg)
{
	const struct json_read before = *j;
	struct status *s = arg;
	double pid;

	if (strcmp(key, "tenant") == 0) {
		if (json_string(j, s->process[s->processes].tenant, sizeof(s->process->tenant)))
			return true;
		*j = before; /* null */
		return json_skip(j);
	}
	if (strcmp(key, "pid") != 0)
		return json_skip(j);
	if (!json_number(j, &pid))
		return false;
	s->process[s->processes].pid = (uint64_t)pid;
	return true;
}

static bool read_process(struct json_read *j, void *arg)
{
	struct status *s = arg;
	void *more = reallocarray(s->process, s->processes + 1, sizeof(*s->process));

	if (!more)
		return false;
	s->process = more;
	memset(&s->process[s->processes], 0, sizeof(*s->process));
	if (!json_object(j, read_process_member, s))
		return false;
	s->processes++;
	return true;
}

static struct tenant *find(struct status *s, const char *name)
{
	for (unsigned i = 0; i < s->tenants; i++)
		if (strcmp(s->tenant[i].name, name) == 0)
			return &s->tenant[i];
	if (s->tenants == TENANTS)
		return s->tenant;
	snprintf(s->tenant[s->tenants].name, sizeof(s->tenant->name), "%s", name);
	return &s->tenant[s->tenants++];
}

static bool read_tenant_member(struct json_read *j, const char *key, void *arg)
{
	struct tenant *t = arg;

	if (strcmp(key, "tenant") == 0)
		return json_string(j, t->name, sizeof(t->name));
	return strcmp(key, "weight") == 0 ? json_number(j, &t->weight) : json_skip(j);
}

static bool read_tenant(struct json_read *j, void *arg)
{
	struct tenant t = { 0 };

	if (!json_object(j, read_tenant_member, &t))
		return false;
	find(arg, t.name)->weight = t.weight;
	return true;
}

static bool read_member(struct json_read *j, const char *key, void *arg)
{
	if (strcmp(key, "clients") == 0)
		return json_array(j, read_process, arg);
	return strcmp(key, "tenants") == 0 ? json_array(j, read_tenant, arg) : json_skip(j);
}

static const char *tenant_of(const struct status *s, uint64_t pid)
{
	for (size_t i = 0; i < s->processes; i++)
		if (s->process[i].pid == pid)
			return s->process[i].tenant;
	return "";
}

static void add(struct ccs_stats_gone *sum, const struct ccs_stats_gone *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static void add_up(struct status *s, const struct stat_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++) {
		const struct stat_process *p = &snapshot->process[i];
		const struct ccs_stats_gone sum = stat_totals(p);
		struct tenant *t = find(s, tenant_of(s, p->h.pid));

		t->processes++;
		add(&t->sum, &sum);
	}
}

static void print(const struct status *s, const struct stat_snapshot *snapshot, uint64_t bytes, FILE *out)
{
	const bool is_rate = snapshot->since_s > 0;

	fprintf(out, "%-24s %8s %9s %6s %10s %7s %9s\n", "tenant", "weight", "processes", "QPs",
		is_rate ? "rate" : "done", "share", "gated");
	for (const struct tenant *t = s->tenant; t < s->tenant + s->tenants; t++) {
		char weight[16] = "-", done[24], share[16], gated[24];

		if (t == s->tenant && !t->processes)
			continue;
		if (t->weight > 0)
			snprintf(weight, sizeof(weight), "%g", t->weight);
		if (is_rate)
			human_rate(8 * (double)t->sum.bytes / snapshot->since_s, done, sizeof(done));
		else
			human_bytes((double)t->sum.bytes, done, sizeof(done));
		fprintf(out, "%-24s %8s %9zu %6llu %10s %7s %9s\n", t == s->tenant ? "(none)" : t->name, weight,
			t->processes, (unsigned long long)t->sum.qps, done,
			human_percent(bytes ? (double)t->sum.bytes / (double)bytes : 0, share, sizeof(share)),
			human_us((double)t->sum.gated_ns / 1e3, gated, sizeof(gated)));
	}
}

static void write(const struct status *s, const struct stat_snapshot *snapshot, uint64_t bytes,
		  bool one_line, FILE *out)
{
	struct ccs_json j;

	(one_line ? ccs_json_start_line : ccs_json_start)(&j, out);
	ccs_json_object(&j, NULL);
	ccs_document_head(&j, (double)(snapshot->unix_ns / 1000) / 1e6);
	if (snapshot->since_s > 0)
		ccs_json_num(&j, "interval_s", snapshot->since_s);
	ccs_json_array(&j, "tenants");
	for (const struct tenant *t = s->tenant; t < s->tenant + s->tenants; t++) {
		ccs_json_object(&j, NULL);
		ccs_json_str(&j, "tenant", t == s->tenant ? NULL : t->name);
		ccs_json_num(&j, "weight", t->weight > 0 ? t->weight : NAN);
		ccs_json_uint(&j, "processes", t->processes);
		ccs_json_uint(&j, "qps", t->sum.qps);
		ccs_json_uint(&j, "bytes", t->sum.bytes);
		ccs_json_num(&j, "share", bytes ? (double)t->sum.bytes / (double)bytes : NAN);
		ccs_json_num(&j, "gated_us", (double)t->sum.gated_ns / 1e3);
		ccs_json_end(&j);
	}
	ccs_json_end(&j);
	ccs_json_finish(&j);
}

bool stat_by_tenant(const struct stat_snapshot *snapshot, const char *socket, bool json, bool one_line,
		    FILE *out)
{
	char *text = ask_agent(socket);
	struct json_read j = { .text = text, .at = text };
	struct status s = { .tenants = 1 };
	const bool ok = text && json_object(&j, read_member, &s);
	uint64_t bytes = 0;

	if (ok) {
		add_up(&s, snapshot);
		for (unsigned i = 0; i < s.tenants; i++)
			bytes += s.tenant[i].sum.bytes;
		if (json)
			write(&s, snapshot, bytes, one_line, out);
		else
			print(&s, snapshot, bytes, out);
	}
	free(s.process);
	free(text);
	return ok;
}
