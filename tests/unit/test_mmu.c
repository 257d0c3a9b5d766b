/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the accounts of a shared buffer: fixed points, XOFF, and that cells are conserved. */
#include "test.h"

#include <math.h>

#include "fabric/mmu.h"
#include "seed.h"

enum { PGS = 64, POOL = 123232 };

static struct ccs_mmu_account lossless(double alpha, uint64_t headroom)
{
	return (struct ccs_mmu_account){ .limits = {
		.guarantee = 36, .alpha = alpha, .headroom = headroom, .lossless = true } };
}

static struct ccs_mmu_account unlimited(void)
{
	return (struct ccs_mmu_account){ .limits = { .guarantee = 36, .share = UINT64_MAX } };
}

/* Fill n PGs in turn, a cell at a time, until all are paused. */
static void fill(struct ccs_mmu *mmu, struct ccs_mmu_account *pg, unsigned n,
		 struct ccs_mmu_account *queue)
{
	for (bool grew = true; grew;) {
		grew = false;
		for (unsigned i = 0; i < n; i++)
			if (!ccs_mmu_update_pause(mmu, pg + i)) {
				assert_int_equal(ccs_mmu_store(mmu, pg + i, queue, 1), CCS_MMU_STORED);
				grew = true;
			}
	}
}

TEST(xoff_is_at_the_fixed_point)
{
	seed_start("mmu");
	for (int round = 0; round < 30; round++) {
		const unsigned n = 1 + (unsigned)seed_below(PGS);
		const double alpha = ldexp(1, (int)seed_below(10) - 6);
		struct ccs_mmu mmu = { .pool = POOL };
		struct ccs_mmu_account pg[PGS], queue = unlimited();

		for (unsigned i = 0; i < n; i++)
			pg[i] = lossless(alpha, 100);
		fill(&mmu, pg, n, &queue);
		for (unsigned i = 0; i < n; i++)
			assert_true(fabs((double)pg[i].shared -
					 ccs_mmu_fixed_point(POOL, alpha, n, 0)) <= 1 + alpha);
	}
}

TEST(the_published_alphas_give_these_shares)
{
	static const struct { double alpha, each, all; } rows[] = {
		{ 1 / 8., 2621, 102256 }, { 1 / 4., 2865, 111768 },
		{ 1 / 2., 3005, 117220 }, { 1, 3080, 120151 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const double each = ccs_mmu_fixed_point(POOL, rows[i].alpha, 39, 0);

		assert_true(floor(each) == rows[i].each);
		assert_true(floor(39 * each) == rows[i].all);
	}
	assert_true(floor(ccs_mmu_fixed_point(POOL, 1 / 8., 1, 0)) == 13692);
	assert_true(floor(ccs_mmu_fixed_point(POOL, 1 / 8., 1, 8)) == 1688);
	assert_true(floor(ccs_mmu_fixed_point(POOL, 1 / 8., 1, 1 / 8.)) == 12323);
}

TEST(a_lossy_queue_lowers_xoff_to_the_fixed_point)
{
	struct ccs_mmu mmu = { .pool = POOL };
	struct ccs_mmu_account pg = lossless(1 / 8., 100), queue = unlimited();
	struct ccs_mmu_account lossy = { .limits = { .alpha = 8 } }, drain = unlimited();

	while (ccs_mmu_store(&mmu, &lossy, &drain, 1) == CCS_MMU_STORED)
		;
	while (!ccs_mmu_update_pause(&mmu, &pg)) {
		assert_int_equal(ccs_mmu_store(&mmu, &pg, &queue, 1), CCS_MMU_STORED);
		while ((double)lossy.shared > ccs_mmu_share(&mmu, &lossy.limits, mmu.ingress))
			ccs_mmu_release(&mmu, &lossy, &drain, 1); /* it drains, and gets no more */
	}
	assert_true(fabs((double)pg.shared - ccs_mmu_fixed_point(POOL, 1 / 8., 1, 8)) <= 2);
}

TEST(headroom_takes_exactly_its_cells_after_xoff)
{
	struct ccs_mmu mmu = { .pool = 1000 };
	struct ccs_mmu_account pg = lossless(1, 408), queue = unlimited();

	fill(&mmu, &pg, 1, &queue);
	for (int i = 0; i < 408; i++)
		assert_int_equal(ccs_mmu_store(&mmu, &pg, &queue, 1), CCS_MMU_STORED);
	assert_int_equal(ccs_mmu_store(&mmu, &pg, &queue, 1), CCS_MMU_NO_INGRESS);
}

TEST(a_full_queue_drops_and_books_nothing)
{
	struct ccs_mmu mmu = { .pool = 1000 };
	struct ccs_mmu_account pg = lossless(1, 0), queue = { .limits = { .share = 10 } };

	assert_int_equal(ccs_mmu_store(&mmu, &pg, &queue, 10), CCS_MMU_STORED);
	assert_int_equal(ccs_mmu_store(&mmu, &pg, &queue, 1), CCS_MMU_NO_EGRESS);
	assert_int_equal(pg.guaranteed + pg.shared + pg.headroom, 10);
}

TEST(xon_is_below_xoff_by_the_hysteresis)
{
	struct ccs_mmu mmu = { .pool = 1000 };
	struct ccs_mmu_account pg = lossless(0, 100), queue = unlimited();

	pg.limits.share = 200;
	pg.limits.hysteresis = 20;
	assert_int_equal(ccs_mmu_store(&mmu, &pg, &queue, 36 + 200), CCS_MMU_STORED);
	assert_true(ccs_mmu_update_pause(&mmu, &pg));
	ccs_mmu_release(&mmu, &pg, &queue, 20);
	assert_true(ccs_mmu_update_pause(&mmu, &pg));
	ccs_mmu_release(&mmu, &pg, &queue, 1);
	assert_false(ccs_mmu_update_pause(&mmu, &pg));
}

static uint64_t held(const struct ccs_mmu_account *a)
{
	return a->guaranteed + a->shared + a->headroom;
}

TEST(cells_are_conserved)
{
	struct ccs_mmu mmu = { .pool = 2000 };
	struct ccs_mmu_account pg[4], queue[4];
	uint64_t stored[4][4] = { 0 };

	seed_start("mmu");
	for (int i = 0; i < 4; i++) {
		pg[i] = lossless(1 / 2., 50);
		queue[i] = (struct ccs_mmu_account){ .limits = { .guarantee = 10, .alpha = 2 } };
	}
	for (int step = 0; step < 100000; step++) {
		const unsigned i = (unsigned)seed_below(4), o = (unsigned)seed_below(4);
		const uint64_t cells = 1 + seed_below(36);

		if (seed_below(2)) {
			if (ccs_mmu_store(&mmu, pg + i, queue + o, cells) == CCS_MMU_STORED)
				stored[i][o] += cells;
		} else if (stored[i][o] >= cells) {
			ccs_mmu_release(&mmu, pg + i, queue + o, cells);
			stored[i][o] -= cells;
		}
		assert_true(mmu.ingress <= mmu.pool && mmu.egress <= mmu.pool);
		for (int k = 0; k < 4; k++) {
			assert_int_equal(held(pg + k), stored[k][0] + stored[k][1] + stored[k][2] + stored[k][3]);
			assert_int_equal(held(queue + k),
					 stored[0][k] + stored[1][k] + stored[2][k] + stored[3][k]);
		}
	}
}
