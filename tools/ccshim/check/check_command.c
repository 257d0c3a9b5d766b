/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks from the files of a command and its libraries whether it can be preloaded and uses verbs. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_needed.h"
#include "check.h"
#include "tools/ccshim/preload.h"

enum { SCRIPTS = 4 };                    /* nested interpreters; the kernel's limit */

/* Read the start of a file, as much as the kernel does. */
static size_t read_start(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	const size_t n = file ? fread(buf, 1, size - 1, file) : 0;

	if (file)
		fclose(file);
	buf[n] = '\0';
	return n;
}

/* The command that env(1) would run, after its options and assignments. */
static const char *command_of_env(char *words, char *buf, size_t len)
{
	char *save, *word = strtok_r(words, " \t", &save);
	const char *found;

	while (word && (*word == '-' || strchr(word, '=')))
		word = strtok_r(NULL, " \t", &save);
	found = word ? preload_which(word, buf, len) : NULL;
	if (found && found != buf)
		snprintf(buf, len, "%s", found);
	return found ? buf : NULL;
}

/*
 * The interpreter of a file that is not ELF: from its first line, else the shell, as for
 * execvp(3). NULL: there is none; *why explains it.
 */
static const char *find_interpreter(const char *path, char *buf, size_t len, const char **why)
{
	char start[256], *save, *word, *base;
	const size_t n = read_start(path, start, sizeof(start));

	if (memchr(start, '\0', n)) {
		*why = "it is neither an ELF file nor a script";
		return NULL;
	}
	if (strncmp(start, "#!", 2) != 0)
		return "/bin/sh";
	start[strcspn(start, "\n")] = '\0';
	*why = "its interpreter does not exist";
	word = strtok_r(start + 2, " \t", &save);
	if (!word)
		return NULL;
	base = strrchr(word, '/');
	if (strcmp(base ? base + 1 : word, "env") == 0)
		return command_of_env(save, buf, len);
	snprintf(buf, len, "%s", word);
	return access(buf, X_OK) == 0 ? buf : NULL;
}

/* Follow interpreters up to an ELF file, whose path replaces path. */
static bool follow_scripts(struct check *c, char path[PATH_MAX], bool *script)
{
	const char *why = "its interpreters are nested too deeply", *next;
	char buf[PATH_MAX], first[PATH_MAX];
	struct ccs_elf e;

	snprintf(first, sizeof(first), "%s", path);
	for (unsigned i = 0; i <= SCRIPTS; i++) {
		if (ccs_elf_open(&e, path) == 0) {
			ccs_elf_close(&e);
			*script = i > 0;
			return true;
		}
		next = find_interpreter(path, buf, sizeof(buf), &why);
		if (!next)
			break;
		snprintf(path, PATH_MAX, "%s", next);
	}
	check_report(c, CHECK_FAIL, "command", "give the name of an executable", "%s: %s", first, why);
	return false;
}

static const char *const obstacle_remedies[] = {
	[PRELOAD_FOREIGN] = "build ccshim for that architecture too",
	[PRELOAD_STATIC] = "link it dynamically",
	[PRELOAD_SETUID] = "run it as its owner, from a copy that is not setuid",
	[PRELOAD_SETGID] = "run it in its group, from a copy that is not setgid",
	[PRELOAD_CAPABILITIES] = "run it as root, or grant them through a service manager instead",
};

struct reach {
	char verbs[NAME_MAX + 1];       /* the library, if it is linked */
	char by[NAME_MAX + 1];          /* the object that needs it; "": the program itself */
	char opens[NAME_MAX + 1];       /* an object that names libibverbs and may open it */
	char direct[64];                /* an imported function of direct verbs */
	char direct_by[NAME_MAX + 1];
	char missing[NAME_MAX + 1];
	bool copy;                      /* the program contains libibverbs */
};

static void set_once(char *to, size_t len, const char *text)
{
	const char *slash = strrchr(text, '/');

	if (!*to)
		snprintf(to, len, "%s", slash ? slash + 1 : text);
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void find_direct_verbs(struct reach *r, const struct ccs_elf_needed *lib)
{
	static const char *const prefixes[] = { "mlx5dv_create_qp", "mlx5dv_init_obj",
						"mlx5dv_devx_", "efadv_create_" };

	for (unsigned i = 0; !*r->direct && i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *found = ccs_elf_symbol(lib->elf, prefixes[i], false);

		if (found) {
			snprintf(r->direct, sizeof(r->direct), "%s", found);
			set_once(r->direct_by, sizeof(r->direct_by), lib->name);
		}
	}
}

static bool inspect_library(void *arg, const struct ccs_elf_needed *lib)
{
	struct reach *r = arg;

	if (!lib->elf) {
		set_once(r->missing, sizeof(r->missing), lib->name);
		return false;
	}
	if (has_prefix(lib->name, "libibverbs.so")) {
		set_once(r->verbs, sizeof(r->verbs), lib->name);
		set_once(r->by, sizeof(r->by), lib->by);
		return false;
	}
	if (has_prefix(lib->name, "librdmacm.so") || has_prefix(lib->name, "libmlx5.so") ||
	    has_prefix(lib->name, "libefa.so"))
		return false;
	find_direct_verbs(r, lib);
	if (ccs_elf_holds(lib->elf, "libibverbs.so"))
		set_once(r->opens, sizeof(r->opens), lib->name);
	/* A message or a symbol of libibverbs that is part of the program. */
	if (!lib->by && (ccs_elf_holds(lib->elf, "libibverbs: Warning") ||
			 ccs_elf_symbol(lib->elf, "ibv_cmd_create_qp", true)))
		r->copy = true;
	return false;
}

static void report_reach(struct check *c, const struct reach *r, const char *name, bool script)
{
	if (*r->verbs && strcmp(r->by, name) != 0)
		check_report(c, CHECK_OK, "verbs", NULL, "%s is linked to %s, by %s", name, r->verbs,
			  r->by);
	else if (*r->verbs)
		check_report(c, CHECK_OK, "verbs", NULL, "%s is linked to %s", name, r->verbs);
	else if (r->copy)
		check_report(c, CHECK_FAIL, "verbs", "link it with the libibverbs of this host",
			  "%s contains a copy of libibverbs, which cannot be intercepted", name);
	else if (*r->opens)
		check_report(c, CHECK_OK, "verbs", NULL, "%s names libibverbs.so: if it opens it, "
			  "its calls are intercepted", r->opens);
	else if (script)
		check_report(c, CHECK_OK, "verbs", NULL, "%s does not use verbs; libraries it loads and "
			  "programs it starts are controlled as well", name);
	else
		check_report(c, CHECK_WARN, "verbs", "check with 'ccshim run -o report=FILE' whether "
			  "it creates queue pairs", "neither %s nor its libraries refer to libibverbs",
			  name);
	if (*r->missing)
		check_report(c, CHECK_WARN, "verbs", "set LD_LIBRARY_PATH as for running it",
			  "a library that it needs is missing: %s", r->missing);
	if (*r->direct)
		check_report(c, CHECK_WARN, "direct", "configure it to use ordinary verbs, if it can "
			  "(UCX_TLS=rc_v,ud_v)", "%s uses %s: requests posted through direct verbs are "
			  "uncontrolled", r->direct_by, r->direct);
}

static void check_elf(struct check *c, const char *path, bool script)
{
	const enum preload_obstacle obstacle = preload_obstacle(path);
	const char *slash = strrchr(path, '/');
	struct reach reach = { 0 };

	if (obstacle)
		check_report(c, CHECK_FAIL, "command", obstacle_remedies[obstacle], "%s: %s", path,
			  preload_obstacle_text(obstacle));
	else
		check_report(c, CHECK_OK, "command", NULL, script ? "a script, run by %s"
							       : "%s, dynamically linked", path);
	if (obstacle == PRELOAD_FOREIGN)
		return;
	ccs_elf_needed_walk(path, inspect_library, &reach);
	report_reach(c, &reach, slash ? slash + 1 : path, script);
}

void check_command(struct check *c, const char *name)
{
	char buf[PATH_MAX], path[PATH_MAX];
	const char *found = preload_which(name, buf, sizeof(buf));
	bool script;

	if (!found) {
		check_report(c, CHECK_FAIL, "command", "give the name of an executable",
			  "%s: not found, or not executable", name);
		return;
	}
	snprintf(path, sizeof(path), "%s%s", strchr(found, '/') ? "" : "./", found);
	if (follow_scripts(c, path, &script))
		check_elf(c, path, script);
}
