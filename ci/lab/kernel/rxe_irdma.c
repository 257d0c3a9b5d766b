// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user ABI of irdma (Intel E810, RoCEv2): contexts, the doorbell page and
 * what the device says of itself. Unmodified libirdma binds to it. How it
 * differs from mlx5, where a program or a shim may notice it:
 *
 *  - One doorbell page per context. A doorbell does not say how much is posted:
 *    a WQE is there if its valid bit has the value of the ring's current pass.
 *    Receive queues have no doorbell.
 *  - Queues are made of quanta of 32 bytes. No send WQE crosses a chunk of 8
 *    quanta; the library fills the rest of a chunk with NOPs.
 *  - The library counts WQEs itself and keeps 257 quanta free: a QP for one WR
 *    has 512 quanta, and ibv_create_qp returns far more WRs than were asked for.
 *  - A queue is flushed by one CQE. The library completes with it all WQEs that
 *    it has posted and not seen completed, and the first of them has the status
 *    of the failed one, though that may be a later one if the first were
 *    unsignaled and succeeded. WQEs that are posted to a QP in ERR after that
 *    have no CQE unless the program had the QP modified to ERR: only then does
 *    the library ask for another flush.
 *  - A completion with immediate data takes two CQEs.
 *  - rnr_retry exceeded is reported as IBV_WC_WR_FLUSH_ERR, which the kernel's
 *    driver makes of all errors that it does not list.
 *  - The library of rdma-core 44.0 reports a write with immediate data as
 *    IBV_WC_RECV.
 *  - A CQ is armed in its shadow area. While it is armed the library
 *    does not arm it again, until ibv_get_cq_event of that CQ, which must not be
 *    left out therefore. CQEs that are there already raise no event.
 *  - At ibv_destroy_qp the library blanks that QP's CQEs in its CQs.
 *  - After RESET or ERR a QP cannot be used again.
 *  - timestamp_mask says 17 bits though there is no clock to be read and its
 *    frequency is 0. Extended CQs accept timestamps, but report a round trip
 *    time, which is always 0 here.
 *
 * Refused, as the E810 does: UC, SRQ, XRC, atomics and ibv_wr_*. Refused although
 * the E810 has it: memory windows. Push pages are not offered, nor is the way in
 * which rdma-core asks for sizes since version 48 (IRDMA_ALLOC_UCTX_USE_RAW_ATTR):
 * it then falls back.
 */
#include "rxe_irdma.h"

enum {
	E810_GENERATION = 2,
	E810_TIMESTAMP_MASK = 0x1ffff,
};

/* -- the doorbell page ---------------------------------------------------- */

static int irdma_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(ibuc, vma);
	int err;

	if (!entry)
		return -EINVAL;
	err = abi_page_mmap(abi_page_of_entry(entry), vma);
	rdma_user_mmap_entry_put(entry);
	return err;
}

static int new_doorbell(struct ib_ucontext *ibuc)
{
	struct abi_ctx *ctx = to_ruc(ibuc)->abi;
	struct abi_page *p = abi_page_create(ctx, ABI_DOORBELL, NULL);
	int err;

	if (!p)
		return -ENOMEM;
	err = rdma_user_mmap_entry_insert(ibuc, abi_page_entry(p), PAGE_SIZE);
	if (err)
		abi_page_put(p);
	else
		ctx->doorbell = p;
	return err;
}

/* -- contexts and the device ---------------------------------------------- */

static void describe_context(struct irdma_alloc_ucontext_resp *resp, struct abi_ctx *ctx)
{
	resp->kernel_ver = IRDMA_ABI_VER;
	resp->feature_flags = IRDMA_FEATURE_RTS_AE | IRDMA_FEATURE_CQ_RESIZE;
	resp->db_mmap_key = rdma_user_mmap_get_offset(abi_page_entry(ctx->doorbell));
	resp->max_hw_wq_frags = IRDMA_MAX_WQ_FRAGMENT_COUNT;
	resp->max_hw_read_sges = IRDMA_MAX_SGE_RD;
	resp->max_hw_inline = IRDMA_MAX_INLINE_DATA_SIZE;
	resp->max_hw_rq_quanta = IRDMA_QP_SW_MAX_RQ_QUANTA;
	resp->max_hw_wq_quanta = IRDMA_QP_SW_MAX_WQ_QUANTA;
	resp->min_hw_cq_size = IRDMA_MIN_CQ_SIZE;
	resp->max_hw_cq_size = IRDMA_MAX_CQ_SIZE;
	resp->max_hw_sq_chunk = IRDMA_MAX_QUANTA_PER_WR;
	resp->hw_rev = E810_GENERATION;
}

static int irdma_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct irdma_alloc_ucontext_req req = {};
	struct irdma_alloc_ucontext_resp resp = {};
	int err;

	/* The shortest answers are for libi40iw, the library of an older device. */
	if (udata->inlen < offsetofend(struct irdma_alloc_ucontext_req, rsvd8) ||
	    udata->outlen < offsetofend(struct irdma_alloc_ucontext_resp, rsvd2))
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen));
	if (err)
		return err;
	if (req.userspace_ver < 4 || req.userspace_ver > IRDMA_ABI_VER)
		return -EINVAL;
	err = abi_ctx_open(ibuc);
	if (err)
		return err;
	err = new_doorbell(ibuc);
	if (!err) {
		describe_context(&resp, to_ruc(ibuc)->abi);
		err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	}
	if (err)
		abi_dealloc_ucontext(ibuc);
	return err;
}

static int irdma_query_device(struct ib_device *dev, struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	struct ib_udata none = {};
	int err;

	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	err = rxe_abi_ops.query_device(dev, attr, &none);
	if (err)
		return err;
	attr->vendor_id = 0x8086;
	attr->vendor_part_id = 0x1592;	/* E810-C with QSFP */
	attr->fw_ver = 1ull << 32 | 73;
	attr->device_cap_flags = IB_DEVICE_RC_RNR_NAK_GEN;
	attr->timestamp_mask = E810_TIMESTAMP_MASK;
	attr->hca_core_clock = 0;
	attr->atomic_cap = IB_ATOMIC_NONE;
	attr->masked_atomic_cap = IB_ATOMIC_NONE;
	attr->max_cqe = IRDMA_MAX_CQ_SIZE - 1;
	attr->max_qp_wr = IRDMA_MAX_QP_WRS(IRDMA_MAX_QUANTA_PER_WR);
	attr->max_send_sge = IRDMA_MAX_WQ_FRAGMENT_COUNT;
	attr->max_recv_sge = IRDMA_MAX_WQ_FRAGMENT_COUNT;
	attr->max_sge_rd = IRDMA_MAX_SGE_RD;
	attr->max_srq = 0;
	attr->max_srq_wr = 0;
	attr->max_srq_sge = 0;
	attr->max_mw = 0;
	return 0;
}

static int irdma_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	struct irdma_alloc_pd_resp resp = {};
	int err = rxe_abi_ops.alloc_pd(pd, NULL);

	if (err || !udata)
		return err;
	resp.pd_id = to_rpd(pd)->elem.index;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		rxe_abi_ops.dealloc_pd(pd, NULL);
	return err;
}

/* A datagram's WQE names its address handle by number. */
static int irdma_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init,
			   struct ib_udata *udata)
{
	struct irdma_create_ah_resp resp = {};
	int err = rxe_abi_ops.create_ah(ah, init, NULL);

	if (err || !udata)
		return err;
	resp.ah_id = to_rah(ah)->ah_num;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		rxe_abi_ops.destroy_ah(ah, 0);
	return err;
}

static void irdma_get_dev_fw_str(struct ib_device *dev, char *str)
{
	strscpy(str, "1.73", IB_FW_VERSION_NAME_MAX);
}

void rxe_irdma_overlay(struct ib_device *dev)
{
	dev->ops.driver_id = RDMA_DRIVER_IRDMA;
	dev->ops.uverbs_abi_ver = IRDMA_ABI_VER;
	dev->ops.alloc_ucontext = irdma_alloc_ucontext;
	dev->ops.mmap = irdma_mmap;
	dev->ops.query_device = irdma_query_device;
	dev->ops.alloc_pd = irdma_alloc_pd;
	dev->ops.create_user_ah = irdma_create_ah;
	dev->ops.create_cq = irdma_abi_create_cq;
	dev->ops.resize_cq = irdma_abi_resize_cq;
	dev->ops.destroy_cq = irdma_abi_destroy_cq;
	dev->ops.create_qp = irdma_abi_create_qp;
	dev->ops.modify_qp = irdma_abi_modify_qp;
	dev->ops.destroy_qp = irdma_abi_destroy_qp;
	dev->ops.get_dev_fw_str = irdma_get_dev_fw_str;
}
