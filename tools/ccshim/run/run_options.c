/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cc/cc.h"
#include "config/filename.h"
#include "tools/ccshim/shared/ccshim.h"

/* Make the path of a plug-in absolute: the command may change directory before it is loaded. */
static const char *with_absolute_path(struct run_options *o, const char *spec)
{
	const size_t len = ccs_cc_name_len(spec);
	char file[PATH_MAX], real[PATH_MAX];

	if (!ccs_cc_is_path(spec) || len >= sizeof(file))
		return spec;
	snprintf(file, sizeof(file), "%.*s", (int)len, spec);
	if (!realpath(file, real) || strlen(spec + len) >= 512)
		return spec;
	snprintf(o->algorithm, sizeof(o->algorithm), "%s%s", real, spec + len);
	return o->algorithm;
}

int run_options_set(struct run_options *o, const char *cmd, const char *name, const char *value)
{
	char err[1024];

	if (strcmp(name, "cc") == 0)
		value = with_absolute_path(o, value);
	if (ccs_options_set(&o->scratch, name, value, err, sizeof(err)))
		return tool_refuse(cmd, "%s", err);
	o->value[ccs_opt_find(name) - ccs_opt_table] = value;
	return 0;
}

static int set_pair(struct run_options *o, const char *cmd, char *pair)
{
	char *eq = strchr(pair, '=');

	if (!eq)
		return tool_refuse(cmd, "-o %s: expected NAME=VALUE", pair);
	*eq = '\0';
	return run_options_set(o, cmd, pair, eq + 1);
}

/* The path is made absolute: the command may change directory before it reads the file. */
static int set_config(struct run_options *o, const char *cmd, const char *file)
{
	if (realpath(file, o->config))
		return 0;
	return tool_refuse(cmd, "-c %s: %m", file);
}

/* The path is made absolute for the same reason; the directory has no escapes. */
static int set_trace(struct run_options *o, const char *cmd)
{
	char here[PATH_MAX], dir[PATH_MAX];

	if (!*optarg || *optarg == '/' || !getcwd(here, sizeof(here)) ||
	    ccs_filename_escape(here, dir, sizeof(dir)) ||
	    snprintf(o->trace, sizeof(o->trace), "%s/%s", dir, optarg) >= PATH_MAX)
		return run_options_set(o, cmd, "trace", optarg);
	return run_options_set(o, cmd, "trace", o->trace);
}

int run_options_parse(const char *cmd, void *options, const struct option_row *row)
{
	struct run_options *o = options;

	switch (row->letter) {
	case 'a':
		return run_options_set(o, cmd, "cc", optarg);
	case 'r':
		return run_options_set(o, cmd, "max_rate", optarg);
	case 'm':
		return run_options_set(o, cmd, "mode", optarg);
	case 't':
		return set_trace(o, cmd);
	case 'o':
		return set_pair(o, cmd, optarg);
	default:
		return set_config(o, cmd, optarg);
	}
}

const char *run_options_value(const struct run_options *o, const char *name)
{
	return o->value[ccs_opt_find(name) - ccs_opt_table];
}

int run_set_variable(const char *cmd, const char *name, const char *value)
{
	if (setenv(name, value, 1) == 0)
		return 0;
	tool_error(cmd, "%s: %m", name);
	return -1;
}

int run_options_export(const struct run_options *o, const char *cmd)
{
	char name[64];

	if (*o->config && run_set_variable(cmd, "CCSHIM_CONFIG", o->config))
		return -1;
	for (size_t i = 0; i < ccs_opt_count; i++) {
		ccs_opt_variable(&ccs_opt_table[i], name, sizeof(name));
		if (o->value[i] && run_set_variable(cmd, name, o->value[i]))
			return -1;
	}
	return 0;
}
