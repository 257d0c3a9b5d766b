/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Providers, by rdma-core's sources: the functions whose names end in cq_clean, cleanup_cq,
 * clean_cqes or discard_cqes, and where they are called.
 */
#include "preload/object/provider.h"

#include <dlfcn.h>
#include <string.h>

enum { INTEL = 0x8086, MELLANOX = 0x02c9, RXE = 0xffffff };

/* struct ccs_provider's members, in short. */
#define DESTROY .purges_on_destroy = true
#define RESET .purges_on_reset = true
#define INDEX .arms_by_index = true
#define FLUSHES .flushes = true
#define SEND_CQ .reads_send_cq = true
#define RTS .remembers_rts = true
#define IMM .hides_sent_imm = true

/* The last one is for unknown providers: most adapters' remove completions. */
static const struct ccs_provider providers[] = {
	{ "libmlx5", MELLANOX, DESTROY, RESET, INDEX, FLUSHES, RTS, IMM },
	{ "libmlx4", 0, DESTROY, RESET, INDEX, FLUSHES },
	{ "libmthca", 0, DESTROY, RESET, INDEX, FLUSHES },
	{ "libbnxt_re", 0x14e4, DESTROY, RESET, FLUSHES, SEND_CQ },
	{ "libhns", 0x19e5, DESTROY, RESET, FLUSHES },
	{ "libvmw_pvrdma", 0x15ad, DESTROY, RESET, FLUSHES },
	{ "libionic", 0x1dd8, DESTROY, RESET, FLUSHES, SEND_CQ },
	{ "libirdma", INTEL, DESTROY },
	{ "libocrdma", 0x10df, DESTROY, FLUSHES },
	{ "librxe", RXE, FLUSHES },
	{ "libsiw", 0x626d74, FLUSHES },
	{ "libqedr", 0x1077, FLUSHES },
	{ "libefa", 0x1d0f, FLUSHES },
	{ "liberdma", 0x1ded, FLUSHES },
	{ "libmana", 0x1414, FLUSHES, SEND_CQ },
	{ "libcxgb4", 0x1425, FLUSHES },
	{ "libhfi1verbs", 0, FLUSHES },
	{ "libipathverbs", 0, FLUSHES },
	{ "", 0, DESTROY, RESET, FLUSHES, SEND_CQ },
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
