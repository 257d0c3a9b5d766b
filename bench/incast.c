/* SPDX-License-Identifier: BSD-2-Clause */
/* N senders to one receiver and a victim, once under every setting, compared. */
#include "incast.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "human.h"
#include "interrupt.h"
#include "report.h"

enum { FAILED = 1, USAGE = 2 }; /* exit statuses */

struct incast {
	struct opts o;
	char preload[PATH_MAX];
	char dir[PATH_MAX];      /* of temporary files */
	struct run *run;         /* one per setting */
	struct report *report;
	unsigned nreports;
};

static int complain(int status, const char *what, const char *why)
{
	fprintf(stderr, "ccbench: %s: %s\n", what, why);
	return status;
}

static bool have_device(struct ibv_device **list, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return true;
	return false;
}

/* Before anything is started: each host has its device. */
static int check_devices(const struct opts *o)
{
	const char *hosts = getenv("LAB_HOSTS");
	struct ibv_device **list;
	unsigned host;
	int n = 0, status = 0;

	list = ibv_get_device_list(&n);
	for (host = 0; !status && host < opts_hosts(o); host++)
		if (!have_device(list, n, o->device[host]))
			status = complain(USAGE, o->device[host], "no such RDMA device");
	if (status && hosts)
		fprintf(stderr, "ccbench: %u hosts are needed (receiver, %u senders%s), "
			"the lab has %s\n", opts_hosts(o), o->senders, o->victim ? ", victim" : "", hosts);
	else if (status)
		fprintf(stderr, "ccbench: there are %d devices; name them with -d or --devices\n",
			n);
	if (list)
		ibv_free_device_list(list);
	return status;
}

/* The shim must be there if any setting wants it. */
static int check_preload(struct incast *b)
{
	unsigned i;

	for (i = 0; i < b->o.cc.n && !b->o.cc.v[i].preload; i++)
		;
	if (i == b->o.cc.n)
		return 0;
	if (!b->o.preload)
		return preload_find(b->preload, sizeof(b->preload)) ?
		       complain(USAGE, b->preload, "not there; name the shim with --preload") : 0;
	/* The workers' loader must find it wherever they are. */
	if (!realpath(b->o.preload, b->preload) || access(b->preload, R_OK))
		return complain(USAGE, b->o.preload, strerror(errno));
	return 0;
}

/* A name without a slash goes into the results' directory. */
static const char *place(const struct opts *o, const char *name, char *buf, size_t len)
{
	if (strchr(name, '/') || !strcmp(o->out, "."))
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "%s/%s", o->out, name);
	return buf;
}

static int write_results(struct incast *b)
{
	const struct opts *o = &b->o;
	const char *json = o->out_json ? o->out_json : o->out_given ? "incast.json" : NULL;
	const char *plot = o->plot ? o->plot : o->out_given ? "incast.png" : NULL;
	char file[PATH_MAX];
	int status = 0;

	if (o->out_given && mkdir(o->out, 0777) && errno != EEXIST)
		return complain(USAGE, o->out, strerror(errno));
	if (json || plot)
		printf("\n");
	if (json && json_write(place(o, json, file, sizeof(file)), b->report, b->nreports))
		status = FAILED;
	else if (json)
		printf("%s\n", file);
	/* A picture is a convenience: its absence has been said and is no failure. */
	if (plot && !plot_write(place(o, plot, file, sizeof(file)), b->report, b->nreports))
		printf("%s\n", file);
	return status;
}

static void progress(const struct incast *b, unsigned i, const char *what)
{
	if (b->o.cc.n > 1 || isatty(STDERR_FILENO))
		fprintf(stderr, "ccbench: run %u of %u, %s: %s\n", i + 1, b->o.cc.n,
			b->o.cc.v[i].name, what);
}

/* A flow that failed is in the figures, and in the exit status. */
static int flow_errors(const struct report *p)
{
	unsigned i;

	for (i = 0; i < p->run->nflows; i++)
		if (p->flow[i].errors)
			fprintf(stderr, "ccbench: %s: host %u, QP %u: %s\n", p->run->setting->name,
				p->flow[i].host, p->flow[i].qpn, p->flow[i].status);
	if (p->victim_failed)
		fprintf(stderr, "ccbench: %s: the victim's QP failed\n", p->run->setting->name);
	return p->errors || p->victim_failed;
}

static int run_one(struct incast *b, unsigned i)
{
	struct run *r = &b->run[i];
	char rate[32], done[64];
	int failed;

	*r = (struct run){ .o = &b->o, .setting = &b->o.cc.v[i], .preload = b->preload,
			   .dir = b->dir };
	progress(b, i, "started");
	if (run_execute(r)) {
		fprintf(stderr, "ccbench: %s: %s\n", r->setting->name, r->err);
		return r->exit_code;
	}
	if (report_make(&b->report[i], r))
		return complain(FAILED, r->setting->name, "no memory for the report");
	b->nreports++;
	snprintf(done, sizeof(done), "done, %s",
		 human_rate(b->report[i].goodput, rate, sizeof(rate)));
	progress(b, i, done);
	failed = flow_errors(&b->report[i]);
	table_run(&b->report[i]);
	fflush(stdout);
	return failed;
}

static int run_all(struct incast *b)
{
	int status = 0, failed;
	unsigned i;

	for (i = 0; i < b->o.cc.n; i++) {
		failed = run_one(b, i);
		if (failed && b->nreports <= i)
			return failed; /* no figures: nothing to go on with */
		status |= failed;
	}
	table_compare(b->report, b->nreports);
	failed = write_results(b);
	return failed ? failed : status;
}

static int with_directory(struct incast *b)
{
	const char *tmp = getenv("TMPDIR");
	int status;

	snprintf(b->dir, sizeof(b->dir), "%s/ccbench.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(b->dir))
		return complain(FAILED, b->dir, strerror(errno));
	interrupt_setup();
	status = run_all(b);
	rmdir(b->dir);
	return status;
}

int incast_main(int argc, char **argv)
{
	static struct incast b;
	char err[512];
	unsigned i;
	int status;

	switch (opts_parse(&b.o, argc, argv, err, sizeof(err))) {
	case OPTS_HELP:
		opts_usage();
		return 0;
	case OPTS_BAD:
		fprintf(stderr, "ccbench: %s (see ccbench incast --help)\n", err);
		return USAGE;
	case OPTS_OK:
		break;
	}
	status = check_preload(&b);
	if (status || (status = check_devices(&b.o)))
		return status;
	b.run = calloc(b.o.cc.n, sizeof(*b.run));
	b.report = calloc(b.o.cc.n, sizeof(*b.report));
	status = b.run && b.report ? with_directory(&b) : FAILED;
	for (i = 0; b.run && b.report && i < b.o.cc.n; i++) {
		report_free(&b.report[i]);
		run_free(&b.run[i]);
	}
	free(b.run);
	free(b.report);
	return status;
}
