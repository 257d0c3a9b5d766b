/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/provider.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "libmlx5-rdmav34.so" becomes "libmlx5". False for libibverbs's own placeholders. */
static bool name_of_file(const char *file, char *name, size_t len)
{
	const char *base = basename(file);

	if (strncmp(base, "libibverbs", 10) == 0 || strncmp(base, "libccshim", 9) == 0)
		return false;
	snprintf(name, len, "%.*s", (int)strcspn(base, "-."), base);
	return true;
}

const char *provider_name(const struct ibv_context *context, char *name, size_t len)
{
	const struct ibv_context_ops *ops = &context->ops;
	const void *const functions[] = { (const void *)ops->post_srq_recv,
					  (const void *)ops->req_notify_cq,
					  (const void *)ops->dealloc_mw,
					  (const void *)ops->poll_cq };
	Dl_info where;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (functions[i] && dladdr(functions[i], &where) && where.dli_fname &&
		    name_of_file(where.dli_fname, name, len))
			return name;
	*name = '\0';
	return name;
}

bool driver_name(int dir, const char *link, char *name, size_t len)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(dir, link, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	snprintf(name, len, "%s", basename(target));
	return true;
}
