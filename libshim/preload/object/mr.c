/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of memory regions, by device context and local key. */
#include "preload/object/mr.h"

#include <stdlib.h>

#include "base/lock.h"
#include "observe/log.h"
#include "preload/object/real.h"

struct ccs_mr {
	uint64_t start, length;
	unsigned int access;
};

/* Guards the map, and records from being freed while they are read. */
static struct ccs_lock mrs_lock;

/* Where a pointer has 32 bits, regions may share a key. Their requests may not be split then. */
static const void *key_of(const struct ctx *ctx, uint32_t lkey)
{
	return (const void *)(uintptr_t)((uint64_t)ctx->number << 39 | (uint64_t)lkey << 7 | 1);
}

/* Replace the region's record; NULL: remove it. Returns the record that is not needed. */
static struct ccs_mr *exchange(const struct ibv_mr *mr, struct ccs_mr *record)
{
	const struct ctx *ctx = ccs_context_find(mr->context);
	struct ccs_mr *before;

	if (!ctx || ccs_forked())
		return record;
	ccs_lock(&mrs_lock);
	before = ccs_ptrmap_get(&ccs_shim()->mrs, key_of(ctx, mr->lkey));
	if (before && !record)
		ccs_ptrmap_del(&ccs_shim()->mrs, key_of(ctx, mr->lkey), before);
	else if (record && ccs_ptrmap_put(&ccs_shim()->mrs, key_of(ctx, mr->lkey), record))
		before = record; /* no memory */
	ccs_unlock(&mrs_lock);
	return before;
}

void ccs_mr_add(const struct ibv_mr *mr, uint64_t iova, unsigned int access)
{
	struct ccs_mr *record, *unneeded = NULL;

	if ((access & IBV_ACCESS_ZERO_BASED) || !ccs_context_find(mr->context) || ccs_forked())
		return;
	record = malloc(sizeof(*record));
	if (record) {
		*record = (struct ccs_mr){ .start = iova, .length = mr->length, .access = access };
		unneeded = exchange(mr, record);
	}
	if (!record || unneeded == record)
		ccs_log_once(CCS_LOG_WARN, "no memory: requests with some memory regions are not "
			     "split");
	free(unneeded);
}

int ccs_mr_dereg(struct ibv_mr *mr)
{
	const struct ibv_mr copy = *mr;
	struct ccs_mr *record = exchange(mr, NULL);
	const int rc = ccs_real()->ibv_dereg_mr(mr);

	/* Before, because afterwards another region may have got the key. */
	free(rc && record ? exchange(&copy, record) : record);
	return rc;
}

int ccs_mr_rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct ccs_mr *record = exchange(mr, NULL);
	const int rc = ccs_real()->ibv_rereg_mr(mr, flags, pd, addr, length, access);

	if (!rc && record && (flags & IBV_REREG_MR_CHANGE_TRANSLATION)) {
		record->start = (uintptr_t)addr;
		record->length = length;
	}
	if (!rc && record && (flags & IBV_REREG_MR_CHANGE_ACCESS))
		record->access = (unsigned int)access;
	free(record ? exchange(mr, record) : NULL);
	return rc;
}

static bool covers(const struct ctx *ctx, const struct ibv_sge *sge, unsigned int access)
{
	const struct ccs_mr *mr = ccs_ptrmap_get(&ccs_shim()->mrs, key_of(ctx, sge->lkey));

	if (!mr) {
		ccs_log_once(CCS_LOG_INFO, "requests with memory that other functions than "
			     "ibv_reg_mr() and its variants have registered are not split");
		return false;
	}
	return (mr->access & access) == access && sge->addr >= mr->start &&
	       sge->length <= mr->length && sge->addr - mr->start <= mr->length - sge->length;
}

bool ccs_mr_covers(const struct ctx *ctx, const struct ibv_send_wr *wr)
{
	const unsigned int access = wr->opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_LOCAL_WRITE : 0;
	bool all = true;

	ccs_lock(&mrs_lock);
	for (int i = 0; all && i < wr->num_sge; i++)
		all = !wr->sg_list[i].length || covers(ctx, &wr->sg_list[i], access);
	ccs_unlock(&mrs_lock);
	return all;
}
