/* SPDX-License-Identifier: BSD-2-Clause */
/* How a program, its libraries, their plug-ins and its Python modules use verbs. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf_needed.h"
#include "command.h"

enum { FILES = 4096 };

/* Libraries that load plug-ins, and where these are, from the library's directory. */
static const struct loader {
	const char *name, *library, *variable, *patterns[3];
} loaders[] = {
	{ "UCX", "libucs.so", "UCX_MODULE_DIR", { "/ucx/libuct_ib*.so*" } },
	{ "Open MPI", "libopen-pal.so", NULL,
	  { "/openmpi/mca_{btl,mtl,osc,pml}_*.so", "/openmpi/lib/openmpi*/mca_{btl,mtl,osc,pml}_*.so" } },
	{ "libfabric", "libfabric.so", "FI_PROVIDER_PATH", { "/libfabric/lib*-fi.so" } },
};

enum { LOADERS = sizeof(loaders) / sizeof(*loaders) };

struct walk {
	struct command_uses *uses;
	char dir[LOADERS][PATH_MAX];    /* directories of linked loaders; "": not linked, or plug-ins were read */
	uint64_t seen[FILES];           /* hashes of the paths read so far */
	unsigned count;
	const char *of, *import, *file; /* a plug-in, or a module's */
};

static void set_once(char *to, size_t len, const char *text)
{
	if (!*to)
		snprintf(to, len, "%s", basename(text));
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* FNV-1a. True the first time; false when the table is full. */
static bool is_new(struct walk *w, const char *path)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3;
	for (unsigned i = 0; i < w->count; i++)
		if (w->seen[i] == hash)
			return false;
	if (w->count == FILES)
		return false;
	w->seen[w->count++] = hash;
	return true;
}

static void find_direct_verbs(struct command_uses *u, const struct ccs_elf_needed *lib)
{
	static const char *const prefixes[] = { "mlx5dv_create_qp", "mlx5dv_init_obj",
						"mlx5dv_devx_", "efadv_create_" };

	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *found = ccs_elf_symbol(lib->elf, prefixes[i], false);

		if (found && strstr(lib->name, "libuct_ib")) {
			u->ucx_direct = true;
		} else if (found && !*u->direct) {
			snprintf(u->direct, sizeof(u->direct), "%s", found);
			set_once(u->direct_by, sizeof(u->direct_by), lib->name);
		}
	}
}

static void find_loader(struct walk *w, const struct ccs_elf_needed *lib)
{
	for (unsigned i = 0; i < LOADERS; i++) {
		const char *set = loaders[i].variable ? getenv(loaders[i].variable) : NULL;

		if (!has_prefix(lib->name, loaders[i].library))
			continue;
		if (set)
			snprintf(w->dir[i], PATH_MAX, "%s", set);
		else
			snprintf(w->dir[i], PATH_MAX, "%.*s",
				 (int)(strrchr(lib->path, '/') - lib->path), lib->path);
	}
}

static void found_verbs(struct walk *w, const struct ccs_elf_needed *lib)
{
	struct command_uses *u = w->uses;

	if (*u->verbs)
		return;
	set_once(u->verbs, sizeof(u->verbs), lib->name);
	set_once(u->by, sizeof(u->by), w->file ? w->file : lib->by ? lib->by : "");
	snprintf(u->of, sizeof(u->of), "%s", w->of ? w->of : "");
	snprintf(u->import, sizeof(u->import), "%s", w->import ? w->import : "");
}

static bool inspect_library(void *arg, const struct ccs_elf_needed *lib)
{
	struct walk *w = arg;
	struct command_uses *u = w->uses;

	if (!lib->elf && !w->of && !w->import) /* a plug-in that lacks a library is not used */
		set_once(u->missing, sizeof(u->missing), lib->name);
	if (has_prefix(lib->name, "libibverbs.so") && (lib->elf || !w->of))
		found_verbs(w, lib);
	if (!lib->elf || has_prefix(lib->name, "libibverbs.so"))
		return false;
	if (has_prefix(lib->name, "librdmacm.so") || has_prefix(lib->name, "libmlx5.so") ||
	    has_prefix(lib->name, "libefa.so") || !is_new(w, lib->path ? lib->path : lib->name))
		return false;
	find_loader(w, lib);
	find_direct_verbs(u, lib);
	if (ccs_elf_holds(lib->elf, "libibverbs.so"))
		set_once(u->opens, sizeof(u->opens), lib->name);
	/* A message or a symbol of libibverbs that is part of the object. */
	if (ccs_elf_holds(lib->elf, "libibverbs: Warning") ||
	    ccs_elf_symbol(lib->elf, "ibv_cmd_create_qp", true))
		set_once(u->copy, sizeof(u->copy), lib->name);
	return false;
}

static void walk_pattern(struct walk *w, const char *dir, const char *pattern)
{
	char path[PATH_MAX + 64];
	glob_t files;

	snprintf(path, sizeof(path), "%s%s", dir, pattern);
	if (glob(path, GLOB_BRACE, NULL, &files) != 0)
		return;
	for (size_t i = 0; i < files.gl_pathc; i++) {
		w->file = files.gl_pathv[i];
		ccs_elf_needed_walk(w->file, inspect_library, w);
	}
	globfree(&files);
}

static void walk_loader(struct walk *w, const struct loader *l, const char *dir)
{
	const bool elsewhere = l->variable && getenv(l->variable);

	w->of = l->name;
	for (const char *const *p = l->patterns; *p; p++)
		walk_pattern(w, dir, elsewhere ? strrchr(*p, '/') : *p);
}

/* Plug-ins may be linked to a library that has plug-ins itself: Open MPI's to UCX. */
static void walk_plugins(struct walk *w)
{
	char dir[PATH_MAX];
	bool found;

	do {
		found = false;
		for (unsigned i = 0; i < LOADERS; i++) {
			if (!*w->dir[i])
				continue;
			found = true;
			memcpy(dir, w->dir[i], sizeof(dir));
			*w->dir[i] = '\0';
			walk_loader(w, &loaders[i], dir);
		}
	} while (found);
}

static void walk_module(void *arg, const char *module, const char *file)
{
	struct walk *w = arg;

	w->import = module;
	w->file = file;
	ccs_elf_needed_walk(file, inspect_library, w);
	w->import = w->file = NULL;
}

static void find_uses(struct command_uses *u, const char *path, const struct command *script)
{
	struct walk *w = calloc(1, sizeof(*w));

	*u = (struct command_uses){ .ucx_direct = false };
	if (!w)
		return;
	w->uses = u;
	ccs_elf_needed_walk(path, inspect_library, w);
	if (script)
		command_python_modules(script, walk_module, w);
	walk_plugins(w);
	free(w);
}

void command_uses(struct command_uses *u, const struct command *c)
{
	find_uses(u, c->path, has_prefix(basename(c->path), "python") ? c : NULL);
}

bool command_file_uses(const char *path)
{
	struct command_uses u;

	find_uses(&u, path, NULL);
	return *u.verbs || *u.opens || *u.copy || *u.direct;
}
