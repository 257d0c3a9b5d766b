/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKERDMA_PRIV_H
#define FAKERDMA_PRIV_H
/* The provider's own records. One lock guards everything: it is a test's device. */
#include <pthread.h>

#include "fake.h"

#define EXPORT __attribute__((visibility("default")))
#define container(ptr, type, member) \
	((type *)(void *)((char *)(void *)(ptr) - offsetof(type, member)))

enum { MAX_SGE = 16, MAX_INLINE = 256, MAX_WR = 1 << 14, MAX_CQE = 1 << 15, MAX_QPS = 4096 };

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;      /* an acknowledgement or a new due time */

/* A counting file descriptor and what it counts. */
struct fake_event {
	struct fake_event *next;
	struct fake_cq *cq;              /* of a completion channel */
	struct ibv_async_event async;    /* of a context */
};

struct fake_queue {
	struct fake_event *first, **end;
	int fd;
};

struct fake_context {
	struct fake_queue async;
	struct verbs_context v;
};

struct fake_channel {
	struct ibv_comp_channel ib;
	struct fake_queue events;
};

struct fake_cqe {
	struct ibv_wc wc;
	uint64_t made_ns;                /* by the link's model */
	struct fake_qp *qp;              /* NULL: receive, or the QP is gone */
	uint64_t wqe;                    /* slots up to here are free once it was polled */
};

struct fake_cq {
	union {
		struct ibv_cq ib;
		struct ibv_cq_ex ex;
	};
	struct fake_cqe *ring;
	uint32_t size, used, head;
	enum { NOT_ARMED, ARMED_SOLICITED, ARMED } armed;
	bool overrun;
	bool stamped;
	struct fake_cqe current;         /* between start_poll and end_poll */
	unsigned qps;
	unsigned comp_given, async_given;
};

struct fake_wqe {
	struct ibv_send_wr wr;           /* sg_list is sge below */
	struct ibv_sge sge[MAX_SGE];
	unsigned char data[MAX_INLINE];
	struct ibv_mw *mw;               /* ibv_bind_mw */
	uint64_t length, order, due_ns;
};

struct fake_rqe {
	uint64_t wr_id;
	struct ibv_sge sge[MAX_SGE];
	int num_sge;
};

struct fake_qp {
	struct ibv_qp ib;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct fake_wqe *sq;             /* [tail, next) carried out, [next, head) pending */
	uint64_t sq_tail, sq_next, sq_head;
	uint64_t sq_stop;                /* SQD: nothing from here on */
	struct fake_rqe *rq;
	uint64_t rq_tail, rq_head;
	unsigned async_given;
};

struct fake_mr {
	struct ibv_mr ib;
	uint64_t iova;
	int access;
	struct fake_mr *next;
};

/* event.c */
int fake_queue_open(struct fake_queue *q);
void fake_queue_close(struct fake_queue *q);
void fake_queue_add(struct fake_queue *q, const struct fake_event *event);
void fake_queue_drop_cq(struct fake_queue *q, const struct fake_cq *cq);
void fake_raise(struct ibv_context *context, const struct ibv_async_event *event);

/* cq.c */
void fake_cq_add(struct fake_cq *cq, const struct fake_cqe *cqe, bool solicited);
void fake_cq_forget(struct fake_cq *cq, const struct fake_qp *qp);
/* The oldest entry, which is gone then; fake_lock is held. */
bool fake_cq_take(struct fake_cq *cq, struct fake_cqe *out);
int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/* clock.c */
bool fake_clock_runs(void); /* the device has one */
void fake_clock_table(struct fake_context *c);
void fake_clock_start(struct fake_cq *cq, uint64_t wc_flags);

/* qp.c */
struct fake_qp *fake_qp_by_num(uint32_t num);
struct fake_qp *fake_qp_at(unsigned i); /* NULL: that place is free */
unsigned fake_qp_end(void);             /* all places from here on are */
void fake_qp_to_err(struct fake_qp *qp);
struct ibv_qp *fake_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* post.c */
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fake_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* engine.c */
uint64_t fake_now_ns(void);
void fake_due(struct fake_wqe *wqe);
void fake_run(void);

/* wire.c: false if the peer is not ready to receive. */
bool fake_carry_out(struct fake_qp *qp, struct fake_wqe *wqe);
void fake_complete_send(struct fake_qp *qp, const struct fake_wqe *wqe, enum ibv_wc_status status);
void fake_flush(struct fake_qp *qp);

/* memory.c */
void *fake_translate(uint32_t key, uint64_t addr, uint64_t len, int access);
struct ibv_mw *fake_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int fake_dealloc_mw(struct ibv_mw *mw);
struct ibv_td *fake_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int fake_dealloc_td(struct ibv_td *td);
struct ibv_pd *fake_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr);

/* fault.c */
enum fake_fault { FAULT_POST, FAULT_CQE, FAULT_CREATE_CQ, FAULT_MODIFY, FAULT_DESTROY, FAULTS };
int fake_fault(enum fake_fault which); /* 0, or what to fail with now */
enum fake_bad fake_fault_bad(void);
uint32_t fake_depth_limit(void);
uint32_t fake_wanted_qp_num(void);
void fake_faults_clear(void);

/* seen.c */
void fake_see(const struct fake_qp *qp, const struct fake_wqe *wqe);
void fake_ring(void);

extern struct fake_counts fake_count;

#endif
