/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host agent as a thread, ccshim-agent, if no agent runs on the host and this process has the
 * privileges for it. Other processes of the host connect to it by the same path. The client's
 * thread and the agent's share a descriptor table that is not the application's and has no stderr.
 * Their messages are queued until one of the application's threads logs them.
 */
#include "preload/control/agent_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/host/kernel_qps.h"
#include "base/lock.h"
#include "base/thread.h"
#include "config/agent_place.h"
#include "observe/log.h"

static struct {
	pthread_mutex_t lock;            /* guards agent, stopping and gave_way */
	struct ccs_agent *agent;         /* NULL: not in this process */
	bool stopping, gave_way;
	bool started;                    /* the thread is to be joined */
	pthread_t thread;
	struct ccs_kernel_qps qps;
} serving = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.qps = { .netlink.fd = -1 },
};

static struct {
	struct ccs_lock lock;
	atomic_bool any;
	char text[4096];                 /* lines; what does not fit is dropped */
} pending_log;

static void queue_message(void *arg, const char *sentence)
{
	size_t len;

	(void)arg;
	ccs_lock(&pending_log.lock);
	len = strlen(pending_log.text);
	snprintf(pending_log.text + len, sizeof(pending_log.text) - len, "%s\n", sentence);
	atomic_store(&pending_log.any, true);
	ccs_unlock(&pending_log.lock);
}

void ccs_agent_thread_flush_log(void)
{
	char text[sizeof(pending_log.text)], *rest = NULL;

	if (!atomic_load(&pending_log.any))
		return;
	ccs_lock(&pending_log.lock);
	memcpy(text, pending_log.text, sizeof(text));
	*pending_log.text = '\0';
	atomic_store(&pending_log.any, false);
	ccs_unlock(&pending_log.lock);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		ccs_log(CCS_LOG_INFO, "agent: %s", line);
}

/* Called each time that the client finds no agent; reported once. */
static void report_refusal(const char *why)
{
	static bool said;
	char text[600];

	if (said)
		return;
	said = true;
	snprintf(text, sizeof(text), "cannot run in this process: %s", why);
	queue_message(NULL, text);
}

/* The client of this process needs no check. */
static int check_owner(void *arg, const struct ccs_ipc_add *qp, pid_t pid, uid_t uid)
{
	return pid == getpid() ? 0 : ccs_kernel_qps_check_owner(arg, qp, pid, uid);
}

static void close_agent(void)
{
	ccs_agent_close(serving.agent);
	ccs_netlink_close(&serving.qps.netlink);
	serving.agent = NULL;
}

/* Loads the kernel's list of devices, and its module if need be, before the first mark. */
static void prepare_checks(void)
{
	char device[64];

	ccs_kernel_qps_check(&serving.qps, 0, device);
}

/* Another agent takes its place: ccshimd, or systemd for it. */
static void give_way(void)
{
	close_agent();
	serving.gave_way = true;
	queue_message(NULL, "no longer runs in this process: its socket was removed");
}

static void *run_agent(void *arg)
{
	prctl(PR_SET_NAME, "ccshim-agent");
	ccs_agent_run(serving.agent);
	pthread_mutex_lock(&serving.lock);
	if (!serving.stopping)
		give_way();
	pthread_mutex_unlock(&serving.lock);
	return arg;
}

/* 0, or the errno with which this process must not run one. */
static int check_state(void)
{
	int error;

	pthread_mutex_lock(&serving.lock);
	error = serving.gave_way ? EPERM : serving.agent ? EALREADY : 0;
	pthread_mutex_unlock(&serving.lock);
	return error;
}

int ccs_agent_thread_start(const char *path)
{
	struct ccs_agent_config config = ccs_agent_defaults();
	char err[512] = "";
	int error = check_state();

	if (error)
		return error;
	config.socket = path;
	config.capture = true;
	config.gives_way = true;
	config.check_owner = check_owner;
	config.check_qp = ccs_kernel_qps_check;
	config.count_qps = ccs_kernel_qps_count;
	config.check_arg = &serving.qps;
	config.warn = queue_message;
	serving.agent = ccs_agent_open(&config, err, sizeof(err));
	error = serving.agent ? 0 : errno;
	if (error) {
		report_refusal(err);
	} else {
		prepare_checks();
		error = ccs_thread_create(&serving.thread, run_agent, NULL);
	}
	serving.started = !error;
	if (error && serving.agent)
		close_agent();
	return error == EACCES ? EPERM : error;
}

int ccs_agent_thread_start_auto(const char *path)
{
	const char *why = ccs_agent_place_obstacle("");

	if (!why)
		return ccs_agent_thread_start(path);
	report_refusal(why);
	return EPERM;
}

void ccs_agent_thread_stop(void)
{
	pthread_mutex_lock(&serving.lock);
	serving.stopping = true;
	if (serving.agent)
		ccs_agent_stop(serving.agent);
	pthread_mutex_unlock(&serving.lock);
	if (serving.started)
		pthread_join(serving.thread, NULL);
	if (serving.agent)
		close_agent();
}
