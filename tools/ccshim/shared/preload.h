/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PRELOAD_H
#define CCS_TOOLS_PRELOAD_H
/* Finds the library to preload, and checks whether a program will load it. */
#include <stdbool.h>
#include <stddef.h>

/*
 * Find libccshim.so, in this order: $CCSHIM_LIB; the build tree if this program runs from there;
 * the place relative to this program where both are installed; the configured prefix. 0, or -1 with
 * a sentence in err.
 */
int preload_find(char *path, size_t len, char *err, size_t errlen);

/* The path of a program in libexec, or beside this one in the build tree. */
void preload_libexec(const char *name, char *path, size_t len);

/* The path of the program that execvp(name) would run, perhaps in buf, or NULL. */
const char *preload_which(const char *name, char *buf, size_t len);

/* Why the traffic of that file cannot be controlled by a preload. */
enum preload_obstacle {
	PRELOAD_FREE, PRELOAD_FOREIGN, PRELOAD_STATIC, PRELOAD_LIBC, PRELOAD_MSAN,
	PRELOAD_SETUID, PRELOAD_SETGID, PRELOAD_CAPABILITIES,
};

enum preload_obstacle preload_obstacle(const char *path);
extern const struct preload_obstacle_text {
	const char *text, *remedy;      /* "it is setuid", "run it as its owner" */
} preload_obstacle_texts[];

#endif
