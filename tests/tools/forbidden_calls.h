/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FORBIDDEN_CALLS_H
#define TESTS_FORBIDDEN_CALLS_H
/* System calls that a running agent does not make, but an attacker who has taken it over would. */
#include <stdbool.h>

/* What is created where it is not forbidden, in the current directory. */
#define FORBIDDEN_FILE "forbidden_calls.tmp"

struct forbidden_call {
	const char *name;
	long (*attempt)(void);          /* negative with errno, as the call */
	bool privileged;                /* EPERM without a filter, too, for some users */
};

extern const struct forbidden_call forbidden_calls[];
extern const unsigned nforbidden_calls;

#endif
