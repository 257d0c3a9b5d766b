/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parent domains with a thread domain. The application promises that one thread at a
 * time uses what is made there, and the provider takes no locks, not even around the
 * doorbell that all of it shares. Our helper is another thread, and so is whoever polls.
 * So a controlled QP is made in the plain domain below, where keys are the same and locks
 * are taken. The application finds it where it wanted it.
 */
#include <errno.h>
#include <stdlib.h>

#include "verbs/real.h"
#include "verbs/shim.h"

struct domain {
	struct ibv_pd *parent, *plain;
	bool allocates;                  /* memory by the application's functions: leave it alone */
	atomic_uint qps;                 /* of it, but made in plain */
};

struct ibv_pd *ccs_domain_alloc(struct ctx *ctx, struct ibv_parent_domain_init_attr *attr)
{
	struct ibv_pd *pd = ctx->alloc_parent_domain(ctx->context, attr);
	struct domain *d = pd && attr->td && !ccs_forked() ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return pd;
	d->parent = pd;
	d->plain = attr->pd;
	d->allocates = attr->comp_mask;
	if (ccs_ptrmap_put(&ccs_shim()->parent_domains, pd, d))
		free(d);
	return pd;
}

/* The record goes first: the address may be given to a plain domain next. */
int ccs_domain_dealloc(struct ibv_pd *pd)
{
	struct ccs_ptrmap *parents = &ccs_shim()->parent_domains;
	struct domain *d = ccs_domain_find(pd);
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

struct domain *ccs_domain_find(const struct ibv_pd *pd)
{
	return ccs_ptrmap_get(&ccs_shim()->parent_domains, pd);
}

bool ccs_domain_avoidable(const struct domain *d)
{
	return !d->allocates;
}

struct ibv_pd *ccs_domain_plain(struct ibv_pd *pd)
{
	const struct domain *d = ccs_domain_find(pd);

	return d ? d->plain : pd;
}

void ccs_domain_enter(struct qp *qp, const struct ibv_pd *pd)
{
	qp->domain = ccs_domain_find(pd);
	if (!qp->domain)
		return;
	atomic_fetch_add(&qp->domain->qps, 1);
	ccs_domain_show(qp, true);
}

void ccs_domain_leave(const struct qp *qp)
{
	if (qp->domain)
		atomic_fetch_sub(&qp->domain->qps, 1);
}

void ccs_domain_show(const struct qp *qp, bool parent)
{
	if (qp->domain)
		qp->real->pd = parent ? qp->domain->parent : qp->domain->plain;
}
