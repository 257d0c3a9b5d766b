// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user ABI of mlx5: contexts, doorbell pages (UARs) and what the device
 * says of itself. Unmodified libmlx5 binds to it, because it finds its devices
 * by their driver's number.
 *
 * Refused, as a device without them refuses: DevX, XRC, DC, raw packets, memory
 * windows, signatures and compressed CQEs.
 */
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>
#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "rxe_mlx5.h"

uint rxe_mlx5_cqe_version = 1;
module_param_named(mlx5_cqe_version, rxe_mlx5_cqe_version, uint, 0644);
static bool static_uars;
module_param_named(mlx5_static_uars, static_uars, bool, 0644);
MODULE_PARM_DESC(mlx5_static_uars, "UARs are mapped by number, as kernels before 5.8 have it");

/* Commands in the offset of a mmap. */
enum {
	MMAP_REGULAR = 0,
	MMAP_WC = 2,
	MMAP_NC = 3,
	MMAP_CORE_CLOCK = 5,
	MMAP_CLOCK_INFO = 7,
	MMAP_OBJECTS = 9,	/* and above: UARs that are objects */
	MMAP_COMMANDS = 256,
	BFREGS_PER_UAR = 2,
	MAX_BFREGS = 512,
};

u32 rxe_mlx5_bfregs(const struct abi_ctx *ctx)
{
	return ctx->bfregs;
}

/* -- pages ---------------------------------------------------------------- */

static void show_core_clock(void *va)
{
	u64 now = abi_clock();
	__be32 *clock = va;

	clock[0] = cpu_to_be32(now >> 32);
	clock[1] = cpu_to_be32(now);
}

static void show_clock_info(void *va)
{
	struct mlx5_ib_clock_info *info = va;

	info->cycles = abi_clock();
	info->nsec = ktime_get_real_ns();
	info->shift = 21;
	info->mult = div_u64(1000000ull << info->shift, abi_clock_khz());
	info->mask = abi_clock_mask();
	info->overflow_period = NSEC_PER_SEC;
}

/* Map a page that has no object: the mapping is its only owner. */
static int map_new_page(struct abi_ctx *ctx, struct vm_area_struct *vma,
			enum abi_page_kind kind, void (*show)(void *va))
{
	struct abi_page *p = abi_page_create(ctx, kind, show);
	int err;

	if (!p)
		return -ENOMEM;
	err = abi_page_mmap(p, vma);
	abi_page_put(p);
	return err;
}

static int map_object(struct ib_ucontext *ibuc, unsigned long pgoff, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	entry = rdma_user_mmap_entry_get_pgoff(ibuc, pgoff);
	if (!entry)
		return -EINVAL;
	err = abi_page_mmap(abi_page_of_entry(entry), vma);
	rdma_user_mmap_entry_put(entry);
	return err;
}

static int mlx5_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct abi_ctx *ctx = to_ruc(ibuc)->abi;
	unsigned long command = vma->vm_pgoff >> 8 & 0xff;
	unsigned long index = vma->vm_pgoff >> 16 << 8 | (vma->vm_pgoff & 0xff);

	switch (command) {
	case MMAP_CORE_CLOCK:
		return map_new_page(ctx, vma, ABI_CLOCK, show_core_clock);
	case MMAP_CLOCK_INFO:
		return map_new_page(ctx, vma, ABI_CLOCK, show_clock_info);
	case MMAP_REGULAR:
	case MMAP_WC:
	case MMAP_NC:
		if (index >= ctx->bfregs / BFREGS_PER_UAR)
			return -EINVAL;
		return map_new_page(ctx, vma, ABI_DOORBELL, NULL);
	default:
		if (command < MMAP_OBJECTS)
			return -EINVAL;
		return map_object(ibuc, command << 16 | index, vma);
	}
}

/* -- UARs as objects ------------------------------------------------------ */

static int new_uar(struct uverbs_attr_bundle *attrs, struct ib_ucontext *ibuc,
		   struct abi_page **page)
{
	struct abi_page *p = abi_page_create(to_ruc(ibuc)->abi, ABI_DOORBELL, NULL);
	int err;

	if (!p)
		return -ENOMEM;
	err = rdma_user_mmap_entry_insert_range(ibuc, abi_page_entry(p), PAGE_SIZE,
						MMAP_OBJECTS << 16, (MMAP_COMMANDS << 16) - 1);
	if (err)
		abi_page_put(p);
	*page = p;
	return err;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_UAR_OBJ_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);
	enum mlx5_ib_uapi_uar_alloc_type type;
	u32 length = PAGE_SIZE, id;
	unsigned long pgoff, index;
	struct abi_page *p;
	u64 offset;
	int err;

	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	err = uverbs_get_const(&type, attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE) ?:
		new_uar(attrs, ibuc, &p);
	if (err)
		return err;
	uobj->object = p;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	pgoff = abi_page_entry(p)->start_pgoff;
	index = pgoff & 0xffff;
	offset = (u64)(index >> 8 << 16 | pgoff >> 16 << 8 | (index & 0xff)) << PAGE_SHIFT;
	id = pgoff - (MMAP_OBJECTS << 16);	/* newer libraries want less than 1 << 16 */
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET,
			      &offset, sizeof(offset)) ?:
		uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &id, sizeof(id)) ?:
		uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH,
			       &length, sizeof(length));
}

static int remove_uar(struct ib_uobject *uobject, enum rdma_remove_reason why,
		      struct uverbs_attr_bundle *attrs)
{
	rdma_user_mmap_entry_remove(abi_page_entry(uobject->object));
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(
	MLX5_IB_METHOD_UAR_OBJ_ALLOC,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, MLX5_IB_OBJECT_UAR,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE,
			     enum mlx5_ib_uapi_uar_alloc_type, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET,
			    UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(
	MLX5_IB_METHOD_UAR_OBJ_DESTROY,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_UAR,
			UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_UAR,
			    UVERBS_TYPE_ALLOC_IDR(remove_uar),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_DESTROY));

static const struct uapi_definition mlx5_definitions[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_UAR),
	{}
};

/* -- contexts and the device ---------------------------------------------- */

static void describe_context(struct mlx5_ib_alloc_ucontext_resp *resp,
			     const struct mlx5_ib_alloc_ucontext_req_v2 *req,
			     const struct abi_ctx *ctx)
{
	resp->qp_tab_size = 1 << 18;
	resp->bf_reg_size = 512;
	resp->tot_bfregs = ctx->bfregs;	/* 0: UARs are objects */
	resp->cache_line_size = 64;
	resp->max_sq_desc_sz = MLX5_ABI_MAX_SQ_DESC;
	resp->max_rq_desc_sz = MLX5_ABI_MAX_RQ_DESC;
	resp->max_send_wqebb = MLX5_ABI_MAX_WQES;
	resp->max_recv_wr = MLX5_ABI_MAX_WQES;
	resp->max_srq_recv_wr = MLX5_ABI_MAX_WQES;
	resp->num_ports = 1;
	resp->cqe_version = min_t(u32, req->max_cqe_version, rxe_mlx5_cqe_version);
	resp->cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
		MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
	resp->eth_min_inline = MLX5_USER_INLINE_MODE_NONE;
	resp->comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
	resp->clock_info_versions = BIT(MLX5_IB_CLOCK_INFO_V1);
	resp->log_uar_size = 12;
	resp->num_uars_per_page = 1;
}

static int mlx5_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {};
	struct mlx5_ib_alloc_ucontext_resp resp = {};
	int err;

	err = ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen));
	if (err)
		return err;
	if (req.flags & MLX5_IB_ALLOC_UCTX_DEVX)
		return -EPERM;		/* libmlx5 asks again without */
	/* Contexts of the oldest libraries have CQEs of version 0 and nothing dynamic. */
	if (!static_uars && !(req.lib_caps & MLX5_LIB_CAP_DYN_UAR))
		return -EOPNOTSUPP;
	if (static_uars && (!req.total_num_bfregs || req.total_num_bfregs > MAX_BFREGS))
		return -EINVAL;
	err = abi_ctx_open(ibuc);
	if (err)
		return err;
	if (static_uars)
		to_ruc(ibuc)->abi->bfregs = roundup(req.total_num_bfregs, BFREGS_PER_UAR);
	describe_context(&resp, &req, to_ruc(ibuc)->abi);
	resp.response_length = min(udata->outlen, sizeof(resp));
	err = ib_copy_to_udata(udata, &resp, resp.response_length);
	if (err)
		abi_dealloc_ucontext(ibuc);
	return err;
}

static int mlx5_query_device(struct ib_device *dev, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	struct mlx5_ib_query_device_resp resp = {};
	struct ib_udata none = {};
	int err;

	err = rxe_abi_ops.query_device(dev, attr, &none);
	if (err)
		return err;
	attr->vendor_id = 0x2c9;
	attr->vendor_part_id = 4119;	/* ConnectX-5 */
	attr->fw_ver = 16ull << 32 | 35 << 16 | 4030;
	attr->timestamp_mask = abi_clock_mask();
	attr->hca_core_clock = abi_clock_khz();
	attr->max_cqe = MLX5_ABI_MAX_CQES - 1;
	attr->max_qp_wr = MLX5_ABI_MAX_WQES;
	attr->max_srq_wr = MLX5_ABI_MAX_WQES - 1;
	attr->max_sge_rd = 30;
	attr->max_send_sge = 30;
	attr->device_cap_flags &= ~(IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B);
	if (!udata || udata->outlen < sizeof(resp.comp_mask) + sizeof(resp.response_length))
		return 0;
	resp.response_length = min(udata->outlen, sizeof(resp));
	return ib_copy_to_udata(udata, &resp, resp.response_length);
}

static int mlx5_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_pd_resp resp = {};
	int err = rxe_abi_ops.alloc_pd(pd, NULL);

	if (err || !udata)
		return err;
	resp.pdn = to_rpd(pd)->elem.index;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		rxe_abi_ops.dealloc_pd(pd, NULL);
	return err;
}

/* The library puts the peer's MAC address into each datagram's WQE. */
static int mlx5_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init,
			  struct ib_udata *udata)
{
	struct mlx5_ib_create_ah_resp resp = {};
	int err = rxe_abi_ops.create_ah(ah, init, NULL);

	if (err || !udata || udata->outlen < sizeof(resp))
		return err;
	resp.response_length = sizeof(resp);
	memcpy(resp.dmac, init->ah_attr->roce.dmac, ETH_ALEN);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void mlx5_get_dev_fw_str(struct ib_device *dev, char *str)
{
	strscpy(str, "16.35.4030", IB_FW_VERSION_NAME_MAX);
}

void rxe_mlx5_overlay(struct ib_device *dev)
{
	to_rdev(dev)->max_inline_data = MLX5_ABI_MAX_SQ_DESC;
	dev->ops.driver_id = RDMA_DRIVER_MLX5;
	dev->ops.uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION;
	dev->ops.alloc_ucontext = mlx5_alloc_ucontext;
	dev->ops.mmap = mlx5_mmap;
	dev->ops.query_device = mlx5_query_device;
	dev->ops.alloc_pd = mlx5_alloc_pd;
	dev->ops.create_user_ah = mlx5_create_ah;
	dev->ops.create_cq = mlx5_abi_create_cq;
	dev->ops.resize_cq = mlx5_abi_resize_cq;
	dev->ops.destroy_cq = mlx5_abi_destroy_cq;
	dev->ops.create_srq = mlx5_abi_create_srq;
	dev->ops.modify_srq = mlx5_abi_modify_srq;
	dev->ops.destroy_srq = mlx5_abi_destroy_srq;
	dev->ops.create_qp = mlx5_abi_create_qp;
	dev->ops.modify_qp = mlx5_abi_modify_qp;
	dev->ops.destroy_qp = mlx5_abi_destroy_qp;
	dev->ops.get_dev_fw_str = mlx5_get_dev_fw_str;
	dev->driver_def = mlx5_definitions;
}
