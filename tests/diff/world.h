/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_WORLD_H
#define CCS_TESTS_WORLD_H
/*
 * A program's objects, two pairs of connected QPs, and the record of its results.
 *
 * The record has no times and no interleaving of streams: for each QP it has the calls, the send
 * completions and the receive completions, each in order. Each completion is also checked at once
 * against the guarantees of verbs (world.c), the same for both runs.
 *
 * Where verbs leave the result of a WR open (outstanding when its QP goes to ERR or RESET or is
 * destroyed), the record since the last sync is dropped, and only the checks remain.
 *
 * Lines "~NAME VALUE" are results that are known to differ (known.c).
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../fake/fake.h"

enum {
	ENDS = 4, AREA = 16384, INLINE = 64, SLOT = 512, SLOTS = 64, RECEIVES = 32,
	SGES = 4, MOST = 80, KNOWN = 256, LONGEST = 24
};

struct text {
	char *at;
	size_t len, size;
};

/* One QP. Its sends go to the other end's `remote`, its receives to entries of `messages`. */
struct end {
	unsigned place;
	struct end *peer;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;            /* NULL: ibv_post_send only */
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;             /* or NULL */
	unsigned char *local, *remote, *messages;
	uint32_t depth, num;
	uint32_t granted;                /* entries of its send queue: the depth or more */
	uint32_t life;                   /* counts the periods between resets; part of each wr_id */
	uint32_t posted, reported; /* sends; reported: the first that is not yet reported */
	uint32_t synced; /* all before have completed, and their record was compared */
	uint32_t doomed;                 /* all later WRs fail */
	bool visible[KNOWN];
	uint32_t arrives[KNOWN];         /* number of receives that precede a SEND's completion */
	enum ibv_wc_status status;       /* of the last send completion */
	bool gone;                       /* destroyed or reset since the last life began */
	uint32_t late;                   /* completions since then */
	bool failed, unsure, paused, cut, held_since, stale;
	bool tight; /* the device's queue is no deeper than the application's */
	uint32_t receives, needed, received, used; /* used: arrived by the last sync */
	unsigned pauses;                 /* completions that may still be reported */
	struct text calls, sends, recvs;
	size_t sends_mark, recvs_mark;
};

struct world {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[ENDS];
	struct ibv_cq_ex *cqx[ENDS];     /* NULL: ordinary CQs */
	int cqe;                         /* entries of a new CQ */
	unsigned cqs, unacked[ENDS], arms[ENDS], events[ENDS]; /* arms, events: so far */
	unsigned lasts[ENDS];            /* IBV_EVENT_QP_LAST_WQE_REACHED in this life */
	unsigned early;                  /* SENDs that completed before their receive */
	struct end end[ENDS];
	bool held, sig_all, new_posts, srqs, atomics, hung;
	bool set_errno;                  /* the last checked call has changed errno */
	uint8_t reads;
	uint32_t sges;                   /* of a send */
	struct text violations;
	FILE *trace;                     /* readable trace of the steps, or NULL */
};

extern struct world w;

void append(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void trace_step(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void violation(const struct end *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A verb's return code. The fake device never changes errno, so the shim must not either. */
enum { UNTOUCHED = 4711 };
int untouched(const char *call, int rc);
#define CALL(call) (errno = UNTOUCHED, untouched(#call, (call)))

/* The end has failed, or will. */
static inline bool is_down(const struct end *e)
{
	return e->failed || e->doomed != UINT32_MAX;
}

/* Set up the world by a program's first eight bytes. */
void world_open(const uint8_t *head);
void world_close(void);
void end_create(struct end *e);

int to_state(struct end *e, enum ibv_qp_state state);
void to_rts(struct end *e); /* from RESET */
/*
 * Move both ends of the pair from RESET to RTS, with new memory: no earlier completion is
 * pending.
 */
void raise_pair(struct end *e);
/*
 * Wait until all posted WRs are done and reported, and record the memory. A QP that failed is
 * brought up again, with its peer.
 */
void quiesce(struct end *e);
/* Quiesce the other end, so that a failure of this end cannot change its results. */
void quiesce_peer(struct end *e);
/* While held, WQEs are carried out only by a step. */
void hold(bool held);
void step(unsigned n);
/* The destruction or reset that follows is executed when n more WQEs are carried out. */
void late(unsigned n);

uint64_t wr_id_of(const struct end *e, uint32_t number, bool receive);
int poll_some(unsigned cq, int n, bool classic);
void drain(void);
bool wait_for(struct end *e, uint32_t number);
void post_receives(struct end *e, uint32_t n);
void arm(struct ibv_cq *cq, bool solicited);
/* As an application that has armed a CQ and found it empty. */
bool sleep_for_event(void);
/* Let up to `ms` milliseconds pass until an event waits. */
bool wait_for_event(unsigned ms);
void read_cq_events(bool ack);
void read_async_events(void);

/* wrs.c */
struct list {
	struct ibv_send_wr wr[MOST];
	struct ibv_sge sge[MOST][SGES + 1];
	unsigned n;
};

void list_random(struct end *e, struct list *l, unsigned n, uint64_t seed);
void list_plain(struct end *e, struct list *l, unsigned n, unsigned flags);
/* It has no scatter list and sends nothing. */
bool wr_is_local(const struct ibv_send_wr *wr);
/*
 * Post the list through either interface; returns the code, and in *bad the index of the first
 * refused WR.
 */
int list_post(struct end *e, struct list *l, bool builders, int *bad);
/* As list_post(), but record it and account for its WRs. */
void list_submit(struct end *e, struct list *l, bool builders);
/* Account for the first n WRs of the list. */
void list_account(struct end *e, const struct list *l, unsigned n);

/* exec.c */
/* Returns the record, which is valid until the next program. */
const struct text *run_program(const uint8_t *bytes, size_t len, FILE *trace);

/* mutant.c: change what a poll returns, as a broken shim would. */
void mutant_choose(const char *name);
int mutate(struct ibv_wc *wc, int n, int size);
int mutate_bad(int bad);
unsigned mutate_events(void);
bool mutate_arm(void);

#endif
