/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_CC_H
#define CCS_CC_CC_H
/* The room's own face to the rest of the library: registry and set-up. */
#include <ccshim/cc.h>

extern const struct ccs_cc_ops ccs_cc_none;
extern const struct ccs_cc_ops ccs_cc_fixed;
extern const struct ccs_cc_ops ccs_cc_timely;

/* All built-in algorithms, NULL-terminated, in the order `ccshim info -a` shows. */
extern const struct ccs_cc_ops *const ccs_cc_all[];

/* NULL if there is none of that name. */
const struct ccs_cc_ops *ccs_cc_find(const char *name);

/*
 * Parse "NAME[:param=value,...]" into cc->ops and cc->given. Values take units
 * (10g, 50us, 0.8). Returns 0, or -1 with a complete sentence in err, and then
 * cc is unchanged. It does not start the algorithm: ccs_cc_start() does.
 */
int ccs_cc_parse(struct ccs_cc *cc, const char *spec, char *err, size_t errlen);

/* Put parameters in force for the path (given, else default, else derived) and reset the state. */
void ccs_cc_start(struct ccs_cc *cc, const struct ccs_cc_path *path);

/* Go on from this rate, if the algorithm can: after slow start, after a switch. */
void ccs_cc_set_rate(struct ccs_cc *cc, double rate);

/* Derive the parameters anew for a path that is now better known; state and rate stay. */
void ccs_cc_repath(struct ccs_cc *cc, const struct ccs_cc_path *path);

#endif
