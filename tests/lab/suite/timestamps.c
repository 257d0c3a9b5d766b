/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of completion timestamps and of the device's clock. */
#include "suite.h"

#include <errno.h>
#include <time.h>

static uint64_t device_clock(struct host *h)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	int error = ibv_query_rt_values_ex(h->ctx, &values);

	if (error)
		skip("no device clock: %s", strerror(error));
	require(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK, "comp_mask %x", values.comp_mask);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000u + (uint64_t)values.raw_clock.tv_nsec;
}

static void clock_is_monotonic(void)
{
	uint64_t last = device_clock(&hosts[0]), now;

	for (unsigned i = 0; i < 5; i++, last = now) {
		nap_us(1000);
		now = device_clock(&hosts[0]);
		require(now > last, "%lu after %lu", (unsigned long)now, (unsigned long)last);
	}
}

static void make_or_skip(struct pair *p, uint64_t flag)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 10,
					    .wc_flags = IBV_WC_STANDARD_FLAGS | flag };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(hosts[0].ctx, &attr);

	fact("supported", "%d", !!cq);
	if (!cq)
		skip("no timestamps: %s", strerror(errno));
	require(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroying a CQ");
	PAIR(p, .wc_flags = IBV_WC_STANDARD_FLAGS | flag);
}

static void next_batch(struct end *e)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int error = ENOENT;

	for (unsigned i = 0; i < 20000 && error == ENOENT; i++) {
		nap_us(500);
		error = ibv_start_poll(e->cqx, &attr);
	}
	require(!error, "ibv_start_poll: %s", strerror(error));
	require(!e->cqx->status, "status %s", ibv_wc_status_str(e->cqx->status));
}

static void raw_timestamps(void)
{
	uint64_t before, after, stamp, last = 0;
	struct pair p;

	make_or_skip(&p, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	for (unsigned i = 0; i < 10; i++) {
		struct end *e = i & 1 ? &p.b : &p.a;

		before = device_clock(e->host);
		nap_us(1000);
		recv_ok(&p.b, i, 0, 4096);
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = 3000, SIGNALED);
		next_batch(&p.a);
		stamp = ibv_wc_read_completion_ts(p.a.cqx);
		ibv_end_poll(p.a.cqx);
		next_batch(&p.b);
		if (i & 1)
			stamp = ibv_wc_read_completion_ts(p.b.cqx);
		ibv_end_poll(p.b.cqx);
		nap_us(1000);
		after = device_clock(e->host);
		require(before < stamp && stamp < after, "%lu is not between %lu and %lu",
			(unsigned long)stamp, (unsigned long)before, (unsigned long)after);
		if (e == &p.a) {
			require(stamp > last, "%lu after %lu", (unsigned long)stamp,
				(unsigned long)last);
			last = stamp;
		}
	}
	pair_drop(&p);
}

/* Of completions of one batch. */
static void batch_timestamps_are_monotonic(void)
{
	uint64_t stamp, last = 0;
	struct pair p;

	make_or_skip(&p, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	for (unsigned i = 0; i < 20; i++)
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 5000, SIGNALED);
	nap_us(200000);
	next_batch(&p.a);
	for (unsigned i = 0; i < 20; i++) {
		require(p.a.cqx->wr_id == i, "WR %lu", (unsigned long)p.a.cqx->wr_id);
		stamp = ibv_wc_read_completion_ts(p.a.cqx);
		require(stamp >= last, "%lu after %lu", (unsigned long)stamp, (unsigned long)last);
		last = stamp;
		require(ibv_next_poll(p.a.cqx) == (i < 19 ? 0 : ENOENT), "ibv_next_poll");
	}
	ibv_end_poll(p.a.cqx);
	pair_drop(&p);
}

static uint64_t wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wallclock_timestamps(void)
{
	uint64_t before, stamp, last = 0;
	struct pair p;

	make_or_skip(&p, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	for (unsigned i = 0; i < 10; i++) {
		before = wall_clock_ns();
		nap_us(2000);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 3000, SIGNALED);
		next_batch(&p.a);
		stamp = ibv_wc_read_completion_wallclock_ns(p.a.cqx);
		ibv_end_poll(p.a.cqx);
		nap_us(2000);
		require(before < stamp && stamp < wall_clock_ns() && stamp > last,
			"%lu is not between %lu and %lu, or not after %lu", (unsigned long)stamp,
			(unsigned long)before, (unsigned long)wall_clock_ns(), (unsigned long)last);
		last = stamp;
	}
	pair_drop(&p);
}

const struct check timestamp_checks[] = {
	{ "ts_clock", "ibv_query_rt_values_ex is monotonic", clock_is_monotonic },
	{ "ts_raw", "raw timestamps are between two readings of the device's clock",
	  raw_timestamps },
	{ "ts_batch", "timestamps of a batch are monotonic", batch_timestamps_are_monotonic },
	{ "ts_wallclock", "wallclock timestamps agree with CLOCK_REALTIME", wallclock_timestamps },
	{},
};
