/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slurm's plug-in: adds the option --ccshim to srun, sbatch and salloc, and sets the environment of
 * tasks whose jobs use it. See spank_ccshim(8).
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(ccshim, 1)
#pragma GCC visibility pop

#include "tools/slurm/task_policy.h"

enum { VALUE_MAX = 1 << 20 };            /* longer than a variable that execve(2) accepts */

static char *asked;                      /* the argument of --ccshim; NULL: not given */

/* Called in srun, sbatch and salloc, and again on each node with the argument from there. */
static int set_asked(int val, const char *argument, int remote)
{
	char err[1024];

	(void)val;
	(void)remote;
	if (!argument || task_policy_check_spec(argument, err, sizeof(err))) {
		slurm_error("ccshim: --ccshim: %s", argument ? err : "an algorithm is missing");
		return -1;
	}
	free(asked);
	asked = strdup(argument);
	return asked ? 0 : -1;
}

static struct spank_option option = {
	.name = (char *)"ccshim",
	.arginfo = (char *)"ALG[:PARAM=VALUE,...]",
	.usage = (char *)"congestion control of RDMA traffic: auto, another algorithm, or off",
	.has_arg = 1,
	.cb = set_asked,
};

static int parse_policy(struct task_policy *policy, int argc, char **argv)
{
	char err[1024];

	if (task_policy_parse(policy, argc, argv, err, sizeof(err)) == 0)
		return 0;
	slurm_error("ccshim: plugstack.conf: %s", err);
	return -1;
}

static bool has_jobs(spank_context_t context)
{
	return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR || context == S_CTX_REMOTE;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	struct task_policy policy;

	if (!has_jobs(spank_context()))
		return 0;
	if (spank_option_register(spank, &option) != ESPANK_SUCCESS) {
		slurm_error("ccshim: the option --ccshim cannot be registered");
		return -1;
	}
	return parse_policy(&policy, argc, argv);
}

static char *get_variable(void *arg, const char *name)
{
	char *value = NULL;

	for (int len = 4096; len <= VALUE_MAX; len *= 2) {
		char *more = realloc(value, (size_t)len);
		spank_err_t error;

		if (!more)
			break;
		value = more;
		error = spank_getenv(arg, name, value, len);
		if (error == ESPANK_SUCCESS)
			return value;
		if (error != ESPANK_NOSPACE)
			break;
	}
	free(value);
	return NULL;
}

static int set_variable(void *arg, const char *name, const char *value)
{
	return spank_setenv(arg, name, value, 1) == ESPANK_SUCCESS ? 0 : -1;
}

static int unset_variable(void *arg, const char *name)
{
	return spank_unsetenv(arg, name) == ESPANK_SUCCESS ? 0 : -1;
}

/* In the task's process, as its user, just before the program is executed. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	const struct task_env env = {
		.get = get_variable, .set = set_variable, .unset = unset_variable, .arg = spank,
	};
	struct task_policy policy;
	char err[1024];

	if (parse_policy(&policy, argc, argv))
		return -1;
	if (task_policy_apply(&policy, asked, &env, err, sizeof(err)) == 0)
		return 0;
	slurm_error("ccshim: %s", err);
	return -1;
}
