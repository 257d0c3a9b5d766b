/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POLICY_H
#define CCS_POLICY_H
/* Policies: the settings of a QP, ready for use. QPs with equal settings share one. */
#include "cc/cc.h"
#include "config/match.h"
#include "config/options.h"

struct ccs_setting;

/* Constant once it is made. */
struct ccs_policy {
	struct ccs_options options;      /* in force; mode off if the QP cannot be controlled */
	struct ccs_options configured;   /* as read from files, environment and requests */
	struct ccs_cc_spec cc;           /* as configured */
	struct ccs_cc_spec no_ports;     /* cc where only the receiver reports its link */
	struct ccs_cc_spec fallback;     /* used while feedback that cc needs is missing */
	bool automatic;                  /* cc=auto: a missing agent is not worth a warning */
	bool tenants;                    /* the system's file has some */
	unsigned feedback_needs;         /* CCS_NEEDS_* of cc that an agent provides */
	unsigned missing_feedback;       /* CCS_NEEDS_* of cc without any source on this host */
	struct ccs_policy *next;
};

/* Read the configuration and the process's options. Returns whether any QP is controlled. */
bool ccs_policy_setup(struct ccs_options *options);
const struct ccs_policy *ccs_policy_default(void);  /* for a QP whose peer is not known yet */
/* Whether some QP may get a policy that splits. */
bool ccs_policy_may_split(void);
const struct ccs_policy *ccs_policy_lookup(const struct ccs_match_subject *subject);
unsigned ccs_policy_generation(void);               /* changes whenever the rules change */
/* To be called when a QP gets this policy: warns once if its missing_feedback is not 0. */
void ccs_policy_warn_missing_feedback(const struct ccs_policy *p);
unsigned ccs_policy_missing_feedback(void);         /* union over the policies in use so far */
/* The names of these CCS_NEEDS_*, with `between` between them. *text is zeroed. */
void ccs_policy_name_feedback(unsigned needs, const char *between, char *text, size_t len);

/* For requests. This lock is taken before a QP's; the functions below need it. */
void ccs_policy_lock(void);
void ccs_policy_unlock(void);
/* The options of a QP, or if subject is NULL, of the process. */
void ccs_policy_options(const struct ccs_match_subject *subject, struct ccs_options *o);
const struct ccs_policy *ccs_policy_get(const struct ccs_options *o);      /* NULL: no memory */
/* Put n new rules before all others. 0, or -1: no memory, and the rules are unchanged. */
int ccs_policy_add_rules(const struct ccs_setting *settings, unsigned n);

#endif
