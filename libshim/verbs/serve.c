/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host agent as a thread, ccshim-agent, where none runs and this process may be one.
 * Other processes of the host find it by the same path. All of it happens in the client's
 * thread and the agent's own, which share a table of descriptors that is not the
 * application's: its stderr is not in there, so what they have to say waits for one of its
 * threads to say it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/owner.h"
#include "runtime/log.h"
#include "verbs/shim.h"

static struct {
	struct ccs_agent *agent;         /* NULL: not here */
	pthread_t thread;
	struct ccs_owner owner;
} serving = { .owner = CCS_OWNER_CLOSED };

static struct {
	struct ccs_lock lock;
	atomic_bool any;
	char text[4096];                 /* lines; more than that is too much to say */
} unsaid;

static void say(void *arg, const char *sentence)
{
	size_t len;

	(void)arg;
	ccs_lock(&unsaid.lock);
	len = strlen(unsaid.text);
	snprintf(unsaid.text + len, sizeof(unsaid.text) - len, "%s\n", sentence);
	atomic_store(&unsaid.any, true);
	ccs_unlock(&unsaid.lock);
}

void ccs_serve_speak(void)
{
	char text[sizeof(unsaid.text)], *rest = NULL;

	if (!atomic_load(&unsaid.any))
		return;
	ccs_lock(&unsaid.lock);
	memcpy(text, unsaid.text, sizeof(text));
	*unsaid.text = '\0';
	atomic_store(&unsaid.any, false);
	ccs_unlock(&unsaid.lock);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		ccs_log(CCS_LOG_INFO, "agent: %s", line);
}

/* Each time that the client looks for an agent in vain; told once. */
static void say_why_not(const char *why)
{
	static bool said;
	char text[600];

	if (said)
		return;
	said = true;
	snprintf(text, sizeof(text), "none in this process: %s", why);
	say(NULL, text);
}

/* What our own client says is so. */
static int check_owner(void *arg, const struct ccs_local_add *qp, pid_t pid)
{
	return pid == getpid() ? 0 : ccs_owner_check(arg, qp, pid);
}

static void *run(void *arg)
{
	prctl(PR_SET_NAME, "ccshim-agent");
	ccs_agent_run(serving.agent);
	return arg;
}

int ccs_serve_start(const char *path)
{
	struct ccs_agent_config config = ccs_agent_defaults();
	char err[512] = "";
	int error;

	if (serving.agent)
		return EALREADY;
	config.socket = path;
	config.capture = true;
	config.owner = check_owner;
	config.owner_arg = &serving.owner;
	config.say = say;
	serving.agent = ccs_agent_open(&config, err, sizeof(err));
	error = serving.agent ? 0 : errno;
	if (error)
		say_why_not(err);
	else
		error = pthread_create(&serving.thread, NULL, run, NULL);
	if (error && serving.agent) {
		ccs_agent_close(serving.agent);
		serving.agent = NULL;
	}
	return error == EACCES ? EPERM : error;
}

void ccs_serve_stop(void)
{
	if (!serving.agent)
		return;
	ccs_agent_stop(serving.agent);
	pthread_join(serving.thread, NULL);
	ccs_agent_close(serving.agent);
	ccs_owner_close(&serving.owner);
	serving.agent = NULL;
}
