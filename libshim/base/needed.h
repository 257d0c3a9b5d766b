/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_NEEDED_H
#define CCS_BASE_NEEDED_H
/*
 * Which libraries a file brings along, without loading it: DT_NEEDED, level by
 * level, found as ld.so(8) does by RPATH, LD_LIBRARY_PATH, RUNPATH, its cache and the
 * usual directories. Not known here: hwcaps, and $LIB and $PLATFORM in a path.
 */
#include "base/elf.h"

struct ccs_needed {
	const char *name;               /* as asked for: "libibverbs.so.1" */
	const char *path;               /* NULL: not found */
	const char *by;                 /* the name of what asked for it first; NULL: the file */
	const struct ccs_elf *elf;      /* NULL: not found */
};

/* True ends the walk. */
typedef bool ccs_needed_visit(void *arg, const struct ccs_needed *lib);

/*
 * The file itself, then each library that it needs, nearest first and each once. A name
 * without a slash is looked up as a library's. 0, an errno value if the file cannot be
 * read as ELF, or ENOMEM in between. Allocates, reads files.
 */
int ccs_needed_walk(const char *file, ccs_needed_visit *visit, void *arg);

#endif
