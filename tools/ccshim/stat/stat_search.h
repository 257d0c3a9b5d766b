/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_STAT_SEARCH_H
#define CCS_STAT_SEARCH_H
/*
 * The search for statistics files. The caller reads /proc, and finds out which users and containers
 * there are (stat_find.c). A child for each of them reads its files (stat_party.c), since reading
 * may wait, and no user may delay or hide the statistics of others.
 */
#include <stdint.h>

#include "namespaces.h"
#include "stat.h"

/*
 * Whose files one child reads: a user's, in the mount namespaces of the caller and of the user's
 * containers; or all files in one mount namespace that root made, such as a container's.
 */
struct party {
	uid_t user;
	uint64_t mount_ns;               /* 0: it is a user */
};

/* A directory in the caller's mount namespace. */
struct found_dir {
	char name[300];
	uid_t user;                      /* of its owner */
};

struct search {
	struct stat_snapshot *s;
	struct namespaces ns;
	pid_t only;                      /* 0: all processes */
	bool brief;                      /* without queue pairs */
	const char *stats_dir;
	uid_t *uid;                      /* of processes, without repetitions */
	size_t nuids;
	struct party *party;
	size_t nparties;
	struct found_dir *dir;
	size_t ndirs;
};

/* A child writes records of these kinds; the queue pairs of a process follow it. */
enum search_kind { SEARCH_PROCESS, SEARCH_OMITTED, SEARCH_OBSTACLE };

struct search_omitted {
	uint32_t denied, invisible, unreadable;
};

/* Directories of a user in one place, and in all the user's containers. */
enum { DIRS_OF_USER = 64, DIRS_OF_PARTY = 1024 };

/* The name of its child, by which an abandoned one is recognised. */
void stat_party_name(const struct party *party, char name[16]);
/* The child: read the files of that party. */
void stat_party_read(const struct search *f, const struct party *party, int out);

#endif
