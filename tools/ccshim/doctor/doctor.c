/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim doctor: its command line, and two readings with the verdicts on them. */
#include "doctor.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/seconds.h"

static int print_help(void)
{
	printf("usage: ccshim doctor [OPTION...]\n"
	       "       ccshim doctor [--json] FILE...\n"
	       "       ccshim doctor --record PID\n\n"
	       "Reads the counters of RDMA devices, their interfaces, the agent and processes\n"
	       "under ccshim twice, and states what their increase means and what to do: too few\n"
	       "receives, lost packets, missing paths, drops, PAUSE frames, marks without CNPs,\n"
	       "slow ports, MTU and DSCP. Run it while the programs communicate.\n\n"
	       "With files of option failures: states why queue pairs failed, by the files of\n"
	       "both ends.\n\n"
	       "  -i, --interval SECONDS  time between the two readings                    [10]\n"
	       "  --priority N            the priority of RDMA traffic                      [3]\n"
	       "  --json                  JSON\n"
	       "  --record PID            such a file of a running process, to standard output\n"
	       "  --root DIR              judge the readings recorded in DIR/before, DIR/after\n"
	       "  -h, --help              this text\n\n"
	       "The status is 0 if no problem was found, 1 if one was, 2 for a usage error.\n");
	return EXIT_OK;
}

static void judge_port(struct doctor *d, const struct doctor_port *is)
{
	const size_t first = d->findings;
	struct doctor_pair p;
	int traffic = -1;

	if (doctor_make_pair(&p, d, is)) {
		doctor_judge_port(&p);
		doctor_judge_pauses(&p);
		doctor_judge_dcqcn(&p, first);
		doctor_judge_notes(&p);
		traffic = doctor_traffic(&p);
	}
	if (traffic > 0 || (traffic < 0 && !d->traffic && !is->is_member))
		d->traffic = traffic;
}

static int by_severity(const void *a, const void *b)
{
	return (int)((const struct doctor_finding *)b)->severity -
	       (int)((const struct doctor_finding *)a)->severity;
}

/* Move problems before notes; each keeps its order. */
static void sort_findings(struct doctor *d)
{
	for (size_t i = 1; i < d->findings; i++)
		for (size_t k = i; k && by_severity(&d->finding[k - 1], &d->finding[k]) > 0; k--) {
			const struct doctor_finding f = d->finding[k];

			d->finding[k] = d->finding[k - 1];
			d->finding[k - 1] = f;
		}
}

static void read_twice(struct doctor *d)
{
	double begin_s;

	doctor_read(&d->before, "", d->priority);
	begin_s = seconds_now(CLOCK_MONOTONIC);
	seconds_sleep(d->interval_s);
	doctor_read(&d->after, "", d->priority);
	d->interval_s = seconds_now(CLOCK_MONOTONIC) - begin_s;
}

/* False: one of the two directories does not exist. */
static bool load_readings(struct doctor *d, const char *root)
{
	struct doctor_reading *const to[] = { &d->before, &d->after };
	const char *const names[] = { "before", "after" };
	char path[PATH_MAX];
	struct stat st;

	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		if (stat(path, &st)) {
			tool_error("doctor", "%s: %s", path, strerror(errno));
			return false;
		}
		doctor_read(to[i], path, d->priority);
	}
	return true;
}

static int diagnose(struct doctor *d, const char *root, bool json)
{
	int status = EXIT_OK;

	if (!root)
		read_twice(d);
	else if (!load_readings(d, root))
		status = EXIT_USAGE;
	d->unix_s = seconds_now(CLOCK_REALTIME);
	d->traffic = d->after.ports ? 0 : -1;
	if (!status) {
		for (size_t i = 0; i < d->after.ports; i++)
			judge_port(d, &d->after.port[i]);
		doctor_judge_missing(d);
		doctor_judge_flows(d);
		sort_findings(d);
		status = doctor_count(d, DOCTOR_PROBLEM) ? EXIT_FAILED : EXIT_OK;
		if (!json)
			doctor_print(d);
		else if (!doctor_print_json(d))
			status = EXIT_FAILED;
	}
	doctor_free(&d->before);
	doctor_free(&d->after);
	free(d->finding);
	return status;
}

struct request {
	double interval_s;
	bool json;
	unsigned priority, pid;
	const char *root;
};

#define AT(member) .at = offsetof(struct request, member)

static const struct option_row options[] = {
	{ "interval", 'i', OPTION_NUMBER, AT(interval_s), .least = 0.1, .most = 86400, .with = "!record" },
	{ "json", 0, OPTION_FLAG, AT(json), .with = "!record" },
	{ "priority", 0, OPTION_COUNT, AT(priority), .last = 7, .with = "!record" },
	{ "record", 0, OPTION_COUNT, AT(pid), .first = 1, .last = INT_MAX },
	{ "root", 0, OPTION_TEXT, AT(root), .with = "!record" },
	{ 0 }
};

int cmd_doctor(int argc, char **argv)
{
	struct request rq = { .interval_s = 10, .priority = 3 };
	const int status = tool_options("doctor", print_help, options, &rq, argc, argv);
	struct doctor d = { .interval_s = rq.interval_s, .priority = rq.priority };

	if (status >= 0)
		return status;
	if (argv[optind] && (rq.root || rq.pid))
		return tool_refuse_operand("doctor", argv[optind]);
	if (rq.pid)
		return doctor_record((pid_t)rq.pid);
	if (argv[optind])
		return doctor_merge(argc - optind, argv + optind, rq.json);
	return diagnose(&d, rq.root, rq.json);
}
