/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_INFO_H
#define CCS_TOOLS_INFO_H
/* The sections of ccshim info. Each writes text, or its members of a JSON object. */
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/json.h"
#include "cc/cc.h"
#include "config/options.h"
#include "config/rules.h"

struct info_options {
	struct ccs_options values;
	const struct ccs_setting *from[CCS_OPT_MAX]; /* NULL: the default */
	struct ccs_rules rules;
	struct ccs_match_subject subject;
};

/* The tenant of a process. */
void info_tenant(struct ccs_json *j, pid_t pid);

void info_version_text(void);
void info_version_json(struct ccs_json *j);

/* name = value, with the origin; then the settings that apply to other queue pairs only. */
void info_options_text(const struct info_options *o);
/* Every option documented: a valid configuration file. */
void info_options_file(const struct info_options *o);
void info_options_json(struct ccs_json *j, const struct info_options *o);

/* Parameters of one algorithm, or of all if only is NULL, for that path. */
void info_algorithms_text(const struct ccs_cc_spec *only, const struct ccs_cc_path *path);
void info_algorithms_json(struct ccs_json *j, const struct ccs_cc_spec *only,
			  const struct ccs_cc_path *path);

/* All devices, or the device `only`. Returns EXIT_*, after a message if it failed. */
int info_devices(struct ccs_json *j, const char *only);

#endif
