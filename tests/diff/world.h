/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_WORLD_H
#define CCS_TESTS_WORLD_H
/*
 * What a program works on, two pairs of connected QPs, and the record of what it sees.
 *
 * The record has no times and no interleaving of streams: of each QP its calls, its
 * send completions and its receive completions, each in order. Besides, each completion
 * is judged at once by what verbs promise (world.c), the same for both runs.
 *
 * Where verbs leave open what becomes of a WR (one outstanding when its QP goes to ERR,
 * RESET or away), the stretch of the record since all was known to be done is cut, and
 * the judgement alone remains.
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
	SGES = 4, MOST = 32, KNOWN = 256, LONGEST = 24
};

struct text {
	char *at;
	size_t len, size;
};

/* One QP. Its sends go to the other end's `remote`, its receives to slots of `messages`. */
struct end {
	unsigned place;
	struct end *peer;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;            /* NULL: classic posts only */
	struct ibv_cq *scq, *rcq;
	unsigned char *local, *remote, *messages;
	uint32_t depth, num;
	uint32_t life;                   /* of a QP between two resets; in each wr_id */
	uint32_t posted, reported;           /* sends; reported: the first that is not reported yet */
	uint32_t synced;                 /* all before were done, and their record compared */
	uint32_t doomed;                 /* from here on all fail */
	bool visible[KNOWN];
	bool failed, unsure, paused, cut, held_since, stale;
	bool tight;                      /* the device's queue is no deeper than ours */
	uint32_t receives, needed, received, used; /* used: have come, at the last sync */
	unsigned pauses;                 /* that may still be reported */
	struct text calls, sends, recvs;
	size_t sends_mark, recvs_mark;
};

struct world {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[ENDS];
	struct ibv_cq_ex *cqx[ENDS];     /* NULL: classic ones */
	unsigned cqs, unacked[ENDS];
	struct end end[ENDS];
	bool held, sig_all, new_posts, hung;
	uint8_t reads;
	struct text violations;
	FILE *trace;                     /* of the steps, to be read; NULL: none */
};

extern struct world w;

void append(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void trace_step(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void violation(const struct end *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A verb's code. The fake device leaves errno alone, whether it refuses or not: so do all. */
enum { UNTOUCHED = 4711 };
int untouched(const char *call, int rc);
#define CALL(call) (errno = UNTOUCHED, untouched(#call, (call)))

/* It has failed, or is about to. */
static inline bool down(const struct end *e)
{
	return e->failed || e->doomed != UINT32_MAX;
}

/* By a program's first eight bytes. */
void world_open(const uint8_t *head);
void world_close(void);
void end_create(struct end *e);

int to_state(struct end *e, enum ibv_qp_state state);
/* Both of the pair from RESET to RTS, with new memory: no earlier completion is pending. */
void raise_pair(struct end *e);
/* Wait until all that was posted is done and reported; record the memory. A QP that failed
 * is raised again, with its peer. */
void quiesce(struct end *e);
/* The other end is at rest, so that what this one does cannot change its fate. */
void quiesce_peer(struct end *e);
/* No WQE is carried out but by a step. */
void hold(bool held);
void step(unsigned n);
/* The destruction or reset that follows comes when n more are carried out. */
void late(unsigned n);

uint64_t wr_id_of(const struct end *e, uint32_t number, bool receive);
int poll_some(unsigned cq, int n, bool classic);
void drain(void);
bool wait_for(struct end *e, uint32_t number);
void post_receives(struct end *e, uint32_t n);
/* As an application does that has armed a CQ and found it empty. */
bool sleep_for_event(void);
void take_events(bool ack);

/* wrs.c */
struct list {
	struct ibv_send_wr wr[MOST];
	struct ibv_sge sge[MOST][SGES + 1];
	unsigned n;
};

void list_random(struct end *e, struct list *l, unsigned n, uint64_t seed);
void list_plain(struct end *e, struct list *l, unsigned n, unsigned flags);
/* Post it, by either interface; the code, and in *bad the index of the first refused. */
int list_post(struct end *e, struct list *l, bool builders, int *bad);
/* The same, recorded, and its WRs accounted for. */
void list_submit(struct end *e, struct list *l, bool builders);
/* The first n of them are the QP's now. */
void list_account(struct end *e, const struct list *l, unsigned n);

/* exec.c */
/* The record, valid until the next program. */
const struct text *run_program(const uint8_t *bytes, size_t len, FILE *trace);

/* mutant.c: what a broken shim would do to what a poll returns. */
void mutant_choose(const char *name);
int mutate(struct ibv_wc *wc, int n, int size);
int mutate_bad(int bad);
bool mutate_arm(void);

#endif
