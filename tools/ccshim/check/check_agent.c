/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that the host agent runs and works, if the algorithm needs one. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "tools/common/ask_agent.h"
#include "tools/ccshim/shared/preload.h"
#include "tools/common/program.h"
#include "check.h"

/* The value of a member of the outermost object of the status: the text after "key": */
static const char *find_member(const char *status, const char *key)
{
	char line[64];
	const char *at;
	const int n = snprintf(line, sizeof(line), "\n  \"%s\": ", key);

	at = strstr(status, line);
	return at ? at + n : "";
}

/* Whether this host forwards packets, as for containers. */
static bool forwards(void)
{
	char text[2];

	return ccs_read_file("/proc/sys/net/ipv4/ip_forward", text, sizeof(text)) && *text == '1';
}

/* Users' sockets and containers can send in the place of this host. The path of the script, which
 * needs root, as does reading the rules. */
static void report_firewall(struct check *c)
{
	char path[PATH_MAX + 32], *const argv[] = { path, (char *)"check", NULL };
	int status;

	preload_libexec("ccshim-firewall", path, sizeof(path));
	status = program_run(path, argv, -1, true, NULL);
	if (status < 0)
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		check_report(c, CHECK_OK, "firewall", NULL, "users and containers cannot send in the place of "
			  "this host");
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		check_report(c, forwards() ? CHECK_WARN : CHECK_OK, "firewall", "apply the rules of ccshimd(8): ccshim-firewall apply",
			  "users, and containers behind NAT, can send marks and messages in the place of this host");
}

/* Messages that did not come from the agents' port. */
static void report_ports(struct check *c, const char *status)
{
	const char *refused = strstr(status, "\"refused\": {"), *port = refused ? strstr(refused, "\"port\": ") : NULL;
	const unsigned long long n = port ? strtoull(port + strlen("\"port\": "), NULL, 10) : 0;

	if (n)
		check_report(c, CHECK_WARN, "ports", "keep NAT from the agents' UDP port (ccshim-firewall apply on "
			  "the sending hosts), or use a key", "%llu messages were refused, as they did not come from "
			  "the agents' UDP port: NAT changed it, or programs of users sent them", n);
}

static void report_status(struct check *c, const char *socket, const char *status)
{
	const char *capturing = find_member(status, "capturing");
	const unsigned long long pid = strtoull(find_member(status, "pid"), NULL, 10);
	const unsigned long long seen = strtoull(find_member(status, "ce_packets"), NULL, 10);
	const unsigned long long lost = strtoull(find_member(status, "ce_dropped"), NULL, 10);
	const unsigned long version = strtoul(find_member(status, "wire_version"), NULL, 10);

	if (!*capturing)
		check_report(c, CHECK_WARN, "agent", "install ccshimd and ccshim of one version",
			  "the reply from %s is not understood", socket);
	else if (*capturing != 't')
		check_report(c, CHECK_WARN, "agent", "start ccshimd without --no-capture if this host "
			  "also receives", "%s, process %llu, version %lu, receives CNPs but sends none",
			  socket, pid, version);
	else if (lost)
		check_report(c, CHECK_WARN, "agent", "give it more CPU time", "%s, process %llu, version %lu, has lost %llu marked "
			  "packets and captured %llu", socket, pid, version, lost, seen);
	else
		check_report(c, CHECK_OK, "agent", NULL, "%s, process %llu, version %lu, sends and "
			  "receives CNPs; %llu marked packets captured, none lost", socket, pid, version,
			  seen);
}

static void report_missing(struct check *c, const char *socket, int error)
{
	if (error == ENOENT || error == ECONNREFUSED)
		check_report(c, CHECK_WARN, "agent", "start ccshimd here and on the peers; until then "
			  "the algorithm of option fallback is used", "no agent runs at %s", socket);
	else
		check_report(c, CHECK_WARN, "agent", error == EPROTONOSUPPORT
			  ? "install ccshimd and ccshim of one version"
			  : "restart it, or check the permissions of its socket",
			  "no reply from %s: %s", socket, strerror(error));
}

void check_agent(struct check *c, const struct ccs_options *o)
{
	char path[PATH_MAX], *status;

	if (strcmp(o->agent, "off") == 0) {
		check_report(c, CHECK_WARN, "agent", "set agent to the path of its socket",
			  "agent=off: the algorithm gets no feedback from an agent");
		return;
	}
	snprintf(path, sizeof(path), "%s%s", c->root, o->agent);
	status = ask_agent(path);
	if (status) {
		report_status(c, path, status);
		report_ports(c, status);
		if (!geteuid() && !*c->root)
			report_firewall(c);
	} else {
		report_missing(c, path, errno);
	}
	free(status);
}
