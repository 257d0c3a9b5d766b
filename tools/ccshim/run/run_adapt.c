/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCX prefers transports that post through direct verbs of mlx5; UCX_TLS excludes them. Open MPI's
 * launcher gives processes on other hosts the variables that -x names, or its parameter
 * mca_base_env_list, and no others; it refuses both together.
 */
#include "run.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elf.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/provider.h"

#define ENV_LIST "OMPI_MCA_mca_base_env_list"

static bool has_mlx5_device(void)
{
	char driver[64];
	bool found = false;
	glob_t links;

	if (glob("/sys/class/infiniband/*/device/driver", 0, NULL, &links) != 0)
		return false;
	for (size_t i = 0; i < links.gl_pathc; i++)
		found |= driver_name(AT_FDCWD, links.gl_pathv[i], driver, sizeof(driver)) &&
			 strncmp(driver, "mlx5_core", 9) == 0;
	globfree(&links);
	return found;
}

static bool has_word(char *const *argv, const char *const *words)
{
	for (; *argv; argv++)
		for (const char *const *w = words; *w; w++)
			if (strcmp(*argv, *w) == 0)
				return true;
	return false;
}

static bool names_hosts(char *const *argv)
{
	static const char *const words[] = { "-H", "-host", "--host", "-hostfile", "--hostfile",
					     "-machinefile", "--machinefile", NULL };

	return has_word(argv, words);
}

static bool exports_variables(char *const *argv)
{
	static const char *const words[] = { "-x", NULL };

	return has_word(argv, words);
}

static int set(struct run_adapt *a, const char *name, const char *value)
{
	unsigned n = 0;

	while (a->variables[n])
		n++;
	a->variables[n] = name;
	return run_set_variable("run", name, value);
}

static int adapt_ucx(struct run_adapt *a)
{
	const char *tls = getenv("UCX_TLS");
	char adapted[4096];

	if (!command_ucx_is_direct(tls))
		return 0;
	if (command_ucx_without_direct(tls, adapted, sizeof(adapted)))
		return set(a, "UCX_TLS", adapted);
	tool_error("run", "UCX_TLS is too long to adapt");
	return -1;
}

/*
 * AddressSanitizer calls the first definition of this function for its options. The definition in
 * libccshim lets it start after another library, but a program's own definition precedes it.
 */
static int adapt_sanitizer(struct run_adapt *a, const char *path)
{
	const char *old = getenv("ASAN_OPTIONS");
	char *list = NULL;
	struct ccs_elf e;
	bool own;
	int status = -1;

	if (ccs_elf_open(&e, path))
		return 0;
	own = ccs_elf_symbol(&e, "__asan_default_options", true);
	ccs_elf_close(&e);
	if (!own)
		return 0;
	if (asprintf(&list, "%s%sverify_asan_link_order=0", old ? old : "", old && *old ? ":" : "") > 0)
		status = set(a, "ASAN_OPTIONS", list);
	free(list);
	return status;
}

/* Add to the list of the user the variables that processes on other hosts need. */
static int adapt_open_mpi(struct run_adapt *a)
{
	const char *old = getenv(ENV_LIST);
	char *list = NULL;
	size_t len;
	FILE *f = open_memstream(&list, &len);
	int status = -1;

	if (f) {
		fprintf(f, "%s%sLD_PRELOAD", old ? old : "", old && *old ? ";" : "");
		for (char *const *e = environ; *e; e++)
			if (strncmp(*e, "CCSHIM_", 7) == 0 || strncmp(*e, "UCX_TLS=", 8) == 0)
				fprintf(f, ";%.*s", (int)strcspn(*e, "="), *e);
		if (fclose(f) == 0)
			status = set(a, ENV_LIST, list);
	}
	free(list);
	return status;
}

static void warn(const struct command *c, const struct command_uses *u, char *const *argv)
{
	const bool elsewhere = c->open_mpi && names_hosts(argv);

	if (u->ucx_direct && command_ucx_is_direct(getenv("UCX_TLS")) && (elsewhere || has_mlx5_device()))
		tool_error("run", "warning: UCX posts through direct verbs on mlx5 devices, which is "
			   "uncontrolled; --adapt sets UCX_TLS so that it uses ordinary verbs");
	if (elsewhere && !exports_variables(argv) && !getenv(ENV_LIST))
		tool_error("run", "warning: %s passes LD_PRELOAD and CCSHIM_* to no other host: use --adapt, "
			   "or its option -x for each", c->started_by);
}

static int adapt(struct run_adapt *a, const struct command *c, char *const *argv)
{
	if (adapt_ucx(a))
		return -1;
	if (!c->open_mpi)
		return 0;
	if (!exports_variables(argv))
		return adapt_open_mpi(a);
	tool_error("run", "warning: with its option -x, %s passes no other variables to other hosts: "
		   "add -x LD_PRELOAD -x UCX_TLS, and -x for each CCSHIM_*", c->started_by);
	return 0;
}

int run_adapt(struct run_adapt *a, const struct command *c, char *const *argv, bool adapted, bool quiet)
{
	struct command_verdict v;
	struct command_uses u;

	*a = (struct run_adapt){ { NULL } };
	if (*c->path) {
		command_uses(&u, c);
		if (command_judge(c, &u, &v))
			tool_error("run", v.certain ? "warning: %s will not be controlled: %s; %s"
				   : "warning: cannot tell whether %s will be controlled: %s; %s",
				   c->path, v.text, v.remedy);
		if (!adapted && !quiet)
			warn(c, &u, argv);
		if (adapt_sanitizer(a, c->path))
			return -1;
	}
	return adapted ? adapt(a, c, argv) : 0;
}
