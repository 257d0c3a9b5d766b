/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/users.h"

#include <stdint.h>
#include <stdio.h>

#define ALL_USERS UINT32_MAX             /* differs from CCS_NO_USER */
#define OVERFLOW_UID 65534u              /* default of the kernel */

/* Each line of the map is a range. Without /proc it is unknown, and counted as a part. */
static bool are_all_mapped(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned long long count, sum = 0;

	while (f && fscanf(f, "%*u %*u %llu", &count) == 1)
		sum += count;
	if (f)
		fclose(f);
	return sum >= ALL_USERS;
}

uid_t ccs_users_unmapped(void)
{
	unsigned uid = OVERFLOW_UID;
	FILE *f;

	if (are_all_mapped())
		return CCS_NO_USER;
	f = fopen("/proc/sys/kernel/overflowuid", "re");
	if (f && fscanf(f, "%u", &uid) != 1)
		uid = OVERFLOW_UID;
	if (f)
		fclose(f);
	return uid;
}
