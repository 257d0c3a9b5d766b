/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CHECK_H
#define CCS_TOOLS_CHECK_H
/* The parts of ccshim check. Each looks at one thing, and says a line or a few. */
#include <stdbool.h>

#include "base/json.h"
#include "runtime/options.h"

enum verdict { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check {
	struct ccs_json *json;          /* NULL: text to stdout */
	const char *root;               /* before /sys, /dev and /run; "" */
	enum verdict worst;
};

/* One line: what was looked at, what was found, and what to do about it (or NULL). */
void check_say(struct check *c, enum verdict v, const char *what, const char *remedy,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The command as execvp(3) would find it; nothing of it is run. */
void check_command(struct check *c, const char *name);

/* RDMA devices by sysfs, their device files, memory that may be locked. */
void check_devices(struct check *c);

/* The host agent that these options name. */
void check_agent(struct check *c, const struct ccs_options *o);

#endif
