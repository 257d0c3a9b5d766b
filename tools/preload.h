/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PRELOAD_H
#define CCS_TOOLS_PRELOAD_H
/* The library to preload, and whether a program will load it. */
#include <stdbool.h>
#include <stddef.h>

/*
 * $CCSHIM_LIB, else the one just built if this program runs from its build tree,
 * else the installed one. 0, or -1 with a sentence in err.
 */
int preload_find(char *path, size_t len, char *err, size_t errlen);

/* The directory above tools/ (or tools/.libs/) that this program was built in, with a slash;
 * false: it was installed. */
bool preload_build_dir(char *dir, size_t len);

/* The program that execvp(name) would take, or NULL; buf holds it. */
const char *preload_which(const char *name, char *buf, size_t len);

/* Why the dynamic linker will not preload anything into that file. */
enum preload_obstacle {
	PRELOAD_FREE, PRELOAD_FOREIGN, PRELOAD_STATIC,
	PRELOAD_SETUID, PRELOAD_SETGID, PRELOAD_CAPABILITIES,
};

enum preload_obstacle preload_obstacle(const char *path);
/* "it is setuid"; NULL of PRELOAD_FREE. */
const char *preload_obstacle_text(enum preload_obstacle obstacle);

#endif
