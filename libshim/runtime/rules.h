/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RULES_H
#define CCS_RULES_H
/*
 * All settings of a process: those of its files that are for the program, the environment's,
 * and what was asked of it while it runs. What holds for whom is looked up here.
 *
 * A later source wins over an earlier one, enum ccs_opt_origin. Within one, the first section
 * that matches and names the option wins; what stands before any section is for whom none does.
 * Not for two threads at once.
 */
#include "runtime/match.h"
#include "runtime/options.h"

struct ccs_setting {
	struct ccs_setting *next;
	const struct ccs_opt *opt;
	enum ccs_opt_origin source;
	unsigned section;                /* of its file; 0: before any */
	struct ccs_match match;
	const char *where;               /* "FILE:LINE"; "": of no file */
	const char *value;               /* one that the option takes */
};

struct ccs_rules {
	struct ccs_setting *first;       /* in the order in which they were read */
};

/*
 * Files and environment, as the program of that base name sees them. Complains as
 * ccs_options_load(); gives the number of complaints. -1: no memory, the rules are empty.
 */
int ccs_rules_load(struct ccs_rules *r, const char *app, ccs_opt_complain *complain, void *arg);
void ccs_rules_free(struct ccs_rules *r);

/* A copy of s into the rules, behind all others, or (front) before them. 0; -1: no memory. */
int ccs_rules_add(struct ccs_rules *r, const struct ccs_setting *s, bool front);

/* Remove the first n again. */
void ccs_rules_drop(struct ccs_rules *r, unsigned n);
/* Remove what the first n, which are requests, have replaced: older ones for the same or fewer. */
void ccs_rules_prune(struct ccs_rules *r, unsigned n);

/* The setting that holds for who; NULL: the default does. */
const struct ccs_setting *ccs_rules_find(const struct ccs_rules *r, const struct ccs_opt *opt,
					 const struct ccs_who *who);

/* All of them into *o, then conflicts: number of complaints. from (CCS_OPT_MAX long) may be NULL. */
int ccs_rules_resolve(const struct ccs_rules *r, const struct ccs_who *who, struct ccs_options *o,
		      const struct ccs_setting **from, ccs_opt_complain *complain, void *arg);

/* Whether queue pairs of the process may differ. */
bool ccs_rules_by_qp(const struct ccs_rules *r);

#endif
