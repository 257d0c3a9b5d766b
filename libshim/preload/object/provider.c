/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of providers, from rdma-core's sources. The callers of the functions whose names end in
 * cq_clean, cleanup_cq, clean_cqes or discard_cqes show when a provider removes completions.
 */
#include "preload/object/provider.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { INTEL = 0x8086, MELLANOX = 0x02c9, RXE = 0xffffff };

#define PURGES .purges_on_destroy = true, .purges_on_reset = true
#define ERRORS(post, batch) .too_large = (post), .batch_too_large = (batch)
/* Not examined. The shim requests a completion early enough for a provider of either kind. */
#define UNEXAMINED .reuses_silently = true, ERRORS(EINVAL, ENOMEM)

static const struct ccs_provider providers[] = {
	{ .library = "libmlx5", .vendor = MELLANOX, PURGES, .arms_by_index = true,
	  .flushes = true, .remembers_rts = true, .hides_sent_imm = true, .has_mlx5_codes = true,
	  .doubles_rings = true, ERRORS(ENOMEM, ENOMEM) },
	{ .library = "libmlx4", PURGES, .arms_by_index = true, .flushes = true, .has_mlx5_codes = true,
	  .doubles_rings = true, ERRORS(ENOMEM, ENOMEM) },
	{ .library = "libmthca", PURGES, .arms_by_index = true, .flushes = true,
	  .doubles_rings = true, ERRORS(ENOMEM, ENOMEM) },
	{ .library = "libbnxt_re", .vendor = 0x14e4, PURGES, .flushes = true,
	  .reads_send_cq = true, UNEXAMINED },
	{ .library = "libhns", .vendor = 0x19e5, PURGES, .flushes = true, UNEXAMINED },
	{ .library = "libvmw_pvrdma", .vendor = 0x15ad, PURGES, .flushes = true, UNEXAMINED },
	{ .library = "libionic", .vendor = 0x1dd8, PURGES, .flushes = true,
	  .reads_send_cq = true, UNEXAMINED },
	{ .library = "libirdma", .vendor = INTEL, .purges_on_destroy = true,
	  .ignores_in_error = true, UNEXAMINED },
	{ .library = "libocrdma", .vendor = 0x10df, .purges_on_destroy = true, .flushes = true,
	  UNEXAMINED },
	{ .library = "librxe", .vendor = RXE, .flushes = true, .syscalls = true,
	  .flushes_without_port = true, .doubles_rings = true, .reuses_silently = true,
	  ERRORS(EINVAL, ENOSPC) },
	{ .library = "libsiw", .vendor = 0x626d74, .flushes = true, UNEXAMINED },
	{ .library = "libqedr", .vendor = 0x1077, .flushes = true, UNEXAMINED },
	{ .library = "libefa", .vendor = 0x1d0f, .flushes = true, UNEXAMINED },
	{ .library = "liberdma", .vendor = 0x1ded, .flushes = true, UNEXAMINED },
	{ .library = "libmana", .vendor = 0x1414, .flushes = true, .reads_send_cq = true,
	  UNEXAMINED },
	{ .library = "libcxgb4", .vendor = 0x1425, .flushes = true, UNEXAMINED },
	{ .library = "libhfi1verbs", .flushes = true, UNEXAMINED },
	{ .library = "libipathverbs", .flushes = true, UNEXAMINED },
	/* Any other: the drivers of most adapters remove completions. */
	{ .library = "", PURGES, .flushes = true, .reads_send_cq = true, UNEXAMINED },
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
