/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CHECK_H
#define CCS_TOOLS_CHECK_H
/* The parts of ccshim check. Each checks one aspect and reports one or more lines. */
#include <limits.h>
#include <stdbool.h>

#include "base/json.h"
#include "config/options.h"

enum verdict { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check {
	struct ccs_json *json;          /* NULL: text to stdout */
	const char *root;               /* before /sys, /dev and /run; "" */
	bool fabric;                    /* run check_fabric() only */
	unsigned priority;              /* of RDMA traffic, for check_fabric */
	enum verdict worst;
	char program[NAME_MAX + 1];     /* whose sections of the configuration apply; "" */
};

/* The word that is printed for each verdict. */
extern const char *const check_verdicts[];

/* Report one line: the subject of the check, the finding as fmt, and a remedy or NULL. */
void check_report(struct check *c, enum verdict v, const char *what, const char *remedy,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Check the program that execvp(3) would start, and the programs that it starts in turn; set
 * c->program. */
void check_command(struct check *c, char *const *argv);

/* RDMA devices in sysfs, their device files, and the limit on locked memory. */
void check_devices(struct check *c);

/* MTU, PFC, trust and ECN of RoCE devices' interfaces. */
void check_fabric(struct check *c);

/* The host agent named by the options. */
void check_agent(struct check *c, const struct ccs_options *o);

#endif
