/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to the shim through its mailbox; see mailbox.h. */
#include "mailbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <ccshim/stats.h>

static struct ccs_stats_mailbox *box;
static bool used;
static uint64_t asked;                    /* the generation of the last request */

/* As `ccshim set` does: one that sends requests to all processes must not write into ours. */
static void lock_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
}

/* Finds the shim's mapping of its statistics file, which is named after the process. */
bool mailbox_open(void)
{
	FILE *maps = box ? NULL : fopen("/proc/self/maps", "r");
	unsigned long at, offset;
	char line[512], name[32];

	snprintf(name, sizeof(name), "/%ld\n", (long)getpid());
	while (maps && fgets(line, sizeof(line), maps)) {
		const char *end = strrchr(line, '/');

		if (end && strcmp(end, name) == 0 && strstr(line, "/ccshim") &&
		    sscanf(line, "%lx-%*x %*s %lx", &at, &offset) == 2 && !offset) {
			box = &((struct ccs_stats_header *)at)->mailbox;
			*strchr(line, '\n') = '\0';
			lock_file(strchr(line, '/'));
		}
	}
	if (maps)
		fclose(maps);
	return box;
}

void mailbox_put(const char *text)
{
	snprintf(box->request, sizeof(box->request), "%s", text);
	asked = __atomic_load_n(&box->request_gen, __ATOMIC_RELAXED) | 1;
	__atomic_store_n(&box->request_gen, asked, __ATOMIC_RELEASE);
	used = true;
}

bool mailbox_answered(void)
{
	return __atomic_load_n(&box->answer_gen, __ATOMIC_ACQUIRE) == asked + 1;
}

/* The setting of the process, or the default. */
static void add(char *text, size_t len, const char *name, const char *variable, const char *def)
{
	const char *value = getenv(variable);
	const size_t at = strlen(text);

	snprintf(text + at, len - at, "%s=%s\n", name, value ? value : def);
}

bool mailbox_reset(void (*poll)(void))
{
	char text[CCS_STATS_TEXT] = "new\n";

	if (!used)
		return true;
	add(text, sizeof(text), "mode", "CCSHIM_MODE", "enforce");
	add(text, sizeof(text), "cc", "CCSHIM_CC", "timely");
	add(text, sizeof(text), "line_rate", "CCSHIM_LINE_RATE", "auto");
	add(text, sizeof(text), "max_rate", "CCSHIM_MAX_RATE", "inf");
	add(text, sizeof(text), "base_rtt", "CCSHIM_BASE_RTT", "auto");
	add(text, sizeof(text), "rtt_jitter", "CCSHIM_RTT_JITTER", "0");
	add(text, sizeof(text), "segment", "CCSHIM_SEGMENT", "auto");
	add(text, sizeof(text), "max_inflight", "CCSHIM_MAX_INFLIGHT", "auto");
	add(text, sizeof(text), "split", "CCSHIM_SPLIT", "y");
	mailbox_put(text);
	poll();
	used = false;
	return box->answer_gen == box->request_gen && !box->status;
}
