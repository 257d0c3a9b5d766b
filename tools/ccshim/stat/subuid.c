/* SPDX-License-Identifier: BSD-2-Clause */
#include "subuid.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NO_USER ((uid_t)-1)

struct range {
	char name[64];                   /* a user's name or number */
	unsigned long first, count;
	uid_t user;                      /* user with the name; if known */
	bool known;
};

static struct range *ranges;
static size_t nranges;

static void read_ranges(void)
{
	FILE *f = fopen("/etc/subuid", "re");
	char line[256];
	struct range r;

	while (f && fgets(line, sizeof(line), f)) {
		r = (struct range){ 0 };
		if (sscanf(line, "%63[^:]:%lu:%lu", r.name, &r.first, &r.count) != 3)
			continue;
		if (!CCS_GROW(ranges, nranges))
			break;
		ranges[nranges++] = r;
	}
	if (f)
		fclose(f);
}

/* NO_USER: no such user exists. */
static uid_t user_of(struct range *r)
{
	const struct passwd *user = r->known ? NULL : getpwnam(r->name);
	char *end;

	if (r->known)
		return r->user;
	r->known = true;
	r->user = user ? user->pw_uid : (uid_t)strtoul(r->name, &end, 10);
	if (!user && (end == r->name || *end))
		r->user = NO_USER;
	return r->user;
}

uid_t subuid_user(uid_t uid)
{
	static bool have_read;

	if (!have_read)
		read_ranges();
	have_read = true;
	for (size_t i = 0; i < nranges; i++)
		if (uid >= ranges[i].first && uid - ranges[i].first < ranges[i].count)
			return user_of(&ranges[i]) == NO_USER ? uid : user_of(&ranges[i]);
	return uid;
}
