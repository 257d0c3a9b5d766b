/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parent domains with a thread domain or allocators. In a thread domain the application promises
 * that one thread at a time uses its objects, and the provider takes no locks, not even for the
 * doorbell that they share. But the pacer thread and polling threads post as well. A controlled QP
 * is therefore created in the plain domain below, where keys are the same and locks are taken. The
 * QP shows the parent domain to the application. With allocators a QP is uncontrolled, because the
 * shim would request other sizes from them.
 */
#include "preload/object/parent_domain.h"

#include <errno.h>
#include <stdlib.h>

#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"

struct parent_domain {
	struct ibv_pd *parent, *plain;
	bool allocates;                  /* it has allocators of the application */
	atomic_uint qps;                 /* QPs that were created in plain instead */
};

struct ibv_pd *ccs_parent_domain_alloc(struct ctx *ctx, struct ibv_parent_domain_init_attr *attr)
{
	struct ibv_pd *pd = ctx->alloc_parent_domain(ctx->context, attr);
	const bool plain = !attr->td && !attr->comp_mask;
	struct parent_domain *d = pd && !plain && !ccs_forked() ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return pd;
	d->parent = pd;
	d->plain = attr->pd;
	d->allocates = attr->comp_mask;
	if (ccs_ptrmap_put(&ccs_shim()->parent_domains, pd, d))
		free(d);
	return pd;
}

/* NULL: it is no parent domain. */
static struct parent_domain *find(const struct ibv_pd *pd)
{
	return ccs_ptrmap_get(&ccs_shim()->parent_domains, pd);
}

/* The record goes first: the address may be given to a plain domain next. */
int ccs_parent_domain_dealloc(struct ibv_pd *pd)
{
	struct ccs_ptrmap *parents = &ccs_shim()->parent_domains;
	struct parent_domain *d = find(pd);
	int rc;

	if (ccs_forked())
		return ccs_real()->ibv_dealloc_pd(pd);
	if (d && atomic_load(&d->qps))
		return EBUSY;
	if (d)
		ccs_ptrmap_del(parents, pd, d);
	rc = ccs_real()->ibv_dealloc_pd(pd);
	if (d && (!rc || ccs_ptrmap_put(parents, pd, d)))
		free(d);
	return rc;
}

bool ccs_parent_domain_is_avoidable(const struct ibv_pd *pd)
{
	const struct parent_domain *d = find(pd);

	return !d || !d->allocates;
}

struct ibv_pd *ccs_parent_domain_plain(struct ibv_pd *pd)
{
	const struct parent_domain *d = find(pd);

	return d ? d->plain : pd;
}

void ccs_parent_domain_enter(struct qp *qp, const struct ibv_pd *pd)
{
	qp->attr.domain = find(pd);
	if (!qp->attr.domain)
		return;
	atomic_fetch_add(&qp->attr.domain->qps, 1);
	ccs_parent_domain_set_pd(qp, true);
}

void ccs_parent_domain_leave(const struct qp *qp)
{
	if (qp->attr.domain)
		atomic_fetch_sub(&qp->attr.domain->qps, 1);
}

void ccs_parent_domain_set_pd(const struct qp *qp, bool parent)
{
	if (qp->attr.domain)
		qp->real->pd = parent ? qp->attr.domain->parent : qp->attr.domain->plain;
}
