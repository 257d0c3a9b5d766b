/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_RIG_H
#define CCS_TESTS_RIG_H
/* Two connected QPs of one process on the fake provider, with the shim preloaded. */
#include "../unit/test.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fake/fake.h"

/*
 * Restart the program with the shim and the fake provider preloaded and these variables
 * ("CCSHIM_CC=none") set, ending in NULL. Returns in the restarted process.
 */
void rig_exec(char **argv, ...);

/* A mode: a process of the same program with its settings; "RIG_BARE=1" omits the shim. */
struct rig_mode {
	const char *name, *settings[6]; /* the first is not NULL */
};

/*
 * The bare device, mode observe, mode enforce with an open gate, and with a gate of one 4 KiB
 * segment.
 */
extern const struct rig_mode rig_modes[4];

/*
 * For main: run the group of n tests in each of rig_modes as one test, or in the mode that is
 * named by the first argument. rig_mode_now is the current mode.
 */
int rig_run_modes(int argc, char **argv, const char *group, const struct CMUnitTest *tests,
		  size_t n);
/* As rig_run_modes(), in modes of the program, at most 16. */
int rig_run_in(int argc, char **argv, const char *group, const struct rig_mode *modes,
	       size_t nmodes, const struct CMUnitTest *tests, size_t n);
extern const struct rig_mode *rig_mode_now;
static inline bool rig_is(const char *mode)
{
	return strcmp(rig_mode_now->name, mode) == 0;
}

struct rig_conf {
	struct ibv_context *ctx;         /* device to use; NULL: open fake0 */
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_inline;
	int cqe;
	enum ibv_mtu path_mtu;           /* 0: 4096 bytes */
	bool ipv6;                       /* the GIDs are IPv6 addresses */
	bool sig_all, channel, one_cq;
	bool ex;                         /* created by ibv_create_qp_ex, with ibv_wr_* */
	struct ibv_cq_init_attr_ex *cq_ex; /* attributes of CQs, except cqe and channel */
	uint8_t max_rd_atomic;
	enum ibv_qp_type type;
};

struct rig {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *a, *b;            /* a sends */
	unsigned char *src, *dst;
	struct ibv_mr *smr, *dmr;
	struct rig_conf conf;
	struct fake_counts before;
};

enum { RIG_BUF = 1 << 20 };

/* Zeros in conf are replaced by defaults. */
void rig_open(struct rig *r, struct rig_conf conf);
void rig_close(struct rig *r);
struct ibv_context *rig_device(void);
/* The capacities that were reported for the last QP that this thread created. */
extern _Thread_local struct ibv_qp_cap rig_cap;
struct ibv_cq *rig_cq(struct rig *r, int cqe); /* as conf says, with the rig as its qp_context */
struct ibv_qp *rig_qp(struct rig *r, struct ibv_cq *scq, struct ibv_cq *rcq);
void rig_connect(struct rig *r, struct ibv_qp *qp, uint32_t dest);
int rig_state(struct ibv_qp *qp, enum ibv_qp_state state);
void rig_to_rts(struct rig *r, struct ibv_qp *qp, uint32_t dest);

/* Build a WR from src + offset to dst + offset. sge must live as long as the WR. */
struct ibv_send_wr rig_wr(const struct rig *r, struct ibv_sge *sge, uint64_t wr_id,
			  enum ibv_wr_opcode opcode, uint64_t offset, uint32_t len,
			  unsigned int flags);
/* Post one WR; returns 0 or the error code. */
int rig_post(struct rig *r, uint64_t wr_id, enum ibv_wr_opcode opcode, uint64_t offset,
	     uint32_t len, unsigned int flags);
int rig_recv(struct rig *r, uint64_t wr_id, uint64_t offset, uint32_t len);

/* Poll until n completions have arrived; the test fails if no more arrive. */
void rig_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);
/* As rig_poll(), and step the held device while waiting. */
void rig_poll_stepping(struct ibv_cq *cq, int n, struct ibv_wc *wc);
/* Poll for a while; the test fails if a completion arrives. */
void rig_poll_nothing(struct ibv_cq *cq);
void rig_fill(struct rig *r);
/* Wait a little; returns false after an hour, as the test must be hanging. */
bool rig_keep_waiting(unsigned *spins);

/* Wait until all other threads of the process sleep, which is seen ten times. */
void rig_until_others_sleep(void);

/* The WQEs of one QP that the device received. */
size_t rig_seen_of(const struct ibv_qp *qp, struct fake_wqe_seen *out, size_t max);

#endif
