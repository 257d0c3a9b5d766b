/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, memory regions with their keys checked, windows. */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

static struct fake_mr *regions;
static uint32_t next_key = 0x100;

static struct ibv_pd *new_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd)
		pd->context = context;
	return pd;
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	return new_pd(context);
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct fake_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	mr->ib.context = pd->context;
	mr->ib.pd = pd;
	mr->ib.addr = addr;
	mr->ib.length = length;
	mr->iova = iova;
	mr->access = access;
	pthread_mutex_lock(&fake_lock);
	mr->ib.lkey = mr->ib.rkey = next_key += 0x100;
	mr->next = regions;
	regions = mr;
	pthread_mutex_unlock(&fake_lock);
	return &mr->ib;
}

#undef ibv_reg_mr
EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg(pd, addr, length, (uintptr_t)addr, access);
}

#undef ibv_reg_mr_iova
EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access)
{
	return reg(pd, addr, length, iova, access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				       uint64_t iova, unsigned int access)
{
	return reg(pd, addr, length, iova, (int)access);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *ib)
{
	struct fake_mr *mr = container(ib, struct fake_mr, ib), **at;

	pthread_mutex_lock(&fake_lock);
	for (at = &regions; *at != mr; at = &(*at)->next)
		;
	*at = mr->next;
	pthread_mutex_unlock(&fake_lock);
	free(mr);
	return 0;
}

/* Where the bytes are, or NULL if the key does not cover them or not for that. */
void *fake_translate(uint32_t key, uint64_t addr, uint64_t len, int access)
{
	for (const struct fake_mr *mr = regions; mr; mr = mr->next)
		if (mr->ib.lkey == key && (mr->access & access) == access && addr >= mr->iova &&
		    addr - mr->iova <= mr->ib.length && len <= mr->ib.length - (addr - mr->iova))
			return (char *)mr->ib.addr + (addr - mr->iova);
	return NULL;
}

struct ibv_mw *fake_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = calloc(1, sizeof(*mw));

	if (!mw)
		return NULL;
	mw->context = pd->context;
	mw->pd = pd;
	mw->type = type;
	pthread_mutex_lock(&fake_lock);
	mw->rkey = next_key += 0x100;
	pthread_mutex_unlock(&fake_lock);
	return mw;
}

int fake_dealloc_mw(struct ibv_mw *mw)
{
	free(mw);
	return 0;
}

struct ibv_td *fake_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct ibv_td *td = calloc(1, sizeof(*td));

	(void)attr;
	if (td)
		td->context = context;
	return td;
}

int fake_dealloc_td(struct ibv_td *td)
{
	free(td);
	return 0;
}

struct ibv_pd *fake_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr)
{
	(void)attr;
	return new_pd(context);
}
