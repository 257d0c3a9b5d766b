/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks from the files of a command and its libraries whether it can be preloaded and uses verbs. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tools/ccshim/command/command.h"
#include "tools/ccshim/shared/preload.h"

static void report_verbs(struct check *c, const struct command_uses *u, const char *name)
{
	if (*u->of)
		check_report(c, CHECK_OK, "verbs", NULL, "%s uses %s, whose plug-in %s leads to %s", name,
			  u->of, u->by, u->verbs);
	else if (*u->import)
		check_report(c, CHECK_OK, "verbs", NULL, "%s imports %s, whose %s leads to %s", name,
			  u->import, u->by, u->verbs);
	else if (strcmp(u->by, name) != 0)
		check_report(c, CHECK_OK, "verbs", NULL, "%s is linked to %s, by %s", name, u->verbs, u->by);
	else
		check_report(c, CHECK_OK, "verbs", NULL, "%s is linked to %s", name, u->verbs);
}

static void report_reach(struct check *c, const struct command_uses *u, const char *name, bool script)
{
	if (*u->verbs)
		report_verbs(c, u, name);
	else if (*u->copy)
		check_report(c, CHECK_FAIL, "verbs", "link it with the libibverbs of this host",
			  "%s contains a copy of libibverbs, which cannot be intercepted", u->copy);
	else if (*u->opens)
		check_report(c, CHECK_OK, "verbs", NULL, "%s names libibverbs.so: if it opens it, "
			  "its calls are intercepted", u->opens);
	else if (script)
		check_report(c, CHECK_OK, "verbs", NULL, "%s does not use verbs; libraries it loads and "
			  "programs it starts are controlled as well", name);
	else
		check_report(c, CHECK_WARN, "verbs", "check with 'ccshim run -o report=FILE' whether "
			  "it creates queue pairs", "neither %s nor its libraries refer to libibverbs",
			  name);
	if (*u->missing)
		check_report(c, CHECK_WARN, "verbs", "set LD_LIBRARY_PATH as for running it",
			  "a library that it needs is missing: %s", u->missing);
}

/* UCX has transports of direct verbs and of ordinary ones, and a setting to choose. */
static void report_direct(struct check *c, const struct command_uses *u)
{
	const char *tls = getenv("UCX_TLS");

	if (u->ucx_direct && !command_ucx_is_direct(tls))
		check_report(c, CHECK_OK, "direct", NULL, "UCX_TLS=%s: UCX uses ordinary verbs", tls);
	else if (u->ucx_direct)
		check_report(c, CHECK_WARN, "direct", "run it with 'ccshim run --adapt', or set "
			  "UCX_TLS=^rc_x,ud_x,dc_x", "UCX posts through direct verbs on mlx5 devices: "
			  "these requests are uncontrolled");
	if (*u->direct)
		check_report(c, CHECK_WARN, "direct", "configure it to use ordinary verbs, if it can",
			  "%s uses %s: requests posted through direct verbs are uncontrolled",
			  u->direct_by, u->direct);
}

static void report_kind(struct check *c, const struct command *k)
{
	const char *by = *k->started_by ? ", started by " : "";
	struct command_verdict v;

	if (command_judge(k, NULL, &v))
		check_report(c, v.certain ? CHECK_FAIL : CHECK_WARN, "command", v.remedy,
			     v.certain ? "%s: %s" : "%s: cannot tell: %s", k->path, v.text);
	else if (*k->script)
		check_report(c, CHECK_OK, "command", NULL, "a script, run by %s%s%s", k->path, by,
			  k->started_by);
	else
		check_report(c, CHECK_OK, "command", NULL, "%s, dynamically linked%s%s", k->path, by,
			  k->started_by);
}

void check_command(struct check *c, char *const *argv)
{
	struct command *k = malloc(sizeof(*k));
	enum preload_obstacle obstacle;
	struct command_uses uses;

	if (!k || !command_follow(k, argv)) {
		check_report(c, CHECK_FAIL, "command", k ? k->remedy : "", "%s", k ? k->problem : "no memory");
		free(k);
		return;
	}
	snprintf(c->program, sizeof(c->program), "%s", basename(k->path));
	report_kind(c, k);
	obstacle = preload_obstacle(k->path);
	if (obstacle != PRELOAD_FOREIGN && obstacle != PRELOAD_LIBC && !*k->unknown) {
		command_uses(&uses, k);
		report_reach(c, &uses, basename(k->path), *k->script || *k->module);
		report_direct(c, &uses);
	}
	free(k);
}
