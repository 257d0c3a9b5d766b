/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs on protection domains and memory regions. */
#include "preload/object/mr.h"
#include "preload/object/parent_domain.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"

#define VERB(end, result, name, args, value) \
	HOOK result name args \
	{ \
		const struct ccs_saved saved = ccs_save(); \
		return end(saved, value); \
	}

/* The header's macros of these names choose a variant by arguments; these are the symbols. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

static struct ibv_mr *registered(struct ibv_mr *mr, uint64_t iova, unsigned int access)
{
	if (mr)
		ccs_mr_add(mr, iova, access);
	return mr;
}

/* Programs look it up, to see whether it exists: a libibverbs without it supports no dma-buf. */
static struct ibv_mr *reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				    uint64_t iova, int fd, int access)
{
	if (ccs_real()->ibv_reg_dmabuf_mr)
		return ccs_real()->ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
	errno = EOPNOTSUPP;
	return NULL;
}

VERB(ccs_made, struct ibv_mr *, ibv_reg_mr,
     (struct ibv_pd *pd, void *addr, size_t length, int access),
     registered(ccs_real()->ibv_reg_mr(pd, addr, length, access), (uintptr_t)addr,
		(unsigned int)access))
VERB(ccs_made, struct ibv_mr *, ibv_reg_mr_iova,
     (struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access),
     registered(ccs_real()->ibv_reg_mr_iova(pd, addr, length, iova, access), iova,
		(unsigned int)access))
VERB(ccs_made, struct ibv_mr *, ibv_reg_mr_iova2,
     (struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access),
     registered(ccs_real()->ibv_reg_mr_iova2(pd, addr, length, iova, access), iova, access))
VERB(ccs_made, struct ibv_mr *, ibv_reg_dmabuf_mr,
     (struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access),
     registered(reg_dmabuf_mr(pd, offset, length, iova, fd, access), iova, (unsigned int)access))
VERB(ccs_done, int, ibv_rereg_mr,
     (struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access),
     ccs_mr_rereg(mr, flags, pd, addr, length, access))
VERB(ccs_done, int, ibv_dereg_mr, (struct ibv_mr *mr), ccs_mr_dereg(mr))
VERB(ccs_done, int, ibv_dealloc_pd, (struct ibv_pd *pd), ccs_parent_domain_dealloc(pd))
