/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_TREE_H
#define CCS_TESTS_TREE_H
/* Temporary directories that replace sysfs and are removed after the test. */
#include <ftw.h>
#include <stdio.h>

static inline int tree_remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw)
{
	(void)s, (void)flag, (void)ftw;
	return remove(path);
}

/* Remove a directory with all its contents. Returns 0, or -1 and errno. */
static inline int tree_remove(const char *path)
{
	return nftw(path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Set-up and end of a group whose directory is root, a template of mkdtemp(3). */
#define TREE_GROUP(root) \
	static int make_root(void **state) { return mkdtemp(root) ? 0 : -1; } \
	static int remove_root(void **state) { return tree_remove(root); }

#endif
