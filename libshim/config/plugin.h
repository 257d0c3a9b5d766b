/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PLUGIN_H
#define CCS_PLUGIN_H
/* Plug-ins: shared objects that define an algorithm as ccs_cc_plugin, see ccshim_cc(3). */
#include "cc/cc.h"

/*
 * Load and check the algorithm in that file; it stays loaded until the process ends. NULL with
 * a sentence in err that begins with the file's name. Under AT_SECURE every file is refused.
 */
const struct ccs_cc_ops *ccs_plugin_load(const char *path, char *err, size_t errlen);

/* Check that ops can be run: its tables, and its results for a few network paths. 0, or -1 with
 * a sentence in err. */
int ccs_plugin_check(const struct ccs_cc_ops *ops, char *err, size_t errlen);

/*
 * Parse "NAME[:param=value,...]". NAME is built-in or, if it is a path, a plug-in, which is loaded. 0,
 * or -1 with a sentence in err and *spec unchanged.
 */
int ccs_spec_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen);

/* For the option table. A plug-in is not checked: it is loaded only where it is to run, not
 * wherever a configuration file names it. */
int ccs_check_cc(const char *text, char *err, size_t errlen);

#endif
