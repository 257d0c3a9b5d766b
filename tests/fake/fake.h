/* SPDX-License-Identifier: BSD-2-Clause */
/* Installed as <ccshim/fake.h>. */
#ifndef FAKERDMA_FAKE_H
#define FAKERDMA_FAKE_H
/*
 * libfakerdma.so: an RDMA provider without hardware, kernel or root, to be preloaded after the
 * shim. It defines the exported verbs under rdma-core's version nodes with a separate table, so it
 * gets exactly a device's calls.
 *
 * These functions let a test inspect and steer it. They are declared weak: a program need not link
 * the library, and fake_present() returns whether it is there.
 *
 * It is as strict as any real device: a CQ holds no entry more than asked for and dies of an
 * overrun, unsignalled WQEs are silent unless they fail, keys and bounds of memory are checked.
 * Where real providers differ, it behaves as its profile says. ccshim-fake(1) describes profiles and
 * the environment, ccshim_fake(3) these functions.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_API __attribute__((weak, visibility("default")))

/* A WQE as the device received it. */
struct fake_wqe_seen {
	uint32_t qp_num;
	enum ibv_wr_opcode opcode;
	unsigned int send_flags;
	uint64_t wr_id;
	uint64_t length;                 /* payload */
	int num_sge;
	uint64_t remote_addr;            /* WRITE, READ, atomics */
	uint32_t rkey;
	uint64_t compare_add, swap;      /* atomics */
	uint32_t imm;                    /* *_WITH_IMM, as posted; *_INV: the key */
	struct ibv_sge sge[4];           /* the first SGEs; inline: their lengths only */
	unsigned char inlined[64];       /* the first bytes */
	uint64_t doorbell;               /* number of the post_send call */
};

/* Time and order */

/* While held, WQEs are carried out only by fake_step(). */
FAKE_API void fake_hold(bool hold);
/* Carry out at most n of the oldest WQEs; returns how many. */
FAKE_API unsigned fake_step(unsigned n);
/* Each WQE completes this long after its last byte left at that rate (0: no limit). */
FAKE_API void fake_link(double latency_us, double bits_per_second);

/* What was received */

FAKE_API size_t fake_seen_count(void);
FAKE_API struct fake_wqe_seen fake_seen(size_t i);
FAKE_API void fake_seen_clear(void);
FAKE_API uint64_t fake_doorbells(void);
/* WQEs that were received and not yet carried out. */
FAKE_API unsigned fake_pending(void);

/* Differences between real providers: see FAKERDMA_PROFILE in ccshim-fake(1). */
struct fake_profile {
	const char *name;
	uint32_t vendor;                 /* unless FAKERDMA_VENDOR is set */
	bool cleans_cqs;                 /* a destroyed or reset QP loses its completions */
	bool arms_by_index;              /* arming counts completions that were not polled */
	bool rounds_up;                  /* capabilities of a QP */
	bool repeats_last_wqe;           /* the event, for each WQE that is flushed in the error state */
	bool reuses_silently;            /* entries of the send queue, without a completion */
	bool hides_sent_imm;             /* from ibv_wc_read_wc_flags() of a send */
	bool sets_wr_complete;           /* modify_qp to RESET and to RTS writes it */
	bool clears_bad_wr;              /* if no WR is refused; and refuses an empty list */
	bool checks_atomics;             /* their length and alignment, when they are posted */
	bool takes_any_opcode;           /* an unknown one completes with an error */
	bool binds_without_sge;          /* BIND_MW with a scatter list is refused */
	int not_rts;                     /* error of ibv_post_send before RTS; 0: WRs are queued */
	bool keeps_early;                /* also with the error: the doorbell fails */
	int too_large;                   /* too many SGEs, or too much inline data */
	int batch_too_large;             /* the same with ibv_wr_*, and too many WRs */
};
/* The profile that was chosen when a device was opened. */
FAKE_API const struct fake_profile *fake_profile(void);

/* The capabilities that are granted to a QP, instead of those requested. ops: NULL, or send_ops. */
FAKE_API void fake_round_up(struct ibv_qp_cap *cap, enum ibv_qp_type type, const uint64_t *ops);

/* Objects that exist, and errors */
struct fake_counts {
	unsigned contexts, cqs, qps;
	unsigned overruns;               /* of CQs */
	unsigned stamped_cqs;            /* of these CQs: with timestamps */
	unsigned misread;                /* reads of values that a completion does not have */
	unsigned foreign_posts;              /* posts by a second thread where only one may post */
};
FAKE_API struct fake_counts fake_counts(void);
/* The depth of the send queue that was asked of the device. */
FAKE_API uint32_t fake_depth(const struct ibv_qp *qp);
/* The CQ that it was created with: ibv_qp.send_cq can be changed. */
FAKE_API struct ibv_cq *fake_send_cq(const struct ibv_qp *qp);

/* The traffic class of a QP, as the device received it. */
FAKE_API uint8_t fake_tclass(const struct ibv_qp *qp);

/* Faults. Each applies once, after `skip` more events of its kind. */

enum fake_bad { FAKE_BAD_WR, FAKE_BAD_NULL }; /* NULL: the code is returned, the WQEs stay */
/* Posts to QPs in the error state do not count. */
FAKE_API void fake_fail_post(unsigned skip, int code, enum fake_bad bad);
FAKE_API void fake_fail_cqe(unsigned skip, enum ibv_wc_status status);
FAKE_API void fake_refuse_cqs(int code);    /* all, until it is called with 0 */
FAKE_API void fake_fail_create_cq(unsigned skip, int code);
FAKE_API void fake_fail_resize_cq(unsigned skip, int code);
FAKE_API void fake_fail_modify_qp(unsigned skip, int code);
FAKE_API void fake_fail_destroy_qp(unsigned skip, int code);
/*
 * The next ibv_destroy_qp, or ibv_modify_qp to RESET, is late: `wqes` WQEs are carried out first,
 * held or not.
 */
FAKE_API void fake_late(unsigned wqes);
/* Destroying the next QP adds one more CQE, of its last WQE. */
FAKE_API void fake_stale_cqe(unsigned skip);
/*
 * Permanently: a WQE with this key plus a status, for local or remote memory, fails with that
 * status.
 */
enum { FAKE_KEY_FAILS = 0x7a170000 };
/* A message finds no receive `times` times, although one is posted. */
FAKE_API void fake_not_ready(unsigned skip, unsigned times);
/* The next modify_qp is slow: it calls this last, without a lock. */
FAKE_API void fake_during_modify(void (*call)(void *arg), void *arg);
/* The next destroy_qp calls this at its end, without a lock: another QP may get its memory. */
FAKE_API void fake_after_destroy(void (*call)(void *arg), void *arg);
/* Whether modify_qp to RESET and RTS writes ibv_qp_ex.wr_complete, where the profile does. */
FAKE_API void fake_rewrite_wr_complete(bool yes);
/* Whether QPs have atomics; if not, posting one fails with EOPNOTSUPP. */
FAKE_API void fake_atomics(bool yes);
/* Permanently: WQEs that are posted in ERR get no completion, as on irdma. */
FAKE_API void fake_ignore_in_error(bool yes);
/* The QP fails in the device, without an event or the failure of a WQE. */
FAKE_API void fake_fail_qp(struct ibv_qp *qp);
/* Permanently: a QP that enters RTS carries out no WQE until a WQE is posted, as on rxe. */
FAKE_API void fake_resume_by_post(bool yes);
/* Permanently: create_qp with a deeper send queue is refused. */
FAKE_API void fake_limit_depth(uint32_t max_send_wr);
/* The next create_qp uses that number, if it is free. */
FAKE_API void fake_next_qp_num(uint32_t qp_num);
FAKE_API void fake_async_event(struct ibv_qp *qp, enum ibv_event_type type);
FAKE_API void fake_async_cq_err(struct ibv_cq *cq);
/* Put the CQ into the state after an overrun, without the event. */
FAKE_API void fake_break_cq(struct ibv_cq *cq);
FAKE_API unsigned fake_polls(const struct ibv_cq *cq);    /* calls and poll batches */
FAKE_API uint32_t fake_cqes(const struct ibv_cq *cq); /* not polled yet */
/* Clear hold, link, faults and the record of WQEs. */
FAKE_API void fake_reset(void);

static inline bool fake_present(void)
{
	return fake_reset != NULL;
}

#ifdef __cplusplus
}
#endif

#endif
