/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RULES_H
#define CCS_RULES_H
/*
 * All settings of a process, from its files, the environment and requests while it runs; and the
 * lookup of the settings that apply to a queue pair.
 *
 * A later source takes precedence over an earlier source, enum ccs_opt_origin. Within a source,
 * the first section that matches and sets the option is used; settings before the first section
 * apply if no such section matches. Not thread-safe.
 */
#include "config/match.h"
#include "config/options.h"

struct ccs_setting {
	struct ccs_setting *next;
	const struct ccs_opt *opt;
	enum ccs_opt_origin source;
	unsigned section;                /* of its file; 0: before the first */
	struct ccs_match match;
	const char *where;               /* "FILE:LINE"; "": not from a file */
	const char *value;               /* valid for the option */
};

struct ccs_rules {
	struct ccs_setting *first;       /* in the order in which they were read */
	bool tenants;                    /* the system's file has some */
};

/*
 * Load files and environment for a process, of which CCS_MATCH_APP must be known. If its place is,
 * sections with other shares are ignored, else kept, and match nothing. Reports problems as
 * ccs_options_load_as() does and returns their number. -1: no memory, the rules are empty.
 */
int ccs_rules_load(struct ccs_rules *r, const struct ccs_match_subject *process,
		   ccs_opt_complain *complain, void *arg);
void ccs_rules_free(struct ccs_rules *r);

/* Add a copy of s to the rules, after all others, or (front) before them. 0; -1: no memory. */
int ccs_rules_add(struct ccs_rules *r, const struct ccs_setting *s, bool front);

/* Remove the first n. */
void ccs_rules_drop(struct ccs_rules *r, unsigned n);
/* Remove older requests that the first n, which are requests, replace: those for the same queue
 * pairs or a subset. */
void ccs_rules_prune(struct ccs_rules *r, unsigned n);

/* The setting that applies to the subject; NULL: the default does. */
const struct ccs_setting *ccs_rules_find(const struct ccs_rules *r, const struct ccs_opt *opt,
					 const struct ccs_match_subject *subject);

/* Set all options in *o and resolve conflicts; returns the number of problems reported. from
 * (CCS_OPT_MAX long) may be NULL. */
int ccs_rules_resolve(const struct ccs_rules *r, const struct ccs_match_subject *subject,
		      struct ccs_options *o, const struct ccs_setting **from,
		      ccs_opt_complain *complain, void *arg);

/* Whether queue pairs of the process may have different options. */
bool ccs_rules_by_qp(const struct ccs_rules *r);

#endif
