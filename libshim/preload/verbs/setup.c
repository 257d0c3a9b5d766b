/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set-up of the process on first use (configuration, clock, feedback, trace), and its end (report,
 * trace, statistics).
 */
#include "config.h"
#include "preload/verbs/verbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/thread.h"
#include "config/environment.h"
#include "config/job.h"
#include "feedback/agent_client.h"
#include "observe/log.h"
#include "observe/stats.h"
#include "observe/trace.h"
#include "preload/control/agent_thread.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/datapath/linger.h"
#include "preload/object/clock.h"
#include "preload/object/last_thread.h"
#include "preload/object/shim.h"
#include "preload/report/report.h"
#include "preload/settings/set_request.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool in_setup;
static pid_t owner;

/* Threads that the child does not have may hold locks: the child uses no record of ours. */
static void mark_forked(void)
{
	atomic_store(&ccs_shim()->forked, true);
	ccs_trace_forget();
}

static void begin_trace(void)
{
	const struct ccs_options *o = &ccs_shim()->options;
	char head[900], job[CCS_JOB_TEXT];

	snprintf(head, sizeof(head), "ccshim %s: %s, process %ld%s, cc=%s", PACKAGE_VERSION,
		 program_invocation_short_name, (long)getpid(),
		 ccs_job_text(ccs_job(), job, sizeof(job)), o->cc);
	ccs_trace_setup(o->trace, o->trace_size, head);
}

static void __attribute__((constructor)) keep_environment(void)
{
	ccs_environment_keep(ccs_job_variables);
}

static void set_thread_cpus(void)
{
	cpu_set_t cpus;
	char err[1];

	if (!ccs_cpus_parse(ccs_shim()->options.thread_cpus, &cpus, err, sizeof(err)))
		ccs_thread_set_cpus(&cpus);
}

static void set_up(void)
{
	struct ccs_shim *shim = ccs_shim();
	const struct ccs_saved saved = ccs_save();

	in_setup = true;
	owner = getpid();
	shim->started_ns = ccs_now_ns();
	ccs_job(); /* before the application can change its environment */
	shim->handle_request = ccs_set_request_handle;
	shim->off = !ccs_policy_setup(&shim->options);
	set_thread_cpus();
	if (!shim->off) {
		shim->clock_cost_us = ccs_clock_cost_us();
		ccs_qp_feedback_setup(&shim->options);
	}
	if (!shim->off && shim->options.trace[0])
		begin_trace();
	if (pthread_atfork(NULL, NULL, mark_forked)) {
		ccs_log(CCS_LOG_WARN, "no memory; all traffic is uncontrolled");
		shim->off = true;
	}
	atomic_store_explicit(&shim->ready, true, memory_order_release);
	ccs_last_thread_watch();
	in_setup = false;
	ccs_done(saved, 0);
}

/*
 * A process that never used verbs has no output. No fork handler ran for a child of _Fork() or
 * clone(): its files are the parent's.
 */
static void __attribute__((destructor)) finish(void)
{
	const struct ccs_shim *shim = ccs_shim();

	if (!atomic_load(&shim->ready) || atomic_load(&shim->forked) || getpid() != owner)
		return;
	ccs_linger_at_exit();
	ccs_agent_client_finish();
	ccs_agent_thread_flush_log();
	ccs_report_log_summary();
	ccs_trace_finish();
	if (shim->options.report[0])
		ccs_report_write();
	ccs_stats_close();
}

bool ccs_shim_on(void)
{
	if (in_setup)
		return false;
	pthread_once(&once, set_up);
	return !ccs_shim()->off && !ccs_forked();
}
