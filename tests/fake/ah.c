/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles, for UD. Multicast is not supported. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct fake_ah *ah = calloc(1, sizeof(*ah));

	if (!ah)
		return NULL;
	ah->ib.context = pd->context;
	ah->ib.pd = pd;
	ah->attr = *attr;
	return &ah->ib;
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	union ibv_gid own;

	memset(attr, 0, sizeof(*attr));
	attr->port_num = port;
	attr->sl = wc->sl;
	attr->dlid = wc->slid;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	attr->is_global = 1;
	attr->grh.dgid = grh->sgid;
	attr->grh.hop_limit = 0xff;
	ibv_query_gid(context, port, 1, &own);
	attr->grh.sgid_index = memcmp(own.raw, grh->sgid.raw, 12) == 0;
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					    struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr);
	return ibv_create_ah(pd, &attr);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ib)
{
	free(container(ib, struct fake_ah, ib));
	return 0;
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return EOPNOTSUPP;
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return ibv_attach_mcast(qp, gid, lid);
}
