/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_ELF_NEEDED_H
#define CCS_BASE_ELF_NEEDED_H
/*
 * Lists the libraries that a file needs, without loading it: DT_NEEDED, level by level, found as
 * ld.so(8) does by RPATH, LD_LIBRARY_PATH, RUNPATH, its cache and the default directories. Not
 * supported: hwcaps, and $LIB and $PLATFORM in a path.
 */
#include "base/elf.h"

struct ccs_elf_needed {
	const char *name;               /* as in DT_NEEDED: "libibverbs.so.1" */
	const char *path;               /* NULL: not found */
	const char *by;                 /* the first library that needs it; NULL: the file itself */
	const struct ccs_elf *elf;      /* NULL: not found */
};

/* True ends the walk. */
typedef bool ccs_elf_needed_visit(void *arg, const struct ccs_elf_needed *lib);

/*
 * Visit the file itself, then each library that it needs, level by level and each once. A name
 * without a slash is searched for as a library. Returns 0, an errno value if the file cannot be
 * read as ELF, or ENOMEM. Allocates, reads files.
 */
int ccs_elf_needed_walk(const char *file, ccs_elf_needed_visit *visit, void *arg);

#endif
