/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TASK_POLICY_H
#define CCS_TASK_POLICY_H
/*
 * Sets the environment of a task for Slurm's plug-in, from the site's arguments in plugstack.conf and
 * the job's option --ccshim. Does not call Slurm.
 */
#include <stddef.h>

#include "config/options.h"

/* Pointers are into the arguments. */
struct task_policy {
	const char *lib;                 /* the library to preload */
	const char *spec;                /* for jobs without --ccshim; NULL: leave them unchanged */
	const char *value[CCS_OPT_MAX];  /* by option; NULL: not given */
};

/* The environment of a task. */
struct task_env {
	char *(*get)(void *arg, const char *name);      /* allocated; NULL: not set */
	int (*set)(void *arg, const char *name, const char *value);
	int (*unset)(void *arg, const char *name);
	void *arg;
};

/* Parse the arguments of plugstack.conf; 0, or -1 with a sentence in err. */
int task_policy_parse(struct task_policy *p, int argc, char **argv, char *err, size_t errlen);

/* Check an argument of --ccshim: off, or an algorithm with its parameters; 0, or -1 with a
 * sentence in err. */
int task_policy_check_spec(const char *spec, char *err, size_t errlen);

/*
 * Set the variables of a task. asked: the argument of --ccshim, which was checked; NULL: not given.
 * 0, or -1 with a sentence in err; the environment may then be incomplete.
 */
int task_policy_apply(const struct task_policy *p, const char *asked, const struct task_env *env,
		      char *err, size_t errlen);

#endif
