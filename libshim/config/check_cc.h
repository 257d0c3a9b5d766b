/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CHECK_CC_H
#define CCS_CHECK_CC_H
/* Parses an algorithm specification, "NAME[:param=value,...]". */
#include "cc/cc.h"

/* Built-in or, if NAME is a path, a plug-in, which is loaded. 0, or -1 with a sentence in err
 * and *spec unchanged. */
int ccs_spec_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen);

/* For the option table. A plug-in is not checked: it is loaded only where it is to run, not
 * wherever a configuration file names it. */
int ccs_check_cc(const char *text, char *err, size_t errlen);

#endif
