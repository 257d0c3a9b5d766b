/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the extension modules that a Python script imports. It searches the directories of a usual
 * installation: the script's, PYTHONPATH, and site-packages of the virtual environment, of the user
 * and of the interpreter.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

enum { NESTED = 4, MODULES = 256, FILES = 256 };

struct search {
	glob_t dirs;
	char seen[MODULES][NAME_MAX + 1];
	unsigned count, files;
	command_module_visit *visit;
	void *arg;
};

static void add_dirs(struct search *s, const char *prefix, const char *pattern)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", prefix, pattern);
	glob(path, GLOB_NOSORT | (s->dirs.gl_pathc ? GLOB_APPEND : 0), NULL, &s->dirs);
}

static void add_prefix(struct search *s, const char *prefix)
{
	add_dirs(s, prefix, "/lib/python3*/*-packages");
	add_dirs(s, prefix, "/local/lib/python3*/*-packages");
}

/* The directory `up` levels above the directory of a file, which is "." for a bare name. */
static void directory_of(const char *file, unsigned up, char *dir)
{
	if (!realpath(file, dir))
		strcpy(dir, ".");
	for (char *slash; up-- && (slash = strrchr(dir, '/'));)
		*slash = '\0';
}

static void find_dirs(struct search *s, const struct command *c, char *own)
{
	const char *list = getenv("PYTHONPATH");
	char dir[PATH_MAX];

	directory_of(c->script, 1, own);
	for (size_t n; list && *list; list += n + (list[n] == ':')) {
		n = strcspn(list, ":");
		snprintf(dir, sizeof(dir), "%.*s", (int)n, list);
		add_dirs(s, dir, "/");
	}
	if (getenv("VIRTUAL_ENV"))
		add_prefix(s, getenv("VIRTUAL_ENV"));
	if (getenv("HOME")) {
		snprintf(dir, sizeof(dir), "%s/.local", getenv("HOME"));
		add_prefix(s, dir);
	}
	directory_of(c->path, 2, dir);
	add_prefix(s, dir);
}

static void visit_files(struct search *s, const char *module, const char *dir, const char *pattern)
{
	char path[3 * PATH_MAX];
	glob_t files;

	snprintf(path, sizeof(path), "%s/%s%s", dir, module, pattern);
	if (glob(path, GLOB_BRACE, NULL, &files) != 0)
		return;
	for (size_t i = 0; i < files.gl_pathc && s->files < FILES; i++, s->files++)
		s->visit(s->arg, module, files.gl_pathv[i]);
	globfree(&files);
}

static bool is_new(struct search *s, const char *module)
{
	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->seen[i], module) == 0)
			return false;
	if (s->count == MODULES)
		return false;
	snprintf(s->seen[s->count++], sizeof(s->seen[0]), "%s", module);
	return true;
}

static void read_script(struct search *s, const char *own, const char *script, unsigned level);

/* Import a module from a file beside the script, or from an installation. */
static void import_module(struct search *s, const char *own, const char *module, unsigned level)
{
	char path[2 * PATH_MAX];

	if (!is_new(s, module))
		return;
	snprintf(path, sizeof(path), "%s/%s.py", own, module);
	if (level < NESTED && access(path, R_OK) == 0) {
		read_script(s, own, path, level + 1);
		return;
	}
	for (size_t i = 0; i < s->dirs.gl_pathc; i++)
		visit_files(s, module, s->dirs.gl_pathv[i], "{.*.so,/*.so,/*/*.so,/*/*/*.so}");
}

/* "import a.b as c, d" or "from a.b import c": the first part of each name. */
static void read_import(struct search *s, const char *own, char *line, unsigned level)
{
	const bool from = strncmp(line, "from ", 5) == 0;
	char *save;

	if (!from && strncmp(line, "import ", 7) != 0)
		return;
	line += from ? 5 : 7;
	if (from)
		line[strcspn(line, " ")] = '\0';
	for (char *name = strtok_r(line, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		name += strspn(name, " \t");
		name[strcspn(name, ". \t\r\n;#")] = '\0';
		if (*name && strlen(name) <= NAME_MAX && !strpbrk(name, "/*?[{~"))
			import_module(s, own, name, level);
	}
}

static void read_script(struct search *s, const char *own, const char *script, unsigned level)
{
	FILE *file = fopen(script, "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file))
		read_import(s, own, line + strspn(line, " \t"), level);
	if (file)
		fclose(file);
}

void command_python_modules(const struct command *c, command_module_visit *visit, void *arg)
{
	struct search *s = calloc(1, sizeof(*s));
	char own[PATH_MAX], module[NAME_MAX + 1];

	if (!s)
		return;
	s->visit = visit;
	s->arg = arg;
	find_dirs(s, c, own);
	if (*c->module) {
		snprintf(module, sizeof(module), "%.*s", (int)strcspn(c->module, "."), c->module);
		import_module(s, own, module, 0);
	} else if (*c->script) {
		read_script(s, own, c->script, 0);
	}
	globfree(&s->dirs);
	free(s);
}
