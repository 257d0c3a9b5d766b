/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/filename.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "config/job.h"

static const char escapes[] = "hjtrp%";

int ccs_filename_check(const char *name, char *err, size_t errlen)
{
	for (const char *p = strchr(name, '%'); p; p = strchr(p + 2, '%')) {
		if (p[1] && strchr(escapes, p[1]))
			continue;
		if ((unsigned char)p[1] > ' ' && (unsigned char)p[1] < 0x7f)
			snprintf(err, errlen, "there is no escape '%%%c'", p[1]);
		else
			snprintf(err, errlen, "nothing follows a %%");
		ccs_append(err, errlen, "; allowed: %%h (host), %%j (job), %%t (task), %%r (rank), "
			   "%%p (process ID), and %%%% for a percent sign");
		return -1;
	}
	return 0;
}

/* The text that replaces the escape; pid: a buffer for the process ID. */
static const char *value_of(char escape, const struct ccs_job *job, char *pid, size_t len)
{
	const char *const values[] = { job->host, job->id, job->task, job->rank, pid, "%" };
	const char *at = strchr(escapes, escape), *value = at ? values[at - escapes] : "%";

	snprintf(pid, len, "%ld", (long)getpid());
	return *value ? value : "none";
}

/* Append n bytes and a NUL at *at; -1: they do not fit. */
static int append(char *out, size_t len, size_t *at, const char *text, size_t n)
{
	if (n >= len - *at) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out + *at, text, n);
	*at += n;
	out[*at] = '\0';
	return 0;
}

int ccs_filename_expand(const char *name, const struct ccs_job *job, char *out, size_t len)
{
	char pid[24];
	size_t at = 0;

	while (*name) {
		const bool escape = *name == '%' && name[1];
		const char *text = escape ? value_of(name[1], job, pid, sizeof(pid)) : name;

		if (append(out, len, &at, text, escape ? strlen(text) : 1))
			return -1;
		name += escape ? 2 : 1;
	}
	return append(out, len, &at, "", 0);
}

int ccs_filename_escape(const char *name, char *out, size_t len)
{
	size_t at = 0;

	for (; *name; name++)
		if (append(out, len, &at, *name == '%' ? "%%" : name, *name == '%' ? 2 : 1))
			return -1;
	return append(out, len, &at, "", 0);
}

void ccs_filename_absolute(const char *name, char *out, size_t len)
{
	size_t at = 0;

	if (*name != '/' && getcwd(out, len - 1)) {
		at = strlen(out);
		out[at++] = '/';
	}
	if (at + strlen(name) < len)
		strcpy(out + at, name);
	else
		snprintf(out, len, "%s", name);
}
