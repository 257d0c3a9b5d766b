/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A vendor's user ABI on rxe: the common half.
 *
 * A provider library of user space finds its own device: queues, doorbells and
 * completions are laid out in user memory as that vendor's hardware has them,
 * while rxe is the transport behind them. Objects of user space are rxe's,
 * created as if for a kernel user (without udata), and each has one of the
 * structures below beside it. Kernel users (MAD, CM) see plain rxe.
 *
 * A vendor's file embeds these structures, parses its WQEs (struct abi_ops) and
 * replaces functions of the device (abi_ops.overlay).
 */
#ifndef RXE_ABI_H
#define RXE_ABI_H

#include <linux/hrtimer.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "rxe.h"
#include "rxe_queue.h"

/* User memory that the device reads and writes, mapped for the kernel. */
struct abi_mem {
	struct ib_umem	*umem;
	struct page	**pages;
	void		*map;
	void		*va;		/* where the user's address is */
};

struct abi_ctx {
	struct rxe_ucontext	*uc;
	spinlock_t		lock;	/* the lists */
	struct list_head	qps;
	struct list_head	cqs;
	u32			bfregs;	/* static doorbell registers, see rxe_mlx5.c */
	struct abi_page		*doorbell;	/* the context's own, or NULL, see rxe_irdma.c */
};

struct abi_cq {
	const struct abi_ops	*ops;
	struct rxe_cq		*cq;
	struct abi_ctx		*ctx;
	struct list_head	list;
	struct abi_mem		buf, shadow;	/* CQEs; what else the library writes */
	u32			entries;	/* that may wait to be consumed; mlx5: a power of two */
	u32			produced;	/* CQEs ever; not wrapped */
	u32			solicited;	/* value of produced after the last that was */
	bool			any_solicited;
	bool			broken;		/* after an overrun; no more CQEs */
	/* A CQE that fault injection holds back. */
	struct rxe_cqe		delayed;
	struct hrtimer		delay;
};

struct abi_qp {
	const struct abi_ops	*ops;
	struct rxe_qp		*qp;
	struct abi_ctx		*ctx;
	struct list_head	list;
	struct abi_mem		buf, shadow;
	struct hrtimer		flush;		/* polls for receives while in ERR */
	u32			flush_ns;
	bool			stopping;
};

struct abi_srq {
	const struct abi_ops	*ops;
	struct rxe_srq		*srq;
	struct abi_mem		buf, shadow;
};

/*
 * Of wr_id, which rxe keeps for us, a vendor's file uses the low 32 bits. These
 * mark what a completion is of.
 */
#define ABI_RECV	BIT_ULL(32)
#define ABI_STATUS	40	/* the status that fault injection asks for, from this bit on */

struct abi_ops {
	const char *name;
	/* Replace functions of dev->ops; what rxe had is in rxe_abi_ops. */
	void (*overlay)(struct ib_device *dev);
	/*
	 * Parse the WQE at the head of the queue into w, which is zeroed, and
	 * advance. Return 1, 0 if there is none, or an error if the device cannot
	 * execute it; w's wr_id is set then too. Called with the queue's lock.
	 */
	int (*next_send)(struct abi_qp *q, struct rxe_send_wqe *w);
	int (*next_recv)(struct abi_qp *q, struct rxe_recv_wqe *w);
	int (*next_srq_recv)(struct abi_srq *s, struct rxe_recv_wqe *w);
	/* Whether receives are posted that next_recv has not returned. */
	bool (*recv_waits)(struct abi_qp *q);
	/* How many entries of the CQ the library has not consumed. */
	u32 (*cq_used)(struct abi_cq *c);
	/* Whether this completion gets a CQE; NULL: all do. Called with the CQ's lock. */
	bool (*has_cqe)(struct abi_cq *c, const struct ib_wc *wc);
	/* Write CQE number c->produced. Called with the CQ's lock. */
	void (*write_cqe)(struct abi_cq *c, struct ib_wc *wc);
	/* Whether the library asked for an event that is due; disarms the CQ then. */
	bool (*take_arm)(struct abi_cq *c);
};

extern const struct abi_ops rxe_mlx5_abi;
extern const struct abi_ops rxe_irdma_abi;
extern struct ib_device_ops rxe_abi_ops;

extern bool rxe_abi_trace;
#define abi_trace(fmt, ...) \
	do { if (rxe_abi_trace) pr_info("rxe_abi: " fmt, ##__VA_ARGS__); } while (0)

static inline struct abi_ctx *abi_ctx_of(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct rxe_ucontext, ibuc)->abi;
}

/* rxe_abi.c */
int abi_mem_map(struct ib_device *dev, struct abi_mem *m, u64 addr, size_t size);
void abi_mem_unmap(struct abi_mem *m);
int abi_ctx_open(struct ib_ucontext *ibuc);
void abi_dealloc_ucontext(struct ib_ucontext *ibuc);
void abi_cq_start(struct abi_cq *c, struct rxe_cq *cq, struct abi_ctx *ctx);
void abi_cq_stop(struct abi_cq *c);
void abi_cq_break(struct abi_cq *c);
void abi_qp_init(struct abi_qp *q, struct rxe_qp *qp, struct abi_ctx *ctx);
void abi_qp_start(struct abi_qp *q);
void abi_qp_stop(struct abi_qp *q);
void abi_fetch_send(struct abi_qp *q);
void abi_doorbell(struct abi_ctx *ctx);
int abi_deliver(struct abi_cq *c, struct rxe_cqe *cqe, bool solicited);
bool abi_gather(struct rxe_qp *qp, struct rxe_dma_info *dma, u8 *to, u32 len);

/* rxe_abi_page.c */
enum abi_page_kind { ABI_DOORBELL, ABI_CLOCK };
struct abi_page;
struct abi_page *abi_page_create(struct abi_ctx *ctx, enum abi_page_kind kind,
				 void (*show)(void *va));
void abi_page_put(struct abi_page *p);
int abi_page_mmap(struct abi_page *p, struct vm_area_struct *vma);
struct rdma_user_mmap_entry *abi_page_entry(struct abi_page *p);
struct abi_page *abi_page_of_entry(struct rdma_user_mmap_entry *entry);
void abi_mmap_free(struct rdma_user_mmap_entry *entry);
void abi_pages_flush(void);
int abi_pages_init(void);

/* rxe_abi_fault.c: the device's clock, and faults that a test asks for */
u64 abi_clock(void);
u64 abi_clock_mask(void);
u32 abi_clock_khz(void);
enum abi_fate { ABI_KEEP, ABI_DROP, ABI_DELAY, ABI_DUPLICATE };
enum abi_fate abi_fault_cqe(struct ib_wc *wc, u64 *delay_ns);
enum ib_wc_status abi_fault_wqe(struct rxe_qp *qp);

#endif
