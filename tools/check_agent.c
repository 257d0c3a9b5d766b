/* SPDX-License-Identifier: BSD-2-Clause */
/* The host agent, where the algorithm needs one: whether it is there, and does its part. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ask_agent.h"
#include "tools/capabilities.h"
#include "tools/check.h"

/* The value of a member of the status's outermost object: the text after "key": */
static const char *member(const char *status, const char *key)
{
	char line[64];
	const char *at;
	const int n = snprintf(line, sizeof(line), "\n  \"%s\": ", key);

	at = strstr(status, line);
	return at ? at + n : "";
}

static void say_status(struct check *c, const char *socket, const char *status)
{
	const char *capturing = member(status, "capturing");
	const unsigned long long pid = strtoull(member(status, "pid"), NULL, 10);
	const unsigned long long seen = strtoull(member(status, "ce_packets"), NULL, 10);
	const unsigned long long lost = strtoull(member(status, "ce_dropped"), NULL, 10);
	const unsigned long version = strtoul(member(status, "version"), NULL, 10);

	if (!*capturing)
		check_say(c, CHECK_WARN, "agent", "install ccshimd and ccshim of one version",
			  "what answers at %s makes no sense", socket);
	else if (*capturing != 't')
		check_say(c, CHECK_WARN, "agent", "start ccshimd without --no-capture if this host "
			  "receives, too", "%s, process %llu, version %lu, takes CNPs and sends none",
			  socket, pid, version);
	else if (lost)
		check_say(c, CHECK_WARN, "agent", "name the interfaces by ccshimd --interface, or "
			  "give it a processor", "%s, process %llu, version %lu, has lost %llu marked "
			  "packets and seen %llu", socket, pid, version, lost, seen);
	else
		check_say(c, CHECK_OK, "agent", NULL, "%s, process %llu, version %lu, sends and "
			  "takes CNPs; %llu marked packets seen, none lost", socket, pid, version,
			  seen);
}

/* Whether a process of ours may be the agent itself. */
static bool may_serve(const char *socket)
{
	char path[PATH_MAX], *dir;

	snprintf(path, sizeof(path), "%s", socket);
	dir = dirname(path);
	if (access(dir, F_OK) != 0)
		dir = dirname(dir); /* it would be made */
	return has_capability(CAP_NET_RAW) && access(dir, W_OK) == 0;
}

static void say_missing(struct check *c, const char *socket, bool thread, int error)
{
	const bool absent = error == ENOENT || error == ECONNREFUSED;

	if (absent && thread && may_serve(socket))
		check_say(c, CHECK_OK, "agent", NULL, "there is none at %s: the command's process "
			  "may be one, and will", socket);
	else if (absent)
		check_say(c, CHECK_WARN, "agent", "start ccshimd here and on the peers; without, "
			  "on_signal_loss says what happens", "there is none at %s", socket);
	else
		check_say(c, CHECK_WARN, "agent", error == EPROTONOSUPPORT
			  ? "install ccshimd and ccshim of one version"
			  : "start it again, or see to its socket",
			  "it cannot be asked at %s: %s", socket, strerror(error));
}

void check_agent(struct check *c, const struct ccs_options *o)
{
	char path[PATH_MAX], *status;

	if (strcmp(o->agent, "off") == 0) {
		check_say(c, CHECK_WARN, "agent", "say agent=PATH", "agent=off: no signal comes");
		return;
	}
	snprintf(path, sizeof(path), "%s%s", c->root, o->agent);
	status = ask_agent(path);
	if (status)
		say_status(c, path, status);
	else
		say_missing(c, path, o->agent_thread, errno);
	free(status);
}
