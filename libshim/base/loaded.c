/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loaded.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VERSION_INDEX = 0x7fff, VERSION_HIDDEN = 0x8000 };

/* The dynamic symbols of an object. */
struct table {
	uintptr_t base;
	const char *strings;
	const ElfW(Sym) *symbols;
	const uint32_t *gnu, *sysv;      /* hash tables; at least one exists */
	const ElfW(Half) *versions;
	const ElfW(Verdef) *definitions;
};

static bool is_inside(const struct dl_phdr_info *info, uintptr_t at)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    at - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static void read_table(struct table *t, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;

	*t = (struct table){ .base = info->dlpi_addr };
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(t->base + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		/* The dynamic linker relocates the addresses in some objects only, not in the vDSO. */
		const uintptr_t given = d->d_un.d_ptr, at = is_inside(info, given) ? given : t->base + given;

		switch (d->d_tag) {
		case DT_STRTAB: t->strings = (const char *)at; break;
		case DT_SYMTAB: t->symbols = (const ElfW(Sym) *)at; break;
		case DT_GNU_HASH: t->gnu = (const uint32_t *)at; break;
		case DT_HASH: t->sysv = (const uint32_t *)at; break;
		case DT_VERSYM: t->versions = (const ElfW(Half) *)at; break;
		case DT_VERDEF: t->definitions = (const ElfW(Verdef) *)at; break;
		}
	}
}

/* An object without versions has all of them, as for the dynamic linker. */
static bool has_version(const struct table *t, uint32_t i, const char *version)
{
	const unsigned index = t->versions && t->definitions ? t->versions[i] : VER_NDX_GLOBAL;
	const ElfW(Verdef) *d = t->definitions;
	const ElfW(Verdaux) *name;

	if (!version || index == VER_NDX_GLOBAL)
		return !(index & VERSION_HIDDEN);
	while (d->vd_ndx != (index & VERSION_INDEX) && d->vd_next)
		d = (const ElfW(Verdef) *)((const char *)d + d->vd_next);
	name = (const ElfW(Verdaux) *)((const char *)d + d->vd_aux);
	return d->vd_ndx == (index & VERSION_INDEX) &&
	       strcmp(t->strings + name->vda_name, version) == 0;
}

static void *match(const struct table *t, uint32_t i, const char *name, const char *version)
{
	const ElfW(Sym) *s = &t->symbols[i];

	return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
	       ELF64_ST_BIND(s->st_info) != STB_LOCAL && strcmp(t->strings + s->st_name, name) == 0 &&
	       has_version(t, i, version) ? (void *)(t->base + s->st_value) : NULL;
}

static void *find_gnu(const struct table *t, const char *name, const char *version)
{
	const uint32_t buckets = t->gnu[0], first = t->gnu[1], words = t->gnu[2];
	const uint32_t *bucket = t->gnu + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = 5381, i;
	void *found = NULL;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	i = buckets ? bucket[hash % buckets] : 0;
	if (i < first || !i)
		return NULL;
	do {
		if ((chain[i - first] | 1) == (hash | 1))
			found = match(t, i, name, version);
	} while (!found && !(chain[i++ - first] & 1));
	return found;
}

static void *find_sysv(const struct table *t, const char *name, const char *version)
{
	const uint32_t symbols = t->sysv[1];
	void *found = NULL;

	for (uint32_t i = 0; !found && i < symbols; i++)
		found = match(t, i, name, version);
	return found;
}

static void *find_in(const struct dl_phdr_info *info, const char *name, const char *version)
{
	struct table t;

	read_table(&t, info);
	if (!t.strings || !t.symbols)
		return NULL;
	return t.gnu ? find_gnu(&t, name, version) : t.sysv ? find_sysv(&t, name, version) : NULL;
}

struct search {
	const char *library, *name, *version;
	bool passed;                     /* this object */
	unsigned seen;                   /* number of objects */
	void *found;
};

static bool is_library(const struct search *s, const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, s->library, strlen(s->library)) == 0;
}

static atomic_uint at_start; /* objects that were loaded with the program; 0: not counted */

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	++*(unsigned *)arg;
	return 0;
}

/* The constructor of another object may need a function before. */
static void __attribute__((constructor)) count_objects(void)
{
	unsigned objects = 0;

	if (atomic_load(&at_start))
		return;
	dl_iterate_phdr(count, &objects);
	atomic_store(&at_start, objects);
}

/*
 * Ends the walk at the first definition after this object. A module that was opened later may have
 * one for itself only, as a static copy of libibverbs. It counts only if no other object has one.
 */
static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const bool library = is_library(s, info->dlpi_name), loaded_at_start = s->seen++ < at_start;
	const bool next = s->passed && (loaded_at_start || library);
	void *found;

	(void)size;
	if (is_inside(info, (uintptr_t)ccs_loaded_find)) {
		s->passed = true;
		return 0;
	}
	if (!next && s->found && !library)
		return 0;
	found = find_in(info, s->name, s->version);
	s->found = found ? found : s->found;
	return found && next;
}

void *ccs_loaded_find(const char *library, const char *name, const char *version)
{
	struct search s = { .library = library, .name = name, .version = version };

	count_objects();
	dl_iterate_phdr(visit, &s);
	return s.found;
}

static int visit_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)size;
	if (is_library(s, info->dlpi_name))
		s->found = find_in(info, s->name, NULL);
	return s->found != NULL;
}

/* Defined by the tests' device: the test program's definition, or NULL. */
extern void *ccs_test_function(const char *name) __attribute__((weak, visibility("default")));

void *ccs_loaded_find_libc(const char *name)
{
	struct search s = { .library = "libc.so", .name = name };

	if (ccs_test_function)
		s.found = ccs_test_function(name);
	if (!s.found)
		dl_iterate_phdr(visit_library, &s);
	return s.found;
}
