/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, and memory regions whose keys are checked. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "priv.h"

static struct fake_mr *regions;
static uint64_t pinned; /* bytes */

/* As ib_umem_get() in the kernel: by the limit of the moment. fake_lock is held. */
bool fake_pin(uint64_t bytes)
{
	struct rlimit limit;

	if (!getenv("FAKERDMA_PIN") || getrlimit(RLIMIT_MEMLOCK, &limit))
		limit.rlim_cur = RLIM_INFINITY;
	if (limit.rlim_cur != RLIM_INFINITY && pinned + bytes > limit.rlim_cur) {
		errno = ENOMEM;
		return false;
	}
	pinned += bytes;
	return true;
}

void fake_unpin(uint64_t bytes)
{
	pinned -= bytes;
}

uint32_t fake_new_key(void)
{
	static uint32_t key = 0x100;

	return key += 0x100;
}

static struct ibv_pd *new_pd(struct ibv_context *context)
{
	struct fake_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->ib.context = context;
	return &pd->ib;
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	return new_pd(context);
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *ib)
{
	struct fake_pd *pd = container(ib, struct fake_pd, ib);

	if (pd->qps)
		return EBUSY;
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
	mr->pinned = length;
	mr->access = access;
	pthread_mutex_lock(&fake_lock);
	if (!fake_pin(length)) {
		pthread_mutex_unlock(&fake_lock);
		free(mr);
		return NULL;
	}
	mr->ib.lkey = mr->ib.rkey = fake_new_key();
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

EXPORT int ibv_rereg_mr(struct ibv_mr *ib, int flags, struct ibv_pd *pd, void *addr,
			size_t length, int access)
{
	struct fake_mr *mr = container(ib, struct fake_mr, ib);

	if (!flags || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED))
		return IBV_REREG_MR_ERR_INPUT;
	pthread_mutex_lock(&fake_lock);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		ib->addr = addr;
		ib->length = length;
		mr->iova = (uintptr_t)addr;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		ib->pd = pd;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = access;
	ib->lkey = ib->rkey = fake_new_key();
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *ib)
{
	struct fake_mr *mr = container(ib, struct fake_mr, ib), **at;

	pthread_mutex_lock(&fake_lock);
	for (at = &regions; *at != mr; at = &(*at)->next)
		;
	*at = mr->next;
	fake_unpin(mr->pinned);
	pthread_mutex_unlock(&fake_lock);
	free(mr);
	return 0;
}

/* The address of the bytes, or NULL if the key does not cover them or does not allow the access. */
void *fake_translate(uint32_t key, uint64_t addr, uint64_t len, int access)
{
	for (const struct fake_mr *mr = regions; mr; mr = mr->next)
		if (mr->ib.lkey == key && (mr->access & access) == access && addr >= mr->iova &&
		    addr - mr->iova <= mr->ib.length && len <= mr->ib.length - (addr - mr->iova))
			return (char *)mr->ib.addr + (addr - mr->iova);
	return fake_translate_window(key, addr, len, access);
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct fake_td *td = calloc(1, sizeof(*td));

	(void)attr;
	if (!td)
		return NULL;
	td->ib.context = context;
	return &td->ib;
}

static int dealloc_td(struct ibv_td *td)
{
	free(container(td, struct fake_td, ib));
	return 0;
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	struct ibv_pd *pd = new_pd(context);

	if (pd && attr->td)
		container(pd, struct fake_pd, ib)->td = container(attr->td, struct fake_td, ib);
	return pd;
}

static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *list, uint32_t n)
{
	(void)pd;
	(void)advice;
	(void)flags;
	(void)list;
	(void)n;
	return 0;
}

void fake_domain_table(struct fake_context *c)
{
	c->v.alloc_td = alloc_td;
	c->v.dealloc_td = dealloc_td;
	c->v.alloc_parent_domain = alloc_parent_domain;
	c->v.advise_mr = advise_mr;
	c->v.context.ops.bind_mw = fake_bind_mw;
	c->v.context.ops.alloc_mw = fake_alloc_mw;
	c->v.context.ops.dealloc_mw = fake_dealloc_mw;
}
