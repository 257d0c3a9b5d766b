/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_MMU_H
#define CCS_FABRIC_MMU_H
/*
 * A switch's shared buffer, in cells: each packet is booked twice, for the priority group (PG) of
 * its ingress port and for the queue of its egress port. Each account has guaranteed cells, a share
 * of the pool and, for lossless PGs, headroom, and uses them in this order. A PG that reaches its
 * share pauses its peer (XOFF). Pure: the caller owns the state and sends the PAUSE frames.
 */
#include <stdbool.h>
#include <stdint.h>

/* Limits of one PG or queue, in cells. */
struct ccs_mmu_limits {
	uint64_t guarantee;  /* reserved cells, even while idle */
	double alpha;        /* its share is alpha * free cells of the pool; 0: `share` instead */
	uint64_t share;      /* static share; UINT64_MAX: no limit, for queues */
	uint32_t headroom;   /* lossless PGs only */
	uint32_t hysteresis; /* XON is so far below XOFF */
	bool lossless;
};

/* The cells held by a PG or queue: a cache line, since a simulator has thousands. */
struct ccs_mmu_account {
	_Alignas(64) struct ccs_mmu_limits limits;
	uint64_t guaranteed, shared;           /* cells in use */
	uint32_t headroom;                     /* and of the headroom */
	bool paused;                           /* XOFF was sent, XON was not */
};

/* The pool, once for ingress and once for egress. */
struct ccs_mmu {
	uint64_t pool;             /* cells beside guarantees and headroom */
	uint64_t ingress, egress;  /* cells of the pool in use, as each side books them */
};

enum ccs_mmu_result {
	CCS_MMU_STORED,
	CCS_MMU_NO_INGRESS,        /* dropped: the PG has no cell left */
	CCS_MMU_NO_EGRESS,         /* dropped: the queue has no cell left */
};

/* The most that an account may hold of the pool while `used` cells of it are in use. */
double ccs_mmu_share(const struct ccs_mmu *mmu, const struct ccs_mmu_limits *limits, uint64_t used);

/* A packet of `cells` arrives. Stores it in both accounts or refuses it. */
enum ccs_mmu_result ccs_mmu_store(struct ccs_mmu *mmu, struct ccs_mmu_account *pg,
				  struct ccs_mmu_account *queue, uint64_t cells);

void ccs_mmu_release(struct ccs_mmu *mmu, struct ccs_mmu_account *pg,
		     struct ccs_mmu_account *queue, uint64_t cells);

/* Whether the PG's peer must be paused now. Call it after each change of the pool, and send a PAUSE
 * frame when pg->paused changes. */
bool ccs_mmu_update_pause(const struct ccs_mmu *mmu, struct ccs_mmu_account *pg);

/* Cells that a packet takes. */
uint64_t ccs_mmu_cells(double bytes, double cell_bytes);

/*
 * The fixed point: n accounts with alpha that all fill up beside others, whose alphas add up to
 * `others`, hold alpha * pool / (1 + n * alpha + others) each.
 */
double ccs_mmu_fixed_point(double pool, double alpha, double n, double others);

#endif
