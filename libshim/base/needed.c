/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/needed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

enum { MOST = 1024 };                    /* libraries; no real program has as many */

struct entry {
	char *name, *path;
	struct ccs_elf elf;
	unsigned by;
};

struct walk {
	struct entry entry[MOST];        /* in order, the first `count`; no path: not found */
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

static bool opens(struct walk *w, struct entry *e, const char *path)
{
	if (ccs_elf_open(&e->elf, path))
		return false;
	if (!w->like || ccs_elf_alike(&e->elf, w->like)) {
		e->path = strdup(path);
		if (e->path)
			return true;
	}
	ccs_elf_close(&e->elf);
	return false;
}

/* One directory of a list, $ORIGIN being that of the file which asks. */
static bool expand(const char *dir, size_t len, const char *asker, char *out, size_t size)
{
	static const char *const origins[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = asker ? strrchr(asker, '/') : NULL;

	for (unsigned i = 0; slash && i < 2; i++) {
		const size_t skip = strlen(origins[i]);

		if (len >= skip && strncmp(dir, origins[i], skip) == 0)
			return snprintf(out, size, "%.*s%.*s", (int)(slash - asker), asker,
					(int)(len - skip), dir + skip) < (int)size;
	}
	return snprintf(out, size, "%.*s", len ? (int)len : 1, len ? dir : ".") < (int)size;
}

/* A list of directories with colons between them; an empty one is the current. */
static bool in_list(struct walk *w, struct entry *e, const char *list, const char *asker)
{
	char dir[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];

	for (size_t len; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ":;");
		if (expand(list, len, asker, dir, sizeof(dir)) &&
		    snprintf(path, sizeof(path), "%s/%s", dir, e->name) < (int)sizeof(path) &&
		    opens(w, e, path))
			return true;
	}
	return false;
}

static const char *string_at(const char *cache, size_t len, uint32_t offset)
{
	return offset < len && memchr(cache + offset, '\0', len - offset) ? cache + offset : NULL;
}

static bool in_cache_file(struct walk *w, struct entry *e, const char *cache, size_t len)
{
	const struct cache_header *header = (const void *)cache;
	const struct cache_entry *c = (const void *)(header + 1);

	if (len < sizeof(*header) || memcmp(header->magic, CACHE_MAGIC, sizeof(header->magic)) != 0)
		return false;
	for (uint32_t i = 0; i < header->count && (const char *)(c + 1) <= cache + len; i++, c++) {
		const char *name = string_at(cache, len, c->name);
		const char *path = string_at(cache, len, c->path);

		if (name && path && strcmp(name, e->name) == 0 && opens(w, e, path))
			return true;
	}
	return false;
}

static bool in_cache(struct walk *w, struct entry *e)
{
	FILE *file = fopen(CACHE, "re");
	char *cache = NULL;
	size_t len = 0, room = 0, n;
	bool found;

	if (!file)
		return false;
	do { /* whoever replaces it puts a new file in its place */
		room += 1 << 16;
		cache = realloc(cache, room);
		n = cache ? fread(cache + len, 1, room - len, file) : 0;
		len += n;
	} while (n && len == room);
	fclose(file);
	found = cache && in_cache_file(w, e, cache, len);
	free(cache);
	return found;
}

/* ld.so's order. An RPATH counts only where there is no RUNPATH, and then for all below. */
static bool locate(struct walk *w, struct entry *e)
{
	const struct entry *asker = w->count ? &w->entry[e->by] : NULL;
	const char *runpath = asker ? ccs_elf_dynamic(&asker->elf, DT_RUNPATH, 0) : NULL;
	const char *env = getenv("LD_LIBRARY_PATH");

	if (strchr(e->name, '/'))
		return opens(w, e, e->name);
	for (const struct entry *a = asker; a && !runpath; a = a->by < (unsigned)(a - w->entry)
	     ? &w->entry[a->by] : NULL)
		if (!ccs_elf_dynamic(&a->elf, DT_RUNPATH, 0) &&
		    in_list(w, e, ccs_elf_dynamic(&a->elf, DT_RPATH, 0), a->path))
			return true;
	return (env && *env && in_list(w, e, env, NULL)) ||
	       in_list(w, e, runpath, asker ? asker->path : NULL) || in_cache(w, e) ||
	       in_list(w, e, "/lib64:/usr/lib64:/lib:/usr/lib", NULL);
}

static bool known(const struct walk *w, const char *name)
{
	for (unsigned i = 0; i < w->count; i++)
		if (strcmp(w->entry[i].name, name) == 0)
			return true;
	return false;
}

/* Adds and visits it. 0: go on. */
static int take(struct walk *w, const char *name, unsigned by, ccs_needed_visit *visit, void *arg)
{
	struct entry *e = &w->entry[w->count];
	struct ccs_needed lib = { .name = name, .by = w->count ? w->entry[by].name : NULL };

	if (w->count == MOST || known(w, name))
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

static int take_all(struct walk *w, const char *file, ccs_needed_visit *visit, void *arg)
{
	const char *name;
	int rc = take(w, file, 0, visit, arg);

	w->like = &w->entry[0].elf;
	for (unsigned i = 0; i < w->count && !rc; i++)
		for (unsigned n = 0; !rc && n < MOST &&
		     (name = ccs_elf_dynamic(&w->entry[i].elf, DT_NEEDED, n)); n++)
			rc = take(w, name, i, visit, arg);
	return rc == ENOMEM ? rc : 0;
}

int ccs_needed_walk(const char *file, ccs_needed_visit *visit, void *arg)
{
	struct walk *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return ENOMEM;
	rc = take_all(w, file, visit, arg);
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
