/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verbs that the device does not support. Without these, libibverbs would be called with
 * objects that it did not create.
 */
#include <endian.h>
#include <errno.h>

#include "priv.h"

static void *absent(const void *of)
{
	(void)of;
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)handle;
	return absent(context);
}

EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}

EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)handle;
	return absent(pd);
}

EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access)
{
	(void)offset;
	(void)length;
	(void)iova;
	(void)fd;
	(void)access;
	return absent(pd);
}

EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	(void)handle;
	return absent(context);
}

EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}

EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return EOPNOTSUPP;
}

EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	*ece = (struct ibv_ece){ 0 };
	return ibv_set_ece(qp, ece);
}

EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	return port == 1 && pkey == htobe16(0xffff) ? 0 : -1;
}
