/* SPDX-License-Identifier: BSD-2-Clause */
#include "set.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ccshim/shared/ccshim.h"
#include "stat/stat.h"
#include "tools/ccshim/shared/children.h"
#include "tools/common/terminal.h"

#define ALIVE UINT32_MAX

struct report {
	uint32_t i, len;                 /* number of the process; length of the text after it */
	int32_t status;
};

struct outcome {
	int status;
	char *text;                      /* NULL: not reached */
};

/* Processes of one user or container are a group. */
struct delivery {
	const struct set_request *request;
	set_sender *send;
	const struct stat_process **p;   /* by group */
	struct outcome *outcome;         /* of p */
	size_t *group;                   /* index of its first process; the last element is the end */
	size_t ngroups;
};

void set_report(int out, size_t i, int status, const char *fmt, ...)
{
	struct report r = { .i = fmt ? (uint32_t)i : ALIVE, .status = status };
	char text[4096] = "";
	va_list args;

	if (fmt) {
		va_start(args, fmt);
		vsnprintf(text, sizeof(text), fmt, args);
		va_end(args);
	}
	r.len = (uint32_t)strlen(text);
	children_write(out, &r, sizeof(r));
	children_write(out, text, r.len);
}

static int by_party(const void *a, const void *b)
{
	const struct stat_process *x = *(const struct stat_process *const *)a;
	const struct stat_process *y = *(const struct stat_process *const *)b;

	return x->party != y->party ? (x->party < y->party ? -1 : 1)
				    : (x->h.pid > y->h.pid) - (x->h.pid < y->h.pid);
}

static void run_group(void *arg, size_t i, int out)
{
	const struct delivery *d = arg;
	const size_t first = d->group[i];

	d->send(d->request, d->p + first, d->group[i + 1] - first, out);
}

static void add_reports(void *arg, size_t i, const char *data, size_t len, bool complete)
{
	const struct delivery *d = arg;
	struct report r;

	(void)complete;
	for (; len >= sizeof(r); data += r.len, len -= r.len) {
		memcpy(&r, data, sizeof(r));
		data += sizeof(r);
		len -= sizeof(r);
		if (r.len > len)
			return;
		if (r.i >= d->group[i + 1] - d->group[i] || d->outcome[d->group[i] + r.i].text)
			continue;
		d->outcome[d->group[i] + r.i] = (struct outcome){ r.status, strndup(data, r.len) };
	}
}

/* False: no memory. */
static bool prepare(struct delivery *d, const struct stat_snapshot *s)
{
	size_t n = 0;

	d->p = calloc(s->count + 1, sizeof(*d->p));
	d->outcome = calloc(s->count + 1, sizeof(*d->outcome));
	d->group = calloc(s->count + 1, sizeof(*d->group));
	if (!d->p || !d->outcome || !d->group)
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (!s->process[i].ambiguous)
			d->p[n++] = &s->process[i];
	qsort(d->p, n, sizeof(*d->p), by_party);
	for (size_t i = 0; i < n; i++)
		if (!i || d->p[i]->party != d->p[i - 1]->party)
			d->group[d->ngroups++] = i;
	d->group[d->ngroups] = n;
	return true;
}

static struct outcome outcome_of(const struct delivery *d, const struct stat_process *p)
{
	char text[1024];

	for (size_t i = 0; i < d->group[d->ngroups]; i++)
		if (d->p[i] == p && d->outcome[i].text)
			return d->outcome[i];
	if (p->ambiguous)
		snprintf(text, sizeof(text), "not sent: two files claim to be its statistics, %s and %s; "
			 "remove the wrong one", p->file, p->other_file);
	else
		snprintf(text, sizeof(text), "not reached: the request took too long and was ended, as its "
			 "statistics file %s does not respond", p->file);
	return (struct outcome){ EXIT_FAILED, strdup(text) };
}

static int print_all(const struct delivery *d, const struct stat_snapshot *s,
		     void (*print)(const struct stat_process *p, int status, char *text))
{
	int worst = EXIT_OK;

	for (size_t i = 0; i < s->count; i++) {
		const struct outcome o = outcome_of(d, &s->process[i]);

		if (o.text) {
			terminal_replace_controls(o.text);
			print(&s->process[i], o.status, o.text);
		}
		if (o.status && (!worst || o.status < worst))
			worst = o.status;
		free(o.text);
	}
	return worst;
}

int set_all(const struct stat_snapshot *s, const struct set_request *request, set_sender *send,
	    void (*print)(const struct stat_process *p, int status, char *text))
{
	struct delivery d = { .request = request, .send = send };
	const struct children c = { run_group, add_reports, &d };
	int status = EXIT_FAILED;

	if (prepare(&d, s)) {
		children_run(&c, d.ngroups);
		status = print_all(&d, s, print);
	} else {
		tool_error("set", "out of memory");
	}
	free(d.p);
	free(d.outcome);
	free(d.group);
	return status;
}
