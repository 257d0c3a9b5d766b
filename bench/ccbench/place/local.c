/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the workers as processes of this machine. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/interrupt.h"
#include "bench/ccbench/scenario/opts.h"
#include "place.h"
#include "bench/common/slurp.h"
#include "bench/ccbench/place/spawn.h"

struct local {
	struct place place;     /* first member, for casts */
	const char *preload;
	struct child child[MAX_HOSTS];
};

static struct child *child_of(struct place *p, unsigned host)
{
	return &((struct local *)p)->child[host];
}

static void report_name(const struct place *p, unsigned host, char *buf, size_t len)
{
	snprintf(buf, len, "%s/%u.json", p->dir, host);
}

static int local_start(struct place *p, unsigned host, const struct setting *s)
{
	char report[PATH_MAX];

	report_name(p, host, report, sizeof(report));
	return spawn_worker(child_of(p, host), s, ((struct local *)p)->preload, report);
}

static int64_t local_offset(struct place *p, unsigned host)
{
	(void)p;
	(void)host;
	return 0;
}

static int local_send(struct place *p, unsigned host, uint32_t type, const void *data, size_t len)
{
	return xchg_send(&child_of(p, host)->x, type, data, len);
}

static int local_wait(struct place *p, unsigned hosts, int64_t ns)
{
	struct xchg x[MAX_HOSTS];
	unsigned i;

	for (i = 0; i < hosts; i++)
		x[i] = child_of(p, i)->x;
	return xchg_wait_any(x, hosts, ns, interrupt_mask());
}

static int local_recv(struct place *p, unsigned host, struct xchg_msg *m)
{
	return xchg_recv(&child_of(p, host)->x, m);
}

static int reap(struct place *p, unsigned host, char *err, size_t errlen)
{
	return spawn_reap(child_of(p, host), err, errlen);
}

static void end_now(struct place *p, unsigned host)
{
	spawn_kill(child_of(p, host));
}

static char *report(struct place *p, unsigned host)
{
	char name[PATH_MAX], *text;

	report_name(p, host, name, sizeof(name));
	text = slurp(name);
	remove(name);
	return text;
}

static void release(struct place *p)
{
	free(p);
}

char *place_scratch(char *dir, size_t len)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, len, "%s/ccbench.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	return mkdtemp(dir);
}

struct place *place_local(const char *preload, const char *dir)
{
	struct local *l = calloc(1, sizeof(*l));
	unsigned host;

	if (!l)
		return NULL;
	l->place = (struct place){
		.start = local_start, .offset = local_offset,
		.send = local_send, .wait = local_wait, .recv = local_recv,
		.end = reap, .kill = end_now, .report = report, .release = release, .lead = 5000000,
		.dir = dir,
	};
	l->preload = preload;
	for (host = 0; host < MAX_HOSTS; host++)
		l->child[host].x.fd = -1;
	return &l->place;
}
