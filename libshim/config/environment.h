/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_ENVIRONMENT_H
#define CCS_ENVIRONMENT_H
/*
 * The variables that the library reads, also if the program has removed them since its start: some
 * clear their environment before they use verbs. A program that gains privileges (AT_SECURE) does
 * not get them.
 */

/* The prefix of the options' variables. */
#define CCS_ENVIRONMENT_PREFIX "CCSHIM_"

/* Called when the library is loaded: copy the existing variables of the options and of the lists in
 * `more`. The lists, and the list of lists, end with NULL. */
void ccs_environment_keep(const char *const *const *more);
/* The value now, or at the start, or NULL. No thread may call setenv() during the call. */
const char *ccs_environment_get(const char *name);
/* Call for each variable with the prefix, as NAME=value, in the present environment first. */
void ccs_environment_each(void (*call)(void *arg, const char *variable), void *arg);

#endif
