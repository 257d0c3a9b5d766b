/* SPDX-License-Identifier: BSD-2-Clause */
/* Says which statistics a snapshot lacks, and why. */
#include "stat.h"

#include <inttypes.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/terminal.h"

static void warn_of_ambiguous(const char *cmd, const struct stat_process *p)
{
	char file[sizeof(p->file)], other[sizeof(p->other_file)];

	snprintf(file, sizeof(file), "%s", p->file);
	snprintf(other, sizeof(other), "%s", p->other_file);
	terminal_replace_controls(file);
	terminal_replace_controls(other);
	tool_error(cmd, "two files claim to be the statistics of process %" PRIu64 ": %s and %s; remove "
		   "the wrong one. No request is sent to either", p->h.pid, file, other);
}

void stat_warn_of_omissions(const char *cmd, const struct stat_snapshot *s)
{
	static bool warned;
	unsigned ambiguous = 0;

	for (size_t i = 0; !warned && i < s->count; i++)
		if (s->process[i].ambiguous && ambiguous++ < 10)
			warn_of_ambiguous(cmd, &s->process[i]);
	if (warned || !(s->denied + s->unreadable + s->invisible + ambiguous || *s->stuck))
		return;
	warned = true;
	if (s->denied)
		tool_error(cmd, "processes of other users are not shown; this requires root");
	if (s->invisible)
		tool_error(cmd, "%u statistics file%s not shown: of processes in PID namespaces that "
			   "are not visible here; run it on the host, as root", s->invisible,
			   s->invisible == 1 ? " is" : "s are");
	if (s->unreadable)
		tool_error(cmd, "%u statistics file%s skipped: damaged, of another version of "
			   "ccshim, or of a user with too many", s->unreadable,
			   s->unreadable == 1 ? " is" : "s are");
	if (*s->stuck)
		tool_error(cmd, "statistics files of these users or containers do not respond, and are left "
			   "out: %s. Look for a file system that hangs there", s->stuck);
}
