/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests headroom with the published values, and its monotonicity. */
#include "test.h"

#include <math.h>

#include "fabric/headroom.h"
#include "seed.h"

/* 1.5 us, 1500 bytes, 84 bytes a slot, 256 bytes a cell, 2e8 m/s */
static struct ccs_headroom port(double rate_bps, double metres)
{
	return (struct ccs_headroom){
		.rate_bps = rate_bps, .cable_us = ccs_headroom_cable_us(metres, 2e8), .t0_us = 1.5,
		.mtu_bytes = 1500, .slot_bits = 672, .cell_bytes = 256,
	};
}

TEST(both_published_ports_have_their_cells)
{
	const struct ccs_headroom fast = port(100e9, 100), slow = port(25e9, 15);

	assert_int_equal(ccs_headroom_need(&fast).cells, 408);
	assert_int_equal(ccs_headroom_need(&fast).bytes, 104448);
	assert_int_equal(ccs_headroom_need(&slow).cells, 98);
	assert_int_equal(ccs_headroom_need(&slow).bytes, 25088);
}

TEST(the_terms_add_up_to_the_time)
{
	seed_start("headroom");
	for (int i = 0; i < 10000; i++) {
		const struct ccs_headroom h = port(1e9 * (1 + (double)seed_below(400)),
						   (double)seed_below(2000));
		const struct ccs_headroom_need n = ccs_headroom_need(&h);

		assert_true(fabs(n.tm1_us + n.tr1_us + n.tm2_us + n.tr2_us - n.total_us) < 1e-9);
		assert_true((double)n.cells * h.slot_bits >= n.total_us * 1e-6 * h.rate_bps - 1e-3);
		assert_true(((double)n.cells - 1) * h.slot_bits < n.total_us * 1e-6 * h.rate_bps);
	}
}

TEST(a_longer_cable_and_a_faster_port_never_need_less)
{
	seed_start("headroom");
	for (int i = 0; i < 10000; i++) {
		struct ccs_headroom h = port(1e9 * (1 + (double)seed_below(400)),
					     (double)seed_below(2000));
		const uint64_t cells = ccs_headroom_need(&h).cells;

		h.cable_us += 0.1;
		assert_true(ccs_headroom_need(&h).cells >= cells);
		h.cable_us -= 0.1;
		h.rate_bps *= 1.5;
		assert_true(ccs_headroom_need(&h).cells >= cells);
	}
}

/* All frames of the network, instead of the two that are worst. */
TEST(no_frame_fills_more_cells_per_bit)
{
	seed_start("headroom");
	for (int i = 0; i < 300; i++) {
		struct ccs_headroom h = port(100e9, 100);
		double worst = 0;

		h.cell_bytes = 1 + (double)seed_below(i % 2 ? 600 : 40);
		h.mtu_bytes = 64 + (double)seed_below(9200);
		for (double f = 64; f <= h.mtu_bytes; f++)
			worst = fmax(worst, ceil(f / h.cell_bytes) / (8 * (f + 20)));
		if (ccs_headroom_cells(&h, 1e6) != ceil(1e6 * worst - 1e-9))
			fail_msg("cell %g, MTU %g: %g cells, not %g", h.cell_bytes, h.mtu_bytes,
				 ccs_headroom_cells(&h, 1e6), ceil(1e6 * worst - 1e-9));
	}
}

/* A published headroom. */
struct row {
	double cells, rate_bps, cable_us;
};

struct interval {
	double above, most;      /* (above, most] */
};

/* ceil(T * rate / slot) is n for T in ((n - 1) * slot / rate, n * slot / rate]. */
static struct interval solve_tm(const struct row *row, double slot_bits)
{
	const double slot_us = slot_bits / row->rate_bps * 1e6;

	return (struct interval){ (row->cells - 1) * slot_us - 2 * row->cable_us,
				      row->cells * slot_us - 2 * row->cable_us };
}

static struct interval solve_t0(const struct row *row, double slot_bits,
					  double frame_bytes)
{
	const struct interval tm = solve_tm(row, slot_bits);
	const double frames_us = 2 * 8 * frame_bytes / row->rate_bps * 1e6;

	return (struct interval){ tm.above - frames_us, tm.most - frames_us };
}

static struct interval common(struct interval a, struct interval b)
{
	return (struct interval){ fmax(a.above, b.above), fmin(a.most, b.most) };
}

static void assert_interval(struct interval i, double above, double most)
{
	assert_true(fabs(i.above - above) < 0.5e-4);
	assert_true(fabs(i.most - most) < 0.5e-4);
}

TEST(no_constant_explains_both_published_values)
{
	const struct row fast = { 408, 100e9, 0.5 }, slow = { 98, 25e9, 0.075 };
	struct interval both;

	assert_interval(solve_tm(&fast, 512), 1.0838, 1.0890);
	assert_interval(solve_tm(&slow, 512), 1.8366, 1.8570);
	assert_interval(solve_tm(&fast, 672), 1.7350, 1.7418);
	assert_interval(solve_tm(&slow, 672), 2.4574, 2.4842);
	both = common(solve_tm(&fast, 672),
				   solve_tm(&slow, 672));
	assert_false(both.above < both.most);
}

TEST(a_frame_at_each_end_explains_both_published_values)
{
	const struct row fast = { 408, 100e9, 0.5 }, slow = { 98, 25e9, 0.075 };

	assert_interval(common(solve_t0(&fast, 672, 1500),
					    solve_t0(&slow, 672, 1500)),
			1.4974, 1.5018);
	assert_interval(common(solve_t0(&fast, 672, 1538),
					    solve_t0(&slow, 672, 1538)),
			1.4890, 1.4957);
}
