/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Providers, by rdma-core's sources: the functions whose names end in cq_clean, cleanup_cq,
 * clean_cqes or discard_cqes, and where they are called.
 */
#include "preload/object/provider.h"

#include <dlfcn.h>
#include <string.h>

enum { INTEL = 0x8086, MELLANOX = 0x02c9, RXE = 0xffffff };

/* The last one is for unknown providers: most adapters' remove completions. */
static const struct ccs_provider providers[] = {
	{ "libmlx5", MELLANOX, true, true, true, true, false, true },
	{ "libmlx4", 0, true, true, true, true, false, false },
	{ "libmthca", 0, true, true, true, true, false, false },
	{ "libbnxt_re", 0x14e4, true, true, false, true, true, false },
	{ "libhns", 0x19e5, true, true, false, true, false, false },
	{ "libvmw_pvrdma", 0x15ad, true, true, false, true, false, false },
	{ "libionic", 0x1dd8, true, true, false, true, true, false },
	{ "libirdma", INTEL, true, false, false, false, false, false },
	{ "libocrdma", 0x10df, true, false, false, true, false, false },
	{ "librxe", RXE, false, false, false, true, false, false },
	{ "libsiw", 0x626d74, false, false, false, true, false, false },
	{ "libqedr", 0x1077, false, false, false, true, false, false },
	{ "libefa", 0x1d0f, false, false, false, true, false, false },
	{ "liberdma", 0x1ded, false, false, false, true, false, false },
	{ "libmana", 0x1414, false, false, false, true, true, false },
	{ "libcxgb4", 0x1425, false, false, false, true, false, false },
	{ "libhfi1verbs", 0, false, false, false, true, false, false },
	{ "libipathverbs", 0, false, false, false, true, false, false },
	{ "", 0, true, true, false, true, true, false },
};

enum { N = sizeof(providers) / sizeof(*providers) };

static bool is_library(const struct ccs_provider *p, const char *file)
{
	const size_t len = strlen(p->library);
	const char *base = strrchr(file, '/');

	base = base ? base + 1 : file;
	return len && strncmp(base, p->library, len) == 0 && strchr("-.", base[len]);
}

const struct ccs_provider *ccs_provider_find(const void *poll_cq, uint32_t vendor)
{
	const struct ccs_provider *p = providers;
	Dl_info where;

	if (dladdr(poll_cq, &where) && where.dli_fname)
		for (unsigned i = 0; i + 1 < N; i++)
			if (is_library(&p[i], where.dli_fname))
				return &p[i];
	for (unsigned i = 0; i + 1 < N; i++)
		if (vendor && p[i].vendor == vendor)
			return &p[i];
	return &p[N - 1];
}
