/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command is, and how it gets to verbs: read from its file, and its libraries'. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/needed.h"
#include "tools/check.h"
#include "tools/preload.h"

enum { SCRIPTS = 4 };                    /* interpreters of interpreters; the kernel's limit */

/* The first words of a file, as far as the kernel reads them. */
static size_t read_start(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	const size_t n = file ? fread(buf, 1, size - 1, file) : 0;

	if (file)
		fclose(file);
	buf[n] = '\0';
	return n;
}

/* env(1) looks its command up itself; its options and settings come before it. */
static const char *behind_env(char *words, char *buf, size_t len)
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
 * Who interprets a file that is no ELF file: by its first line, else the shell, as execvp(3)
 * does it. NULL: nobody; why says it.
 */
static const char *interpreter(const char *path, char *buf, size_t len, const char **why)
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
	*why = "its interpreter is not found";
	word = strtok_r(start + 2, " \t", &save);
	if (!word)
		return NULL;
	base = strrchr(word, '/');
	if (strcmp(base ? base + 1 : word, "env") == 0)
		return behind_env(save, buf, len);
	snprintf(buf, len, "%s", word);
	return access(buf, X_OK) == 0 ? buf : NULL;
}

/* Ends at an ELF file, whose path is left in path. */
static bool follow_scripts(struct check *c, char path[PATH_MAX], bool *script)
{
	const char *why = "its interpreters have no end", *next;
	char buf[PATH_MAX], first[PATH_MAX];
	struct ccs_elf e;

	snprintf(first, sizeof(first), "%s", path);
	for (unsigned i = 0; i <= SCRIPTS; i++) {
		if (ccs_elf_open(&e, path) == 0) {
			ccs_elf_close(&e);
			*script = i > 0;
			return true;
		}
		next = interpreter(path, buf, sizeof(buf), &why);
		if (!next)
			break;
		snprintf(path, PATH_MAX, "%s", next);
	}
	check_say(c, CHECK_FAIL, "command", "name one that can be executed", "%s: %s", first, why);
	return false;
}

static const char *const obstacle_remedies[] = {
	[PRELOAD_FOREIGN] = "build ccshim for that machine, too",
	[PRELOAD_STATIC] = "link it dynamically",
	[PRELOAD_SETUID] = "run it as its owner, from a copy that is not setuid",
	[PRELOAD_SETGID] = "run it in its group, from a copy that is not setgid",
	[PRELOAD_CAPABILITIES] = "run it as root, or give them by a service manager instead",
};

struct reach {
	char verbs[NAME_MAX + 1];       /* the library, if it is linked */
	char by[NAME_MAX + 1];          /* what brings it along; "": the program itself */
	char opens[NAME_MAX + 1];       /* what names libibverbs, and may open it */
	char direct[64];                /* a function of direct verbs that is imported */
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

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void look_for_direct(struct reach *r, const struct ccs_needed *lib)
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

static bool look_at(void *arg, const struct ccs_needed *lib)
{
	struct reach *r = arg;

	if (!lib->elf) {
		set_once(r->missing, sizeof(r->missing), lib->name);
		return false;
	}
	if (begins(lib->name, "libibverbs.so")) {
		set_once(r->verbs, sizeof(r->verbs), lib->name);
		set_once(r->by, sizeof(r->by), lib->by);
		return false;
	}
	if (begins(lib->name, "librdmacm.so") || begins(lib->name, "libmlx5.so") ||
	    begins(lib->name, "libefa.so"))
		return false;
	look_for_direct(r, lib);
	if (ccs_elf_holds(lib->elf, "libibverbs.so"))
		set_once(r->opens, sizeof(r->opens), lib->name);
	/* What libibverbs would say to the user, if it was part of the program. */
	if (!lib->by && (ccs_elf_holds(lib->elf, "libibverbs: Warning") ||
			 ccs_elf_symbol(lib->elf, "ibv_cmd_create_qp", true)))
		r->copy = true;
	return false;
}

static void say_reach(struct check *c, const struct reach *r, const char *name, bool script)
{
	if (*r->verbs && strcmp(r->by, name) != 0)
		check_say(c, CHECK_OK, "verbs", NULL, "%s is linked to %s, by %s", name, r->verbs,
			  r->by);
	else if (*r->verbs)
		check_say(c, CHECK_OK, "verbs", NULL, "%s is linked to %s", name, r->verbs);
	else if (r->copy)
		check_say(c, CHECK_FAIL, "verbs", "link it with the libibverbs of this host",
			  "%s contains a libibverbs of its own", name);
	else if (*r->opens)
		check_say(c, CHECK_OK, "verbs", NULL, "%s names libibverbs.so: where it opens it, "
			  "it gets the hooks", r->opens);
	else if (script)
		check_say(c, CHECK_OK, "verbs", NULL, "not by %s itself; what it loads and starts "
			  "is controlled as well", name);
	else
		check_say(c, CHECK_WARN, "verbs", "see by 'ccshim run -o report=FILE' whether it "
			  "has queue pairs", "nothing in %s or its libraries leads to libibverbs",
			  name);
	if (*r->missing)
		check_say(c, CHECK_WARN, "verbs", "set LD_LIBRARY_PATH as for running it",
			  "a library of it is not found: %s", r->missing);
	if (*r->direct)
		check_say(c, CHECK_WARN, "direct", "tell it to use ordinary verbs, if it can "
			  "(UCX_TLS=rc_v,ud_v)", "%s uses %s: what it posts by direct verbs passes "
			  "uncontrolled", r->direct_by, r->direct);
}

static void check_elf(struct check *c, const char *path, bool script)
{
	const enum preload_obstacle obstacle = preload_obstacle(path);
	const char *slash = strrchr(path, '/');
	struct reach reach = { 0 };

	if (obstacle)
		check_say(c, CHECK_FAIL, "command", obstacle_remedies[obstacle], "%s: %s", path,
			  preload_obstacle_text(obstacle));
	else
		check_say(c, CHECK_OK, "command", NULL, script ? "a script, run by %s"
							       : "%s, dynamically linked", path);
	if (obstacle == PRELOAD_FOREIGN)
		return;
	ccs_needed_walk(path, look_at, &reach);
	say_reach(c, &reach, slash ? slash + 1 : path, script);
}

void check_command(struct check *c, const char *name)
{
	char buf[PATH_MAX], path[PATH_MAX];
	const char *found = preload_which(name, buf, sizeof(buf));
	bool script;

	if (!found) {
		check_say(c, CHECK_FAIL, "command", "name one that can be executed",
			  "%s: not found, or not executable", name);
		return;
	}
	snprintf(path, sizeof(path), "%s%s", strchr(found, '/') ? "" : "./", found);
	if (follow_scripts(c, path, &script))
		check_elf(c, path, script);
}
