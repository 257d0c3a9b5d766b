/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/mmu.h"

#include <math.h>

uint64_t ccs_mmu_cells(double bytes, double cell_bytes)
{
	return (uint64_t)fmin(ceil(bytes / cell_bytes), 0x1p53);
}

double ccs_mmu_fixed_point(double pool, double alpha, double n, double others)
{
	return alpha * pool / (1 + n * alpha + others);
}

double ccs_mmu_share(const struct ccs_mmu *mmu, const struct ccs_mmu_limits *limits, uint64_t used)
{
	const uint64_t unused = mmu->pool > used ? mmu->pool - used : 0;

	return limits->alpha > 0 ? limits->alpha * (double)unused : (double)limits->share;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The ingress side limits what such a queue holds, guarantees and headroom included. */
static bool is_unlimited(const struct ccs_mmu_limits *limits)
{
	return !(limits->alpha > 0) && limits->share == UINT64_MAX;
}

/* At most 2^53. */
static uint64_t round_up(double x)
{
	return x < 0x1p53 ? (uint64_t)x + ((double)(uint64_t)x < x) : 1ull << 53;
}

/* Cells of its share that an account may take of the pool besides those it has. */
static uint64_t left_in_share(const struct ccs_mmu *mmu, const struct ccs_mmu_account *a,
			      uint64_t used)
{
	const uint64_t unused = mmu->pool > used ? mmu->pool - used : 0;
	double share;

	if (is_unlimited(&a->limits))
		return UINT64_MAX;
	share = ccs_mmu_share(mmu, &a->limits, used);
	return share <= (double)a->shared ? 0 : least(unused, round_up(share) - a->shared);
}

/* Book cells from the lowest block up; false, without booking any, if they do not fit. */
static bool book(const struct ccs_mmu *mmu, struct ccs_mmu_account *a, uint64_t *used, uint64_t cells)
{
	const uint64_t guaranteed = least(cells, a->limits.guarantee - a->guaranteed);
	const uint64_t shared = least(cells - guaranteed, left_in_share(mmu, a, *used));
	const uint64_t rest = cells - guaranteed - shared;

	if (rest > (a->limits.lossless ? a->limits.headroom - a->headroom : 0))
		return false;
	a->guaranteed += guaranteed;
	a->shared += shared;
	a->headroom += (uint32_t)rest;
	*used += shared;
	return true;
}

/* The highest block is released first. */
static void unbook(struct ccs_mmu_account *a, uint64_t *used, uint64_t cells)
{
	const uint64_t headroom = least(cells, a->headroom);
	const uint64_t shared = least(cells - headroom, a->shared);

	a->headroom -= (uint32_t)headroom;
	a->shared -= shared;
	a->guaranteed -= cells - headroom - shared;
	*used -= shared;
}

enum ccs_mmu_result ccs_mmu_store(struct ccs_mmu *mmu, struct ccs_mmu_account *pg,
				  struct ccs_mmu_account *queue, uint64_t cells)
{
	if (!book(mmu, pg, &mmu->ingress, cells))
		return CCS_MMU_NO_INGRESS;
	if (book(mmu, queue, &mmu->egress, cells))
		return CCS_MMU_STORED;
	unbook(pg, &mmu->ingress, cells);
	return CCS_MMU_NO_EGRESS;
}

void ccs_mmu_release(struct ccs_mmu *mmu, struct ccs_mmu_account *pg,
		     struct ccs_mmu_account *queue, uint64_t cells)
{
	unbook(pg, &mmu->ingress, cells);
	unbook(queue, &mmu->egress, cells);
}

/* A PG in its headroom is above its share, however that has changed since. */
bool ccs_mmu_update_pause(const struct ccs_mmu *mmu, struct ccs_mmu_account *pg)
{
	const double share = ccs_mmu_share(mmu, &pg->limits, mmu->ingress);

	if (!pg->limits.lossless)
		pg->paused = false;
	else if (pg->headroom || (pg->guaranteed == pg->limits.guarantee && (double)pg->shared >= share))
		pg->paused = true;
	else if ((double)pg->shared + (double)pg->limits.hysteresis < share || !pg->shared)
		pg->paused = false;
	return pg->paused;
}
