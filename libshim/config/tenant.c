/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/tenant.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/sysfs.h"
#include "base/units.h"
#include "config/conf.h"

static const char *const kinds[CCS_TENANT_KINDS] = { "job", "cgroup", "uid", "app" };

#define MATCHES "job:ID, cgroup:GLOB, uid:NUMBER or app:GLOB"

enum { PROGRAM_NAME = 15 };               /* of /proc/PID/comm */

struct reading {
	struct ccs_tenants *tenants;
	ccs_tenant_complain *complain;
	void *arg;
	unsigned mistakes;
};

static void __attribute__((format(printf, 3, 4))) complain(struct reading *r, const char *where,
							   const char *fmt, ...)
{
	char text[512], sentence[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(sentence, sizeof(sentence), "%s: %s", where, text);
	r->mistakes++;
	r->complain(r->arg, sentence);
}

static void complain_line(void *arg, const char *where, const char *sentence)
{
	complain(arg, where, "%s", sentence);
}

static struct ccs_tenant *last(const struct reading *r)
{
	return &r->tenants->tenant[r->tenants->n - 1];
}

static void handle_tenant(void *arg, const struct ccs_conf_item *item)
{
	struct reading *r = arg;
	struct ccs_tenants *t = r->tenants;

	for (unsigned i = 0; i < t->n; i++)
		if (strcmp(t->tenant[i].name, item->tenant) == 0)
			complain(r, item->where, "tenant %s is defined at %s already", item->tenant,
				 t->tenant[i].where);
	if (t->n == CCS_TENANTS_MOST) {
		complain(r, item->where, "more than %d tenants", CCS_TENANTS_MOST);
		t->n--;
	}
	t->tenant[t->n] = (struct ccs_tenant){ 0 };
	snprintf(t->tenant[t->n].name, sizeof(t->tenant->name), "%s", item->tenant);
	snprintf(t->tenant[t->n].where, sizeof(t->tenant->where), "%s", item->where);
	t->n++;
}

/* The length of the shortest name that matches. */
static unsigned least_length(const char *glob)
{
	unsigned n = 0;

	for (const char *p = glob; *p; p++) {
		const char *end = *p == '[' && p[1] ? strchr(p + 2, ']') : NULL;

		n += *p != '*';
		p = end ? end : *p == '\\' && p[1] ? p + 1 : p;
	}
	return n;
}

static bool may_be_path(const char *glob)
{
	const size_t len = strlen(glob);

	return strchr("/*?[\\", *glob) && (len == 1 || glob[len - 1] != '/');
}

static void parse_match(struct reading *r, const struct ccs_conf_item *item)
{
	const char *colon = strchr(item->value, ':'), *pattern = colon ? colon + 1 : "";
	const size_t len = colon ? (size_t)(colon - item->value) : 0;
	struct ccs_tenant *t = last(r);
	unsigned kind = 0, number;

	while (kind < CCS_TENANT_KINDS && (strlen(kinds[kind]) != len ||
					   memcmp(kinds[kind], item->value, len) != 0))
		kind++;
	if (*t->pattern)
		complain(r, item->where, "match is set twice; a tenant has one");
	else if (kind == CCS_TENANT_KINDS || !*pattern || strlen(pattern) >= sizeof(t->pattern))
		complain(r, item->where, "match: '%.64s' is not " MATCHES, item->value);
	else if (kind == CCS_TENANT_UID && ccs_parse_digits(pattern, UINT32_MAX - 1, &number))
		complain(r, item->where, "match: '%.64s' is not a user ID", pattern);
	else if (kind == CCS_TENANT_JOB && ccs_parse_digits(pattern, UINT32_MAX - 1, &number))
		complain(r, item->where, "match: '%.64s' is not a job's number, as SLURM_JOB_ID has it", pattern);
	else if (kind == CCS_TENANT_CGROUP && !may_be_path(pattern))
		complain(r, item->where, "match: '%.64s' matches no control group, whose path begins with / and does "
			 "not end with it: begin or end it with *", pattern);
	else if (kind == CCS_TENANT_APP && least_length(pattern) > PROGRAM_NAME)
		complain(r, item->where, "match: '%.64s' matches no program, as names are cut to %d bytes here; "
			 "end it with *", pattern, PROGRAM_NAME);
	else if (kind == CCS_TENANT_UID || kind == CCS_TENANT_JOB)
		snprintf(t->pattern, sizeof(t->pattern), "%u", number); /* without zeros before it */
	else
		snprintf(t->pattern, sizeof(t->pattern), "%s", pattern);
	t->kind = kind < CCS_TENANT_KINDS ? (enum ccs_tenant_kind)kind : CCS_TENANT_APP;
}

/* "none" is 0. */
static int parse_rate(const char *value, double *rate)
{
	if (strcmp(value, "none") != 0)
		return ccs_parse_unit(value, CCS_UNIT_RATE, rate) ||
		       !(*rate >= CCS_TERM_RATE_LEAST && *rate <= CCS_TERM_RATE_MOST) ? EINVAL : 0;
	*rate = 0;
	return 0;
}

static int parse_number(const char *value, const char *unit, double *number)
{
	const char *end;

	*number = ccs_strtod(value, &end);
	return end == value || strcmp(end, unit) != 0 ? EINVAL : 0;
}

/* Agents state weights in hundredths, and floors in hundredths of a percent. */
int ccs_term_parse(const char *name, const char *value, struct ccs_terms *t, unsigned *set, char *err,
		   size_t len)
{
	const bool background = strcmp(value, "background") == 0;
	const char *valid = NULL;
	enum ccs_term term = 0;

	if (strcmp(name, "weight") == 0) {
		term = CCS_TERM_WEIGHT;
		if (parse_number(value, "", &t->weight) ||
		    !(t->weight >= CCS_WEIGHT_LEAST && t->weight <= CCS_WEIGHT_MOST))
			valid = "a number from 0.01 to 100";
		t->weight = round(t->weight * 100) / 100;
	} else if (strcmp(name, "cap") == 0 || strcmp(name, "guarantee") == 0) {
		term = *name == 'c' ? CCS_TERM_CAP : CCS_TERM_GUARANTEE;
		if (parse_rate(value, *name == 'c' ? &t->cap : &t->guarantee))
			valid = "a rate from 1m to 1000t, such as 10g, or none";
	} else if (strcmp(name, "class") == 0) {
		term = background ? CCS_TERM_BACKGROUND : CCS_TERM_FOREGROUND;
		if (!background && strcmp(value, "foreground") != 0)
			valid = "foreground or background";
	} else if (strcmp(name, "floor") == 0) {
		term = CCS_TERM_FLOOR;
		if (parse_number(value, "%", &t->floor) ||
		    !(t->floor >= 100 * CCS_FLOOR_LEAST && t->floor <= 100 * CCS_FLOOR_MOST))
			valid = "a percentage from 0.01% to 20%";
		t->floor = round(t->floor * 100) / 1e4;
	}
	*set |= term;
	if (!term)
		return ENOENT;
	if (!valid)
		return 0;
	snprintf(err, len, "%s: '%.64s' is not %s", name, value, valid);
	return EINVAL;
}

static void complain_unknown(struct reading *r, const struct ccs_conf_item *item)
{
	static const char *const keys[] = { "match", "weight", "cap", "guarantee", "class", "floor" };
	struct ccs_suggestion near = ccs_suggest_for(item->name);
	char hint[96];

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		ccs_suggest_offer(&near, keys[i]);
	complain(r, item->where, "a tenant has no key '%.64s'%s", item->name, near.best
		 ? ccs_suggest_hint(&near, hint, sizeof(hint))
		 : "; match, weight, cap, guarantee, class and floor are");
}

static void parse_term(struct reading *r, const struct ccs_conf_item *item)
{
	struct ccs_tenant *t = last(r);
	const bool is_class = strcmp(item->name, "class") == 0;
	unsigned set = 0;
	char err[256];

	switch (ccs_term_parse(item->name, item->value, &t->terms, &set, err, sizeof(err))) {
	case ENOENT:
		complain_unknown(r, item);
		return;
	case EINVAL:
		complain(r, item->where, "%s", err);
	}
	if (t->set & (is_class ? CCS_TERM_FOREGROUND | CCS_TERM_BACKGROUND : set))
		complain(r, item->where, "%s is set twice", item->name);
	t->set |= set;
}

static void handle_item(void *arg, const struct ccs_conf_item *item)
{
	struct reading *r = arg;

	if (!item->tenant || item->bad)
		return;
	if (strcmp(item->name, "match") == 0)
		parse_match(r, item);
	else
		parse_term(r, item);
}

/* Whether a process may match both. Patterns with parts in common may overlap without it. */
static bool overlap(const struct ccs_tenant *a, const struct ccs_tenant *b)
{
	if (a->kind != b->kind)
		return false;
	if (strcmp(a->pattern, b->pattern) == 0)
		return true;
	return (a->kind == CCS_TENANT_CGROUP || a->kind == CCS_TENANT_APP) &&
	       (fnmatch(a->pattern, b->pattern, 0) == 0 || fnmatch(b->pattern, a->pattern, 0) == 0);
}

/* The values are valid; are they together? */
static void check_terms(struct reading *r, struct ccs_tenant *t)
{
	const struct ccs_terms given = t->terms;
	const char *why;

	t->terms = CCS_TERMS_DEFAULT;
	why = ccs_terms_set(&t->terms, &given, t->set);
	if (why)
		complain(r, t->where, "tenant %s: %s", t->name, why);
}

static void check(struct reading *r)
{
	for (unsigned i = 0; i < r->tenants->n; i++) {
		struct ccs_tenant *t = &r->tenants->tenant[i];

		if (!*t->pattern)
			complain(r, t->where, "tenant %s has no valid match; add match = and " MATCHES,
				 t->name);
		if (!r->mistakes)
			check_terms(r, t);
		for (unsigned k = 0; k < i && *t->pattern; k++)
			if (overlap(&r->tenants->tenant[k], t))
				complain(r, t->where, "tenant %s matches processes of tenant %s (%s); "
					 "a process belongs to one tenant", t->name,
					 r->tenants->tenant[k].name, r->tenants->tenant[k].where);
	}
}

unsigned ccs_tenants_read(struct ccs_tenants *t, const char *path, ccs_tenant_complain *complain_to,
			  void *arg)
{
	struct reading r = { t, complain_to, arg, 0 };
	const struct ccs_conf_reader reader = {
		.handle_item = handle_item, .complain = complain_line, .handle_tenant = handle_tenant,
		.arg = &r,
	};
	int error;

	t->n = 0;
	error = ccs_conf_read(path, &reader);
	if (error && error != ENOENT)
		complain(&r, path, "cannot be read: %s", strerror(error));
	check(&r);
	return r.mistakes;
}

unsigned ccs_tenants_check_guarantees(const struct ccs_tenants *t, double capacity,
				      ccs_tenant_complain *complain_to, void *arg)
{
	struct reading r = { NULL, complain_to, arg, 0 };
	double sum = 0;

	for (const struct ccs_tenant *h = t->tenant; h < t->tenant + t->n; h++) {
		sum += h->terms.guarantee;
		if (!r.mistakes && h->terms.guarantee > 0 && sum > CCS_GUARANTEES_MOST * capacity)
			complain(&r, h->where, "with tenant %s the guarantees are %g Gb/s in sum, above %g of "
				 "this host's fastest port of %g Gb/s", h->name, sum / 1e9,
				 CCS_GUARANTEES_MOST, capacity / 1e9);
	}
	return r.mistakes;
}

/* -- processes --------------------------------------------------------------------- */

/*
 * Whether the path is of Slurm's control group of the job, which has a part job_ID below Slurm's parts.
 * Users can give groups that systemd delegates to them any name.
 */
static bool has_job(char *path, const char *id)
{
	static const char *const slurm[] = { "system.slice", "slurm*", "*slurmstepd.scope", "uid_*" };
	char *rest, *part = strtok_r(path, "/", &rest);

	for (unsigned i = 0; part && i < sizeof(slurm) / sizeof(*slurm); i++)
		if (fnmatch(slurm[i], part, 0) == 0)
			part = strtok_r(NULL, "/", &rest);
	return part && strncmp(part, "job_", 4) == 0 && strcmp(part + 4, id) == 0;
}

/* The path without the groups that a user's instance of systemd manages, unless the pattern is of these. */
static bool matches_group(char *path, const char *pattern)
{
	char *end = strstr(path, ".service/");

	if (strncmp(path, "/user.slice/", 12) == 0 && strncmp(pattern, "/user.slice/", 12) != 0 && end)
		end[8] = '\0';
	return fnmatch(pattern, path, 0) == 0;
}

/* Each line of /proc/PID/cgroup is NUMBER:CONTROLLERS:PATH. */
static bool is_in_cgroup(const struct ccs_tenant *t, const char *cgroups)
{
	char line[4096];

	for (const char *next; *cgroups; cgroups = next) {
		const size_t n = strcspn(cgroups, "\n");
		char *path;

		next = cgroups + n + (cgroups[n] == '\n');
		snprintf(line, sizeof(line), "%.*s", (int)n, cgroups);
		path = strchr(line, '/');
		if (path && (t->kind == CCS_TENANT_JOB ? has_job(path, t->pattern)
						       : matches_group(path, t->pattern)))
			return true;
	}
	return false;
}

/* Read a file of /proc/PID; "" if that is impossible. */
static void read_proc(pid_t pid, const char *name, char *text, size_t len)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	ccs_read_file(path, text, len);
}

int ccs_tenants_match(const struct ccs_tenants *t, const char *cgroups, const char *app, uid_t uid)
{
	const struct ccs_tenant *best = NULL;
	char user[16];

	snprintf(user, sizeof(user), "%u", uid);
	for (unsigned i = 0; i < t->n; i++) {
		const struct ccs_tenant *h = &t->tenant[i];
		const bool matches = h->kind == CCS_TENANT_UID ? strcmp(h->pattern, user) == 0 :
				     h->kind == CCS_TENANT_APP ? fnmatch(h->pattern, app, 0) == 0 :
				     is_in_cgroup(h, cgroups);

		if (matches && (!best || h->kind < best->kind))
			best = h;
	}
	return best ? (int)(best - t->tenant) : -1;
}

int ccs_tenants_of(const struct ccs_tenants *t, pid_t pid, uid_t uid)
{
	char cgroups[8192], app[64];

	read_proc(pid, "cgroup", cgroups, sizeof(cgroups));
	read_proc(pid, "comm", app, sizeof(app));
	app[strcspn(app, "\n")] = '\0';
	return ccs_tenants_match(t, cgroups, app, uid);
}

uint64_t ccs_tenant_identity(const struct ccs_tenant *t, const char *host)
{
	char text[512];
	uint64_t hash;

	if (t->kind == CCS_TENANT_JOB)
		snprintf(text, sizeof(text), "job %s", t->pattern);
	else
		snprintf(text, sizeof(text), "host %s %s", host, t->name);
	hash = ccs_hash_text(text);
	return hash ? hash : 1;
}
