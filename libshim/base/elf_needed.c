/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/elf_needed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

enum { LIBRARIES_MAX = 1024 };           /* more than any real program needs */

struct entry {
	char *name, *path;
	struct ccs_elf elf;
	unsigned by;
};

struct walk {
	struct entry entry[LIBRARIES_MAX]; /* the first `count`, in order; no path: not found */
	unsigned count;
	const struct ccs_elf *like;      /* libraries of another machine do not count */
};

/* ld.so's cache: a header, entries, and strings at offsets from the header. */
struct cache_header {
	char magic[sizeof(CACHE_MAGIC) - 1];
	uint32_t count, rest[6];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path, os_version;
	uint64_t hwcap;
};

static bool open_if_alike(struct walk *w, struct entry *e, const char *path)
{
	if (ccs_elf_open(&e->elf, path))
		return false;
	if (!w->like || ccs_elf_alike(&e->elf, w->like)) {
		e->path = strdup(path);
		if (e->path)
			return true;
	}
	ccs_elf_close(&e->elf);
	e->elf = (struct ccs_elf){ 0 };
	return false;
}

/* One directory of a list; $ORIGIN is the directory of the file that needs the library. */
static bool expand_origin(const char *dir, size_t len, const char *needer, char *out, size_t size)
{
	static const char *const origins[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = needer ? strrchr(needer, '/') : NULL;

	for (unsigned i = 0; slash && i < 2; i++) {
		const size_t skip = strlen(origins[i]);

		if (len >= skip && strncmp(dir, origins[i], skip) == 0)
			return snprintf(out, size, "%.*s%.*s", (int)(slash - needer), needer,
					(int)(len - skip), dir + skip) < (int)size;
	}
	return snprintf(out, size, "%.*s", len ? (int)len : 1, len ? dir : ".") < (int)size;
}

/* A list of directories, separated by colons; an empty entry is the current directory. */
static bool find_in_list(struct walk *w, struct entry *e, const char *list, const char *needer)
{
	char *dir = malloc(PATH_MAX), *path; /* the stack of dlopen()'s caller may be small */
	bool found = false;

	for (size_t len; dir && list && !found; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ":;");
		if (!expand_origin(list, len, needer, dir, PATH_MAX) ||
		    asprintf(&path, "%s/%s", dir, e->name) < 0)
			continue;
		found = open_if_alike(w, e, path);
		free(path);
	}
	free(dir);
	return found;
}

static const char *string_at(const char *cache, size_t len, uint32_t offset)
{
	return offset < len && memchr(cache + offset, '\0', len - offset) ? cache + offset : NULL;
}

static bool find_in_cache_file(struct walk *w, struct entry *e, const char *cache, size_t len)
{
	const struct cache_header *header = (const void *)cache;
	const struct cache_entry *c = (const void *)(header + 1);

	if (len < sizeof(*header) || memcmp(header->magic, CACHE_MAGIC, sizeof(header->magic)) != 0)
		return false;
	for (uint32_t i = 0; i < header->count && (const char *)(c + 1) <= cache + len; i++, c++) {
		const char *name = string_at(cache, len, c->name);
		const char *path = string_at(cache, len, c->path);

		if (name && path && strcmp(name, e->name) == 0 && open_if_alike(w, e, path))
			return true;
	}
	return false;
}

static bool find_in_cache(struct walk *w, struct entry *e)
{
	FILE *file = fopen(CACHE, "re");
	char *cache = NULL;
	size_t len = 0, size = 0, n;
	bool found;

	if (!file)
		return false;
	do { /* ldconfig replaces the file, so it does not change while it is read */
		size += 1 << 16;
		cache = realloc(cache, size);
		n = cache ? fread(cache + len, 1, size - len, file) : 0;
		len += n;
	} while (n && len == size);
	fclose(file);
	found = cache && find_in_cache_file(w, e, cache, len);
	free(cache);
	return found;
}

/* In ld.so's order. An RPATH counts only without a RUNPATH, and then also for indirect needs. */
static bool locate(struct walk *w, struct entry *e)
{
	const struct entry *needer = w->count ? &w->entry[e->by] : NULL;
	const char *runpath = needer ? ccs_elf_dynamic(&needer->elf, DT_RUNPATH, 0) : NULL;
	const char *env = getenv("LD_LIBRARY_PATH");

	if (strchr(e->name, '/'))
		return open_if_alike(w, e, e->name);
	for (const struct entry *a = needer; a && !runpath; a = a->by < (unsigned)(a - w->entry)
	     ? &w->entry[a->by] : NULL)
		if (!ccs_elf_dynamic(&a->elf, DT_RUNPATH, 0) &&
		    find_in_list(w, e, ccs_elf_dynamic(&a->elf, DT_RPATH, 0), a->path))
			return true;
	return (env && *env && find_in_list(w, e, env, NULL)) ||
	       find_in_list(w, e, runpath, needer ? needer->path : NULL) || find_in_cache(w, e) ||
	       find_in_list(w, e, "/lib64:/usr/lib64:/lib:/usr/lib", NULL);
}

static bool is_known(const struct walk *w, const char *name)
{
	for (unsigned i = 0; i < w->count; i++)
		if (strcmp(w->entry[i].name, name) == 0)
			return true;
	return false;
}

/* Add and visit a library once. 0: continue, -1: the visitor ends the walk. */
static int add_library(struct walk *w, const char *name, unsigned by,
		       ccs_elf_needed_visit *visit, void *arg)
{
	struct entry *e = &w->entry[w->count];
	struct ccs_elf_needed lib = { .name = name, .by = w->count ? w->entry[by].name : NULL };

	if (w->count == LIBRARIES_MAX || is_known(w, name))
		return 0;
	*e = (struct entry){ .name = strdup(name), .by = by };
	if (!e->name)
		return ENOMEM;
	if (locate(w, e)) {
		lib.path = e->path;
		lib.elf = &e->elf;
	}
	w->count++;
	return visit(arg, &lib) ? -1 : 0;
}

static int walk_all(struct walk *w, const char *file, ccs_elf_needed_visit *visit, void *arg)
{
	const char *name;
	int rc = add_library(w, file, 0, visit, arg);

	w->like = &w->entry[0].elf;
	for (unsigned i = 0; i < w->count && !rc; i++)
		for (unsigned n = 0; !rc && n < LIBRARIES_MAX &&
		     (name = ccs_elf_dynamic(&w->entry[i].elf, DT_NEEDED, n)); n++)
			rc = add_library(w, name, i, visit, arg);
	return rc == ENOMEM ? rc : 0;
}

int ccs_elf_needed_walk(const char *file, ccs_elf_needed_visit *visit, void *arg)
{
	struct walk *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return ENOMEM;
	rc = walk_all(w, file, visit, arg);
	if (!rc && !w->entry[0].path)
		rc = ENOEXEC;
	for (unsigned i = 0; i < w->count; i++) {
		if (w->entry[i].path)
			ccs_elf_close(&w->entry[i].elf);
		free(w->entry[i].name);
		free(w->entry[i].path);
	}
	free(w);
	return rc;
}
