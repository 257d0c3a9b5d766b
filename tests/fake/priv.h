/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKERDMA_PRIV_H
#define FAKERDMA_PRIV_H
/*
 * The provider's internal structures and functions. One lock protects everything: this is a
 * device for tests.
 */
#include <pthread.h>
#include <semaphore.h>

#include "fake.h"

#define EXPORT __attribute__((visibility("default")))

/* As libibverbs declares it for itself and its providers. */
struct ibv_context *verbs_open_device(struct ibv_device *device, void *private_data);
#define container(ptr, type, member) \
	((type *)(void *)((char *)(void *)(ptr) - offsetof(type, member)))

enum {
	MAX_SGE = 16, MAX_INLINE = 256, INLINE_SPACE = 512, MAX_WR = 1 << 14, MAX_CQE = 1 << 15,
	MAX_QPS = 4096
};

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;      /* an acknowledgement or a new due time */

/* A counting file descriptor with its counter. */
struct fake_event {
	struct fake_event *next;
	struct fake_cq *cq;              /* of a completion channel */
	struct ibv_async_event async;    /* of a context */
};

struct fake_queue {
	struct fake_event *first, **end;
	int fd;
};

struct fake_td {
	struct ibv_td ib;
	pthread_t thread;                /* the thread that posted first */
	bool used;
};

struct fake_context {
	struct fake_queue async;
	/* of all its QPs: the environment promises a single thread */
	struct fake_td *single_thread;
	struct fake_td only;
	struct verbs_context v;
};

struct fake_channel {
	struct ibv_comp_channel ib;
	struct fake_queue events;
};

struct fake_cqe {
	struct ibv_wc wc;
	uint64_t made_ns;                /* due time by the link's model */
	struct fake_qp *qp;              /* NULL: receive, or the QP is gone */
	uint64_t wqe;                    /* slots up to here become free once it was polled */
	bool solicited;
};

struct fake_cq {
	union {
		struct ibv_cq ib;
		struct ibv_cq_ex ex;
	};
	struct fake_cqe *ring;
	uint32_t size, used, head;
	uint64_t pinned;                 /* bytes */
	enum { NOT_ARMED, ARMED_SOLICITED, ARMED } armed;
	bool overrun;
	bool stamped;
	pthread_mutex_t batch;         /* start_poll to end_poll; before fake_lock */
	struct fake_cqe current;         /* in a batch */
	unsigned qps, polls;
	unsigned comp_given, async_given;
};

struct fake_wqe {
	struct ibv_send_wr wr;           /* sg_list is sge below */
	struct ibv_sge sge[MAX_SGE];
	unsigned char data[INLINE_SPACE]; /* more than the rounded capability */
	struct ibv_ah_attr av; /* UD: copied from the address handle, which may be destroyed */
	uint64_t length, order, due_ns;
	bool begun;                      /* faults have been applied */
};

struct fake_rqe {
	uint64_t wr_id;
	struct ibv_sge sge[MAX_SGE];
	int num_sge;
};

struct fake_rq {
	struct fake_rqe *ring;
	uint32_t size;
	uint64_t tail, head;
};

struct fake_srq {
	struct ibv_srq ib;
	struct fake_rq rq;
	uint32_t num, max_sge, limit;
	struct fake_xrcd *xrcd; /* domain of an XRC SRQ, or NULL */
	struct fake_cq *cq;              /* completion queue of an XRC SRQ */
	struct fake_srq *next;           /* in the list of XRC SRQs */
	unsigned qps, async_given;
};

/* A batch of the extended posting interface; see wr.c. */
struct fake_batch {
	sem_t lock;                      /* of no thread: another may end the batch, as of mlx5 */
	struct fake_wqe *wqe;            /* one more entry than the send queue */
	uint32_t used;
	int error;                       /* the first error, returned by wr_complete */
};

struct fake_qp {
	union {
		struct ibv_qp ib;
		struct ibv_qp_ex ex;
	};
	struct fake_batch *batch;    /* NULL: without that interface */
	struct ibv_qp_init_attr init;    /* its cap: as reported */
	uint32_t depth;                  /* max_send_wr that was asked for */
	uint64_t pinned;                 /* bytes */
	struct ibv_qp_attr attr;
	struct fake_wqe *sq;             /* [tail, next) carried out, [next, head) pending */
	uint64_t sq_tail, sq_next, sq_head;
	uint64_t sq_stop;                /* SQD: first WQE that waits */
	uint64_t offset;                 /* of sq_next's next piece */
	bool in_flight;                  /* and it is on the wire */
	bool dozes;                      /* until a WQE is posted */
	bool was_rts;                    /* since the last RESET */
	uint8_t retries, rnr_retries;    /* of it, so far */
	struct fake_rq own, *rq;         /* rq: own, or an SRQ's */
	struct fake_cq *rcq;             /* NULL: init.recv_cq was destroyed */
	struct fake_rqe taken;           /* of rq, for the message being received */
	bool has_taken;
	struct fake_td *td;              /* number of the QP that it was created for */
	unsigned place, async_given;
};

struct fake_pd {
	struct ibv_pd ib;
	struct fake_td *td;
	unsigned qps;
};

struct fake_xrcd {
	struct ibv_xrcd ib;
	struct fake_pd pd;               /* of the QPs that receive from it */
	unsigned srqs;
};

struct fake_mr {
	struct ibv_mr ib;
	uint64_t iova;
	size_t pinned;
	int access;
	struct fake_mr *next;
};

struct fake_mw {
	struct ibv_mw ib;
	uint32_t key;                    /* key that is bound now, or 0 */
	struct ibv_mw_bind_info bound;
	struct fake_mw *next;
};

struct fake_ah {
	struct ibv_ah ib;
	struct ibv_ah_attr attr;
};

/* A request to a responder: a message, or a piece of a long message. */
struct fake_request {
	uint32_t src_qp, dst_qp;
	enum ibv_wr_opcode opcode;
	enum ibv_qp_type type;
	bool solicited;
	uint32_t imm;                    /* or the key to invalidate */
	uint32_t srqn;                   /* XRC */
	uint32_t rkey, qkey;
	uint64_t addr, compare_add, swap;
	uint64_t length;                 /* of the message */
	uint64_t offset;                 /* of the piece */
	uint32_t piece;                  /* its bytes */
	union ibv_gid sgid;              /* UD */
};

enum { PIECE = 1 << 18, MAX_MESSAGE = 1 << 30, MAX_DATAGRAM = 4096, GRH = 40 };

/* Answers of a responder besides the status of a completion. */
enum { ANSWER_NOT_READY = 0x100, ANSWER_NO_PEER, ANSWER_DEAD, ANSWER_NO_ROOM, ANSWER_LATER };

/* profile.c */
enum { FAKE_RXE_VENDOR = 0xffffff };
bool fake_choose_profile(void); /* by the environment; false: unknown */
uint32_t fake_vendor_err(enum ibv_wc_status status);

/* event.c */
int fake_queue_open(struct fake_queue *q);
void fake_queue_close(struct fake_queue *q);
void fake_queue_add(struct fake_queue *q, const struct fake_event *event);
void fake_queue_drop(struct fake_queue *q, const void *object);
void fake_raise(struct ibv_context *context, const struct ibv_async_event *event);

/* cq.c */
void fake_cq_add(struct fake_cq *cq, const struct fake_cqe *cqe, bool solicited);
void fake_cq_forget(const struct fake_qp *qp);
void fake_cq_clean(const struct fake_qp *qp); /* remove its CQEs, of sends and receives */
/* Remove the oldest entry; the caller holds fake_lock. */
bool fake_cq_take(struct fake_cq *cq, struct fake_cqe *out);
int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int fake_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/* cq_ex.c */
uint64_t fake_cq_ex_flags(void); /* values that a completion can have */
void fake_cq_ex_start(struct fake_cq *cq, uint64_t wc_flags);

/* clock.c */
bool fake_is_rxe(void);     /* depends on its vendor */
bool fake_clock_runs(void); /* the device has one */
uint64_t fake_clock_ticks(uint64_t ns);
void fake_clock_table(struct fake_context *c);

/* qp.c */
struct fake_qp *fake_qp_by_num(uint32_t num);
struct fake_qp *fake_qp_at(unsigned i); /* NULL: that entry is free */
unsigned fake_qp_end(void);             /* first entry of the free rest */
int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
void fake_check_drained(struct fake_qp *qp); /* a WQE before SQD was carried out */
void fake_qp_to_err(struct fake_qp *qp);
void fake_flush_posted(struct fake_qp *qp);
struct ibv_qp *fake_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* post.c */
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* The caller holds fake_lock. Returns 0, or the errno with which this is refused. */
bool fake_may_send(const struct fake_qp *qp);
/* most: SGEs */
int fake_check_send(const struct fake_qp *qp, const struct ibv_send_wr *wr, uint32_t most);
struct fake_wqe *fake_enqueue(struct fake_qp *qp, const struct ibv_send_wr *wr);
void fake_posted(struct fake_qp *qp); /* call after the last one */
int fake_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* wr.c */
int fake_batch_open(struct fake_qp *qp, uint64_t send_ops);
void fake_batch_close(struct fake_qp *qp);
void fake_batch_state(struct fake_qp *qp); /* the QP has entered its state */

/* recv.c */
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
bool fake_recv_take(struct fake_qp *qp); /* stores it in qp->taken; false if the queue is empty */
struct ibv_srq *fake_srq_create(struct ibv_context *context, struct ibv_pd *pd, void *srq_context,
				const struct ibv_srq_attr *attr);
void fake_srq_table(struct fake_context *c);

/* xrc.c */
bool fake_reliable(enum ibv_qp_type type);
enum ibv_qp_type fake_peer_type(enum ibv_qp_type type);
struct ibv_srq *fake_xrc_srq_create(struct ibv_context *context, struct ibv_srq_init_attr_ex *init);
void fake_xrc_srq_gone(struct fake_srq *srq);
bool fake_xrc_aim(struct fake_qp *qp, uint32_t srqn); /* false if the SRQ does not exist */
void fake_xrc_table(struct fake_context *c);

/* engine.c */
uint64_t fake_now_ns(void);
void fake_due(struct fake_qp *qp, struct fake_wqe *wqe);
void fake_put_off(struct fake_wqe *wqe, uint64_t ns);
void fake_run(void);
unsigned fake_carry_out_now(unsigned n); /* carry out the oldest, due or not; returns how many */
void fake_engine_start(void);

/* remote.c, wire.c: other processes. */
int fake_remote_open(void); /* the caller of all of these holds fake_lock */
bool fake_is_remote(uint32_t qp_num);
uint32_t fake_qp_base(void);
/* ANSWER_LATER: the answer arrives in fake_answered(). */
int fake_remote_ask(struct fake_qp *qp, struct fake_wqe *wqe, const struct fake_request *req);
void fake_remote_forget(struct fake_qp *qp);
void fake_remote_progress(void);
void fake_remote_forked(void);
void fake_idle(void); /* called without the lock after an empty poll */
uint64_t wire_reserve(unsigned from, unsigned to, uint64_t bytes, double rate);
int fake_thread(void *(*main)(void *)); /* detached, signals blocked */

/* requester.c */
void fake_answered(struct fake_qp *qp, int answer, unsigned char *data);
void fake_move_out(struct fake_wqe *wqe, const struct fake_request *req, unsigned char *data);
/* Returns false if the peer is not ready to receive. */
bool fake_carry_out(struct fake_qp *qp, struct fake_wqe *wqe);
void fake_complete_send(struct fake_qp *qp, const struct fake_wqe *wqe, enum ibv_wc_status status);
void fake_flush(struct fake_qp *qp);

/* responder.c */
bool fake_consumes_receive(enum ibv_wr_opcode op);
/* Returns a status or ANSWER_*; data is received or sent. */
int fake_respond(const struct fake_request *req, unsigned char *data);
void fake_flush_receives(struct fake_qp *qp);
/* Copy between an SGE list (or inline data), from `skip` on, and a buffer. */
bool fake_move(const struct ibv_sge *sge, int n, const unsigned char *inlined, uint64_t skip,
	       unsigned char *place, uint64_t len, bool gather);

/* memory.c */
void *fake_translate(uint32_t key, uint64_t addr, uint64_t len, int access);
void fake_domain_table(struct fake_context *c);

/* window.c */
void *fake_translate_window(uint32_t key, uint64_t addr, uint64_t len, int access);
void fake_window_bind(const struct fake_wqe *wqe);
void fake_window_invalidate(uint32_t key);
/* Count memory that a device would pin. False: it is beyond the limit, and errno is set. */
bool fake_pin(uint64_t bytes);
void fake_unpin(uint64_t bytes);
uint32_t fake_new_key(void); /* the caller holds fake_lock; memory.c */
struct ibv_mw *fake_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int fake_dealloc_mw(struct ibv_mw *mw);

/* fault.c */
enum fake_fault {
	FAULT_POST, FAULT_CQE, FAULT_NOT_READY, FAULT_STALE,
	FAULT_CREATE_CQ, FAULT_RESIZE_CQ, FAULT_MODIFY, FAULT_DESTROY, FAULT_LATE,
	FAULTS
};
int fake_fault(enum fake_fault which); /* 0, or the errno to fail with */
enum fake_bad fake_fault_bad(void);
uint32_t fake_depth_limit(void);
uint32_t fake_wanted_qp_num(void);
bool fake_rewrites_wr_complete(void);
bool fake_has_atomics(void);
bool fake_ignores_in_error(void);
int fake_refused_cqs(void);
bool fake_resumes_by_post(void);
void fake_modifying(void);                  /* no lock is held */
void fake_destroyed(void);                  /* likewise */
void fake_faults_clear(void);

/* seen.c */
void fake_see(const struct fake_qp *qp, const struct fake_wqe *wqe);
void fake_ring(void);

extern struct fake_counts fake_count;

#endif
