/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a scenario under every setting, once or several times, and compares the results. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "tools/common/human.h"
#include "bench/common/interrupt.h"
#include "bench/common/output.h"
#include "bench/common/progress.h"
#include "tools/common/slurp.h"
#include "bench/ccbench/place/preload.h"

enum { FAILED = 1, USAGE = 2 }; /* exit statuses */

struct bench {
	const struct opts *o;
	const char *dir;         /* for temporary files */
	struct place *place;
	unsigned nruns;          /* settings times repeats; all settings, then all again */
	struct flow_list *flows; /* by repeat, since each has another seed */
	struct run *run;
	struct report *report;
	bool *reported;
	struct unloaded unloaded[MAX_HOSTS];
	bool calibrated;
	bench_reports *reports;  /* NULL: print and write the results */
	void *arg;
};

static int report_error(int status, const char *what, const char *why)
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

/* Check that each host has its device, before anything is started. */
static int check_devices(const struct opts *o)
{
	const char *hosts = getenv("LAB_HOSTS");
	struct ibv_device **list;
	int n = 0, status = 0;

	list = ibv_get_device_list(&n);
	for (unsigned host = 0; !status && host < opts_hosts(o); host++)
		if (!have_device(list, n, o->device[host]))
			status = report_error(USAGE, o->device[host], "no such RDMA device");
	if (status && hosts)
		fprintf(stderr, "ccbench: %u hosts are needed, the lab has %s\n", opts_hosts(o),
			hosts);
	else if (status)
		fprintf(stderr, "ccbench: there are %d devices; name them with -d or --devices\n",
			n);
	if (list)
		ibv_free_device_list(list);
	return status;
}

/* Warn that a preloaded shim, as by `ccshim run -- ccbench`, is removed for runs without control, and that
 * processes write no reports but those of ccbench. */
static void warn_of_environment(const struct opts *o)
{
	const char *preload = getenv("LD_PRELOAD");
	char without[PATH_MAX + 1024];

	if (getenv("CCSHIM_REPORT"))
		fprintf(stderr, "ccbench: CCSHIM_REPORT is not used: the file of --out_json has the reports\n");
	if (!preload)
		return;
	preload_value(preload, NULL, without, sizeof(without));
	for (unsigned i = 0; i < o->cc.n; i++)
		if (!o->cc.v[i].preload && strlen(without) < strlen(preload))
			fprintf(stderr, "ccbench: %s runs without the libccshim.so of LD_PRELOAD; "
				"--cc off, observe or an algorithm runs with it\n",
				o->cc.v[i].name);
}

/* Find the shim if any setting needs it. */
int bench_preload(const struct opts *o, char *preload, size_t len)
{
	char *full;
	unsigned i;

	for (i = 0; i < o->cc.n && !o->cc.v[i].preload; i++)
		;
	if (i == o->cc.n)
		return 0;
	if (!o->preload)
		return preload_find(preload, len) ?
		       report_error(USAGE, preload, "not there; name the shim with --preload") : 0;
	/* An absolute path, because workers may have another current directory. */
	full = realpath(o->preload, NULL);
	if (!full || access(full, R_OK)) {
		free(full);
		return report_error(USAGE, o->preload, strerror(errno));
	}
	snprintf(preload, len, "%s", full);
	free(full);
	return 0;
}

/* A name without a slash is in the directory of results. */
static const char *result_path(const struct opts *o, const char *name, char *buf, size_t len)
{
	if (strchr(name, '/') || !strcmp(o->out, "."))
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "%s/%s", o->out, name);
	return buf;
}

/* The given name, or the scenario's if a directory of results is set. */
static const char *file_name(const struct bench *b, const char *given, const char *suffix,
			     char *buf, size_t len)
{
	if (given || !b->o->out_given)
		return given;
	snprintf(buf, len, "%s.%s", b->o->kind->name, suffix);
	return buf;
}

/* Check that results can be written, before hours of runs. */
static int check_results(const struct bench *b)
{
	char file[PATH_MAX], name[32];
	const char *json = file_name(b, b->o->out_json, "json", name, sizeof(name));
	int error;

	if (b->o->out_given && mkdir(b->o->out, 0777) && errno != EEXIST)
		return report_error(USAGE, b->o->out, strerror(errno));
	if (!json)
		return 0;
	error = output_obstacle(result_path(b->o, json, file, sizeof(file)));
	return error ? report_error(USAGE, file, strerror(error)) : 0;
}

/* The directory to which ci/lab/lab copies results, as its caller named it; "" without one. NULL outside
 * of the lab. To be freed. */
static char *lab_results_dir(void)
{
	const char *dir = getenv("LAB_OUT");
	char file[PATH_MAX];

	if (!dir)
		return NULL;
	snprintf(file, sizeof(file), "%s.name", dir);
	return slurp(file);
}

/* Print the name of a file of results as the caller of the lab finds it. */
static void print_result(const struct bench *b, const char *file)
{
	const size_t len = strlen(b->o->out);
	const char *lab = getenv("LAB_OUT");
	char *outside = lab_results_dir();

	if (!outside || strcmp(b->o->out, lab) || strncmp(file, lab, len) || file[len] != '/')
		printf("%s\n", file);
	else if (*outside)
		printf("%s%s\n", outside, file + len);
	else
		printf("%s is not kept: ci/lab/lab was started without --out DIR\n", file + len + 1);
	free(outside);
}

static int write_results(struct bench *b)
{
	const struct opts *o = b->o;
	char file[PATH_MAX], json_name[32], plot_name[32];
	const char *json = file_name(b, o->out_json, "json", json_name, sizeof(json_name));
	const char *plot = file_name(b, o->plot, "png", plot_name, sizeof(plot_name));
	int status = 0;

	if (json || plot)
		printf("\n");
	if (json && json_write(result_path(o, json, file, sizeof(file)), b->report, o->cc.n,
				o->repeat, b->calibrated ? b->unloaded : NULL))
		status = FAILED;
	else if (json)
		print_result(b, file);
	/* A missing picture has been reported and is no failure. */
	if (plot && !plot_write(result_path(o, plot, file, sizeof(file)), b->report, o->cc.n))
		print_result(b, file);
	return status;
}

/* "timely", or "timely, repeat 2" if there are several. */
static const char *name_of(const struct run *r, char *buf, size_t len)
{
	if (r->o->repeat > 1)
		snprintf(buf, len, "%s, repeat %u", r->setting->name, r->repeat + 1);
	else
		snprintf(buf, len, "%s", r->setting->name);
	return buf;
}

static void progress(const struct bench *b, unsigned i, const char *what)
{
	char name[SETTING_LEN + 32];

	progress_clear();
	if (b->nruns > 1 || progress_watched())
		fprintf(stderr, "ccbench: run %u of %u, %s: %s\n", i + 1, b->nruns,
			name_of(&b->run[i], name, sizeof(name)), what);
}

/* Draw the progress of all runs. */
static void tick(const struct run *r, int64_t elapsed)
{
	const struct opts *o = r->o;
	/* The order is all settings, then all again. */
	unsigned i = r->repeat * o->cc.n + (unsigned)(r->setting - o->cc.v);
	char name[SETTING_LEN + 32];

	if (elapsed > 0)
		progress_bar(i, o->cc.n * o->repeat, name_of(r, name, sizeof(name)),
			     r->duration ? (double)elapsed / (double)r->duration : 0);
}

/* Report flows that failed; they change the exit status. */
static int flow_errors(const struct report *p)
{
	for (unsigned i = 0; i < p->nflows; i++)
		if (p->flow[i].errors)
			fprintf(stderr, "ccbench: %s: host %u, QP %u: %s\n", p->run->setting->name,
				p->flow[i].host, p->flow[i].qpn, p->flow[i].status);
	if (p->victim_failed)
		fprintf(stderr, "ccbench: %s: a QP of the latency class failed\n",
			p->run->setting->name);
	return p->errors || p->victim_failed;
}

static struct run plan(const struct bench *b, unsigned setting, unsigned repeat)
{
	const struct opts *o = b->o;

	return (struct run){
		.o = o, .setting = &o->cc.v[setting], .flows = &b->flows[repeat],
		.place = b->place, .seed = o->seed + repeat, .repeat = repeat,
		.duration = o->iterations ? 0 : o->duration, .warmup = o->warmup,
		.tick = progress_watched() ? tick : NULL,
	};
}

static int run_setting(struct bench *b, unsigned setting, unsigned repeat)
{
	unsigned at = repeat * b->o->cc.n + setting;
	struct run *r = &b->run[at];
	char rate[32], done[64];
	int failed;

	*r = plan(b, setting, repeat);
	progress(b, at, "started");
	if (run_execute(r)) {
		progress_clear();
		fprintf(stderr, "ccbench: %s: %s\n", r->setting->name, r->err);
		return r->exit_code;
	}
	if (report_make(&b->report[at], r, b->calibrated ? b->unloaded : NULL))
		return report_error(FAILED, r->setting->name, "no memory for the report");
	b->reported[at] = true;
	snprintf(done, sizeof(done), "done, %s",
		 human_rate(b->report[at].goodput, rate, sizeof(rate)));
	progress(b, at, done);
	failed = flow_errors(&b->report[at]);
	if (b->o->repeat == 1 && !b->reports)
		table_run(&b->report[at]);
	fflush(stdout);
	return failed;
}

static bool wants_unloaded(const struct bench *b)
{
	for (unsigned i = 0; i < b->flows->n; i++)
		if (b->flows->v[i].arrival == ARRIVE_POISSON)
			return true;
	return b->o->kind->slowdown;
}

/* Measure the empty network without the shim: the reference of slowdown. */
static int calibrate(struct bench *b)
{
	static const struct setting bare = { .name = "none", .mode = "enforce" };
	struct run r = plan(b, 0, 0);
	struct flow_list flows;
	int status = 0;

	if (!wants_unloaded(b))
		return 0;
	if (scenario_unloaded(b->flows, &flows, &r.duration))
		return report_error(FAILED, "empty network", "no memory");
	r.flows = &flows;
	r.setting = &bare;
	r.tick = NULL;
	r.warmup = 0;
	if (run_execute(&r)) {
		fprintf(stderr, "ccbench: empty network: %s\n", r.err);
		status = r.exit_code;
	} else {
		report_unloaded(b->unloaded, &r);
		b->calibrated = true;
	}
	run_free(&r);
	free(flows.v);
	return status;
}

/* Print all results, and write the files. */
static int show_results(struct bench *b)
{
	table_compare(b->report, b->o->cc.n, b->o->repeat);
	if (b->calibrated)
		table_slowdown(b->report, b->o->cc.n);
	return write_results(b);
}

static int run_all(struct bench *b)
{
	const struct opts *o = b->o;
	int status = calibrate(b), failed;

	if (status)
		return status;
	for (unsigned i = 0; i < b->nruns; i++) {
		failed = run_setting(b, i % o->cc.n, i / o->cc.n);
		if (failed && !b->reported[i])
			return failed; /* without its report, runs cannot be compared */
		status |= failed;
	}
	report_compare(b->report, o->cc.n, o->repeat);
	if (b->reports) {
		b->reports(b->arg, b->report, b->calibrated ? b->unloaded : NULL);
		return status;
	}
	failed = show_results(b);
	return failed ? failed : status;
}

/* Make the flows of each repeat, which depend on its seed. */
static int make_flows(struct bench *b)
{
	struct opts o = *b->o;

	for (unsigned i = 0; i < o.repeat; i++) {
		o.seed = b->o->seed + i;
		if (scenario_flows(&o, &b->flows[i]))
			return report_error(FAILED, o.kind->name, "no memory");
		if (b->flows[i].n > MAX_FLOWS)
			return report_error(USAGE, o.kind->name, "more than 4096 queue pairs");
	}
	return 0;
}

static int allocate(struct bench *b)
{
	b->nruns = b->o->cc.n * b->o->repeat;
	b->flows = calloc(b->o->repeat, sizeof(*b->flows));
	b->run = calloc(b->nruns, sizeof(*b->run));
	b->report = calloc(b->nruns, sizeof(*b->report));
	b->reported = calloc(b->nruns, sizeof(*b->reported));
	if (!b->flows || !b->run || !b->report || !b->reported)
		return report_error(FAILED, b->o->kind->name, "no memory");
	return make_flows(b);
}

static void release(struct bench *b)
{
	for (unsigned i = 0; b->run && b->report && i < b->nruns; i++) {
		report_free(&b->report[i]);
		if (b->run[i].flows)
			run_free(&b->run[i]);
	}
	for (unsigned i = 0; b->flows && i < b->o->repeat; i++)
		free(b->flows[i].v);
	free(b->flows);
	free(b->run);
	free(b->report);
	free(b->reported);
	if (b->place)
		b->place->release(b->place);
}

int bench_run(const struct opts *o, struct place *(*make)(const char *preload, const char *dir),
	      const char *preload, bench_reports *reports, void *arg)
{
	struct bench b = { .o = o, .reports = reports, .arg = arg };
	char dir[PATH_MAX];
	int status;

	if (!place_scratch(dir, sizeof(dir)))
		return report_error(FAILED, dir, strerror(errno));
	b.place = make(preload, dir);
	status = b.place ? allocate(&b) : report_error(FAILED, dir, "no memory");
	if (!status && !reports)
		status = check_results(&b);
	if (!status)
		status = run_all(&b);
	release(&b);
	rmdir(dir);
	return status;
}

int bench_prepare(const struct opts *o, char *preload, size_t len)
{
	const int status = bench_preload(o, preload, len);

	if (status || check_devices(o))
		return status ? status : USAGE;
	warn_of_environment(o);
	return 0;
}

int bench_main(int argc, char **argv)
{
	static struct opts o;
	char err[512], preload[PATH_MAX] = "";
	int status;

	switch (opts_parse(&o, 0, argc, argv, err, sizeof(err))) {
	case OPTS_HELP:
		opts_usage();
		return 0;
	case OPTS_BAD:
		fprintf(stderr, "ccbench: %s (see ccbench %s --help)\n", err, argv[0]);
		return USAGE;
	case OPTS_OK:
		break;
	}
	status = bench_prepare(&o, preload, sizeof(preload));
	if (status)
		return status;
	interrupt_setup();
	return bench_run(&o, place_local, preload, NULL, NULL);
}
