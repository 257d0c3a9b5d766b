/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REGISTRY_H
#define CCS_REGISTRY_H
/*
 * Registry of QPs: maps the id in a WQE's wr_id to its QP. The caller of find, next and remove
 * holds the lock of the QP's CQ.
 */
#include "preload/object/qp_record.h"

/* Assigns qp->id. 0, or -1: no memory, or too many QPs. */
int ccs_registry_add(struct qp *qp);
/* NULL: no QP of this CQ has that id; it was destroyed. */
struct qp *ccs_registry_find(const struct cq *cq, uint32_t id);
/* The same QP, locked. */
static inline struct qp *ccs_registry_lock(struct cq *cq, uint32_t id)
{
	struct qp *qp = cq->last;

	if (!qp || qp->id != id)
		qp = cq->last = ccs_registry_find(cq, id);
	if (qp)
		ccs_lock(&qp->lock);
	return qp;
}

/* The CQ's first QP in an entry >= *entry, and advance *entry past it. NULL at the end. */
struct qp *ccs_registry_next(const struct cq *cq, uint32_t *entry);
void ccs_registry_remove(struct qp *qp);
/* The same for all QPs of ctx (NULL: any device). No lock is needed. The caller must put the
 * reference that the QP gets. */
struct qp *ccs_registry_grab(const struct ctx *ctx, uint32_t *entry);
/* Whether no thread holds the registry's own lock. */
bool ccs_registry_is_free(void);

#endif
