/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parent domains with a thread domain or allocators. In a thread domain the application promises
 * that one thread at a time uses its objects, and the provider takes no locks, not even for the
 * doorbell that they share. But the pacer thread and polling threads post as well. From allocators
 * the shim would request other sizes.
 */
#include "preload/object/parent_domain.h"

#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"

struct ibv_pd *ccs_parent_domain_alloc(struct ctx *ctx, struct ibv_parent_domain_init_attr *attr)
{
	struct ibv_pd *pd = ctx->alloc_parent_domain(ctx->context, attr);

	if (pd && (attr->td || attr->comp_mask) && !ccs_forked())
		ccs_ptrmap_put(&ccs_shim()->parent_domains, pd, pd);
	return pd;
}

bool ccs_parent_domain_is(const struct ibv_pd *pd)
{
	return ccs_ptrmap_get(&ccs_shim()->parent_domains, pd);
}

/* The record goes first: the address may be given to a plain domain next. */
int ccs_parent_domain_dealloc(struct ibv_pd *pd)
{
	const bool is_parent = !ccs_forked() && ccs_parent_domain_is(pd);
	int rc;

	if (is_parent)
		ccs_ptrmap_del(&ccs_shim()->parent_domains, pd, pd);
	rc = ccs_real()->ibv_dealloc_pd(pd);
	if (rc && is_parent)
		ccs_ptrmap_put(&ccs_shim()->parent_domains, pd, pd);
	return rc;
}
