/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SUITE_H
#define CCS_TESTS_SUITE_H
/*
 * The verbs conformance suite: checks of what the manual pages of libibverbs promise, over two
 * devices in one process. A check fails only if such a promise is broken. Where providers may
 * differ it prints a fact, "# fact: CHECK.NAME=VALUE", which is compared with that of other runs.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct check {
	const char *name, *property;
	void (*run)(void);
};

/* The checks of each file, in the order in which they run. The last entry is empty. */
extern const struct check rc_checks[], ring_checks[], datagram_checks[], srq_checks[],
	wr_checks[], window_checks[], cq_checks[], timestamp_checks[], event_checks[],
	error_checks[], flush_checks[], purge_checks[], life_checks[], limit_checks[],
	attr_checks[], process_checks[];

/* Ends the check, which has failed, if ok is false. Only for the main thread. */
#define require(ok, ...)                                                                           \
	do {                                                                                       \
		if (!(ok))                                                                         \
			suite_fail(__FILE__, __LINE__, #ok, __VA_ARGS__);                          \
	} while (0)

void suite_fail(const char *file, int line, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));
/* Ends the check, which the provider does not support. */
void skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

void nap_us(unsigned us);
uint64_t now_ns(void);

/* -- devices, and memory that the peer may read and write ------------------------------------- */

enum { MIB = 1 << 20 };
enum { SOURCE, TARGET = MIB, INBOX = 2 * MIB, LOCAL = 3 * MIB, MEMORY = 4 * MIB };

struct host {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *mem;
	union ibv_gid gid;
	struct ibv_device_attr attr;
};

extern struct host hosts[2];

/* Where the requests of host 0 begin and where they end. */
static inline uint8_t *source(void)
{
	return hosts[0].mem + SOURCE;
}

static inline uint8_t *target(void)
{
	return hosts[1].mem + TARGET;
}

static inline uint8_t *inbox(void)
{
	return hosts[1].mem + INBOX;
}

static inline uint8_t *local(void)
{
	return hosts[0].mem + LOCAL;
}

/* Of the devices' GIDs, from the environment, which child processes inherit: set by host_open(). */
extern uint8_t gid_index;
void host_open(struct host *h, const char *device);
int host_close(struct host *h); /* 0, or the error of the first verb that failed */

void fill(uint8_t *at, size_t len, unsigned seed);
bool is_filled(const uint8_t *at, size_t len, unsigned seed);
bool is_zero(const uint8_t *at, size_t len);

/* -- queue pairs ------------------------------------------------------------------------------- */

enum { PORT = 1, QKEY = 0x11111111, GRH_LEN = 40 };

/* How to create a QP. Members that are zero have defaults. */
struct shape {
	enum ibv_qp_type type;                   /* RC */
	uint32_t sends, recvs, sges, inline_len; /* 32, 32, 4, 64 */
	int cqe;                                 /* 512 */
	bool sig_all;
	bool single_threaded;                    /* the CQ, which is extended */
	uint64_t ops;                            /* of ibv_wr_*: none, ibv_create_qp is used */
	uint64_t wc_flags;                       /* none, ibv_create_cq is used */
	struct ibv_cq *cq;                       /* one of its own */
	struct ibv_cq *send_cq;                  /* cq */
	struct ibv_pd *pd;                       /* that of the host */
	struct ibv_srq *srq;
	unsigned rnr_retry;                      /* 7; NO_RNR_RETRY is none */
	unsigned rd_atomic;                      /* 8 */
	uint8_t timeout;                         /* 12: 17 ms */
};

enum { NO_RNR_RETRY = 8 };

struct end {
	struct host *host;
	struct shape shape;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cqx;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct ibv_ah *ah; /* UD: of the peer */
	struct ibv_qp_cap cap;
};

struct pair {
	struct end a, b;
};

void end_make(struct end *e, struct host *h, const struct shape *shape);
/* What end_make does first; the caller makes the QP. */
void end_make_cq(struct end *e, struct host *h, const struct shape *shape);
void end_connect(struct end *e, const struct end *peer);
void end_connect_to(struct end *e, const union ibv_gid *gid, uint32_t qpn);
int end_modify(struct end *e, enum ibv_qp_state state); /* with no other attribute */
enum ibv_qp_state end_state(struct end *e);
void end_drop(struct end *e);

/* A QP on either device, connected. */
void pair_make(struct pair *p, const struct shape *shape);
/* The same on the CQs of p. */
void pair_make_beside(struct pair *q, const struct pair *p);
void pair_connect(struct pair *p);
void pair_drop(struct pair *p);
#define PAIR(p, ...) pair_make(p, &(struct shape){ __VA_ARGS__ })

struct ibv_srq *srq_make(struct host *h, uint32_t wrs);

/* -- requests ---------------------------------------------------------------------------------- */

enum { SGES = 32 };

/* A request from SOURCE + at, or READ and atomics into LOCAL + at, to TARGET + to. */
struct op {
	uint64_t id;
	enum ibv_wr_opcode opcode;
	uint32_t len, at, to, imm;
	unsigned flags, pieces; /* pieces: SGEs, 1 */
	uint64_t compare_add, swap;
};

struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge[SGES];
};

#define SIGNALED .flags = IBV_SEND_SIGNALED
#define POST(p, ...) post_ok(&(p)->a, &(p)->b, &(struct op){ __VA_ARGS__ })
#define TRY_POST(p, ...) post(&(p)->a, &(p)->b, &(struct op){ __VA_ARGS__ })

void build(struct request *r, const struct end *from, const struct end *to, const struct op *op);
int post(struct end *from, const struct end *to, const struct op *op);
void post_ok(struct end *from, const struct end *to, const struct op *op);
/* Into INBOX + at, from the QP's or the SRQ's receive queue. */
int try_recv(struct end *e, uint64_t id, uint32_t at, uint32_t len);
void recv_ok(struct end *e, uint64_t id, uint32_t at, uint32_t len);

/* -- completions ------------------------------------------------------------------------------- */

/* The next completion; the check fails if none comes within seconds. */
void next_wc(struct end *e, struct ibv_wc *wc);
/* The next completion is that of a send request, successful. */
void done(struct end *e, uint64_t id, enum ibv_wc_opcode opcode);
/* The next completion is that of a receive, successful. */
struct ibv_wc received(struct end *e, uint64_t id, uint32_t len);
/* The next completion is an error. */
void failed(struct end *e, uint64_t id, enum ibv_wc_status status);
/* The number of completions that come in that time, of any kind. */
int count_wcs(struct end *e, unsigned ms);
/* Waits that long, polls once for up to n completions, and returns their number. */
int left_wcs(struct end *e, unsigned ms, struct ibv_wc *wc, int n);

/* Whether an event comes within ms; it is read and acknowledged. */
bool is_event(struct end *e, unsigned ms);
void arm(struct end *e, bool solicited_only);

#endif
