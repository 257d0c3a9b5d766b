/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which variables a task of Slurm gets. */
#include "tools/slurm/task_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cc/cc.h"
#include "config/plugin.h"
#include "tools/common/preload_list.h"

#define OFF "off"

int task_policy_check_spec(const char *spec, char *err, size_t errlen)
{
	struct ccs_options scratch;

	if (strcmp(spec, OFF) == 0)
		return 0;
	if (ccs_cc_is_path(spec) && *spec != '/')
		return ccs_refuse(err, errlen, "'%s' is a relative path; give the plug-in's absolute "
				  "path", spec);
	ccs_options_default(&scratch);
	return ccs_opt_set(&scratch, ccs_opt_find("cc"), spec, err, errlen);
}

static int parse_lib(struct task_policy *p, const char *path, char *err, size_t errlen)
{
	p->lib = path;
	if (*path == '/' && !strchr(path, ':'))
		return 0;
	return ccs_refuse(err, errlen, "lib: '%s' is not an absolute path without colons", path);
}

static int parse_default(struct task_policy *p, const char *spec, char *err, size_t errlen)
{
	char why[512];

	p->spec = strcmp(spec, OFF) == 0 ? NULL : spec;
	if (task_policy_check_spec(spec, why, sizeof(why)) == 0)
		return 0;
	return ccs_refuse(err, errlen, "default: %s", why);
}

static int parse_option(struct task_policy *p, const char *name, const char *value, char *err,
			size_t errlen)
{
	struct ccs_options scratch;

	ccs_options_default(&scratch);
	if (strcmp(name, "cc") == 0)
		return ccs_refuse(err, errlen, "cc: use default=%s", value);
	if (ccs_options_set(&scratch, name, value, err, errlen))
		return -1;
	p->value[ccs_opt_find(name) - ccs_opt_table] = value;
	return 0;
}

int task_policy_parse(struct task_policy *p, int argc, char **argv, char *err, size_t errlen)
{
	*p = (struct task_policy){ .lib = CCS_PKGLIBDIR "/libccshim.so" };
	for (int i = 0; i < argc; i++) {
		const char *value = strchr(argv[i], '=');
		char name[32];
		int status;

		if (!value)
			return ccs_refuse(err, errlen, "'%s' is not NAME=VALUE", argv[i]);
		snprintf(name, sizeof(name), "%.*s", (int)(value - argv[i]), argv[i]);
		value++;
		if (strcmp(name, "lib") == 0)
			status = parse_lib(p, value, err, errlen);
		else if (strcmp(name, "default") == 0)
			status = parse_default(p, value, err, errlen);
		else
			status = parse_option(p, name, value, err, errlen);
		if (status)
			return status;
	}
	return 0;
}

static int set(const struct task_env *env, const char *name, const char *value, char *err,
	       size_t errlen)
{
	if (env->set(env->arg, name, value) == 0)
		return 0;
	return ccs_refuse(err, errlen, "%s cannot be set", name);
}

/* A variable of the job takes precedence. */
static int set_if_unset(const struct task_env *env, const char *name, const char *value, char *err,
			size_t errlen)
{
	char *old = env->get(env->arg, name);
	const int status = old ? 0 : set(env, name, value, err, errlen);

	free(old);
	return status;
}

static int set_options(const struct task_policy *p, const struct task_env *env, char *err,
		       size_t errlen)
{
	char name[64];

	for (size_t i = 0; i < ccs_opt_count; i++)
		if (p->value[i] &&
		    set_if_unset(env, ccs_opt_variable(&ccs_opt_table[i], name, sizeof(name)),
				 p->value[i], err, errlen))
			return -1;
	return 0;
}

static int set_preload(const struct task_policy *p, const struct task_env *env, char *err,
		       size_t errlen)
{
	char *old, *list;
	int status;

	/* The dynamic linker would print a warning for each program, and continue without it. */
	if (access(p->lib, R_OK))
		return ccs_refuse(err, errlen, "the library %s cannot be read: %s", p->lib,
				  strerror(errno));
	old = env->get(env->arg, "LD_PRELOAD");
	list = preload_list_add(old ? old : "", p->lib);
	status = list ? set(env, "LD_PRELOAD", list, err, errlen) : -1;
	if (!list)
		snprintf(err, errlen, "no memory");
	free(list);
	free(old);
	return status;
}

/* A batch script with --ccshim=off has mode=off, which its steps inherit; this step overrides it. */
static void forget_off(const struct task_env *env)
{
	char *mode = env->get(env->arg, "CCSHIM_MODE");

	if (mode && strcmp(mode, OFF) == 0)
		env->unset(env->arg, "CCSHIM_MODE");
	free(mode);
}

int task_policy_apply(const struct task_policy *p, const char *asked, const struct task_env *env,
		      char *err, size_t errlen)
{
	int status;

	if (!asked && !p->spec)
		return 0;
	/* The library may be preloaded already, by a batch script around this step. */
	if (asked && strcmp(asked, OFF) == 0)
		return set(env, "CCSHIM_MODE", OFF, err, errlen);
	if (asked) {
		forget_off(env);
		status = set(env, "CCSHIM_CC", asked, err, errlen);
	} else {
		status = set_if_unset(env, "CCSHIM_CC", p->spec, err, errlen);
	}
	return status || set_options(p, env, err, errlen) || set_preload(p, env, err, errlen) ? -1 : 0;
}
