/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/share.h"

#include <stdint.h>
#include <stdio.h>

#include "config/job.h"

/* FNV-1a, and the finaliser of splitmix64, since texts may differ in their last digits only. */
static uint64_t hash(const char *text)
{
	uint64_t x = 0xcbf29ce484222325;

	for (; *text; text++)
		x = (x ^ (unsigned char)*text) * 0x100000001b3;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

double ccs_share_place(const struct ccs_job *job, pid_t pid)
{
	char process[sizeof(job->host) + 16];

	snprintf(process, sizeof(process), "%s %d", job->host, (int)pid);
	return 100 * ((double)(hash(*job->id ? job->id : process) >> 11) + 1) / 0x1p53;
}
