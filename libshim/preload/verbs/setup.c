/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set-up of the process on first use (configuration, clock, feedback, trace), and its end (report,
 * trace, statistics).
 */
#include "config.h"
#include "preload/verbs/verbs.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/loaded.h"
#include "config/environment.h"
#include "config/job.h"
#include "feedback/agent_client.h"
#include "observe/log.h"
#include "observe/stats.h"
#include "observe/trace.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/datapath/linger.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/object/clock.h"
#include "preload/object/last_thread.h"
#include "preload/object/shim.h"
#include "preload/report/recorder.h"
#include "preload/report/report.h"
#include "preload/settings/set_request.h"

#pragma weak gnu_get_libc_version
extern void __msan_init(void) __attribute__((weak, visibility("default")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool in_setup;
static pid_t owner;

/* Threads that the child does not have may hold locks: the child uses no record of ours. */
static void mark_forked(void)
{
	atomic_store(&ccs_shim()->forked, true);
	ccs_ptrmap_hide(&ccs_shim()->qps);
	ccs_ptrmap_hide(&ccs_shim()->cqs);
	ccs_trace_forget();
}

static void begin_trace(void)
{
	const struct ccs_options *o = &ccs_shim()->options;
	char head[900], job[CCS_JOB_TEXT];

	snprintf(head, sizeof(head), "ccshim %s: %s, process %ld, host %s%s, cc=%s", PACKAGE_VERSION,
		 program_invocation_short_name, (long)getpid(), ccs_job()->host,
		 ccs_job_text(ccs_job(), job, sizeof(job)), o->cc);
	ccs_trace_setup(o->trace, o->trace_size, head);
}

static void __attribute__((constructor)) keep_environment(void)
{
	ccs_environment_keep(ccs_job_variables);
}

/* No fork handler ran for a child of _Fork() or clone(): its files are the parent's. */
static bool is_owner(void)
{
	const struct ccs_shim *shim = ccs_shim();

	return atomic_load(&shim->ready) && !atomic_load(&shim->forked) && getpid() == owner;
}

/* A process that never used verbs has no output. */
static void finish(void)
{
	const struct ccs_shim *shim = ccs_shim();

	if (!is_owner())
		return;
	ccs_linger_at_exit();
	ccs_agent_client_finish();
	ccs_trace_finish();
	ccs_recorder_finish();
	if (shim->options.report[0])
		ccs_report_write();
	ccs_stats_close();
}

/*
 * exit() calls finish() before any destructor of a library, because the functions that it calls may
 * belong to another preload. Handlers that the application registered before, and destructors, may
 * still post.
 */
static void __attribute__((destructor)) linger(void)
{
	if (ccs_pacer_thread_waiting() && is_owner())
		ccs_linger_at_exit();
}

/*
 * The shim can be loaded into a program of another C library (musl), but it is built for glibc.
 * MemorySanitizer ends a program for memory that code without its instrumentation has written.
 */
static bool is_unsupported(void)
{
	const char *reason = !gnu_get_libc_version ? "its C library is not glibc"
						   : __msan_init ? "it has MemorySanitizer" : NULL;

	if (reason)
		ccs_log_once(CCS_LOG_WARN, "this program's traffic is uncontrolled, because %s", reason);
	return reason;
}

/* pthread_atfork() of glibc is a part of each library, and calls this function. */
static int at_fork(void (*child)(void))
{
	extern void *__dso_handle;
	int (*add)(void (*)(void), void (*)(void), void (*)(void), void *);

	*(void **)&add = ccs_loaded_find_libc("__register_atfork");
	return add ? add(NULL, NULL, child, __dso_handle) : ENOSYS;
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
	if (!shim->off) {
		shim->clock_cost_us = ccs_clock_cost_us();
		ccs_qp_feedback_setup(&shim->options);
	}
	if (!shim->off && shim->options.trace[0])
		begin_trace();
	if (at_fork(mark_forked) || atexit(finish)) {
		ccs_log(CCS_LOG_WARN, "no memory; all traffic is uncontrolled");
		shim->off = true;
	}
	atomic_store_explicit(&shim->ready, true, memory_order_release);
	ccs_last_thread_watch();
	in_setup = false;
	ccs_done(saved, 0);
}

bool ccs_shim_on(void)
{
	if (in_setup || is_unsupported())
		return false;
	pthread_once(&once, set_up);
	return !ccs_shim()->off && !ccs_forked();
}
