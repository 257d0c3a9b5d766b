/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue as a whole, by random programs. The test plays application
 * and device, keeps its own simple books, and compares after every step. The
 * device of the model completes in order, signals what was asked for, and tells
 * of every WQE once one has failed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "flow/flow.h"
#include "seed.h"

enum { MAX = 1 << 16 };

struct mwr {
	uint64_t len, handed;            /* bytes handed to the device */
	uint32_t flags;
	bool whole;                      /* its last byte was */
	unsigned told;                   /* completions delivered */
};

struct mseg {
	uint64_t wr, len, number;
	bool last, signal;
};

struct model {
	struct ccs_flow flow;
	struct mwr wr[MAX];
	uint64_t first_number;           /* of wr[0], in the flow's count */
	uint64_t accepted, kept;         /* kept: accepted and not taken back */
	uint64_t told_up_to;             /* visible completions come in order */
	struct mseg seg[MAX];            /* in flight: [done, sent) */
	uint64_t done, sent;
	uint64_t read;                   /* bytes that READs have requested */
	uint64_t now;
	bool calm;                       /* its WRs are small, and it is not held back */
	bool failed;                     /* a completion was in error */
	uint64_t failed_wr;
	uint32_t wr_limit, seg_limit;
	uint64_t delivered, programs_failed, switches, through;
};

static struct model m;

static bool no_memory;

/* The linker's --wrap: the library's calls come here. */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

static void no_derive(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

/* An algorithm that only listens: what does the flow tell it? */
static struct ccs_cc_ack heard[64];
static unsigned heard_count;
static double spy_rate = INFINITY, spy_window;

static void spy_init(struct ccs_cc *cc)
{
	cc->out.rate = spy_rate;
	cc->out.window = spy_window;
}

static void spy_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	(void)cc;
	heard[heard_count++ % 64] = *ack;
}

static void spy_cnp(struct ccs_cc *cc, double now_us)
{
	(void)now_us;
	spy_init(cc);
}

static const struct ccs_cc_ops spy = {
	.abi = CCS_CC_ABI, .name = "spy", .doc = "",
	.needs = CCS_NEEDS_RTT, .derive = no_derive, .on_init = spy_init,
	.on_ack = spy_ack, .on_cnp = spy_cnp,
};

static void open_flow(struct ccs_flow *f, const struct ccs_flow_config *conf, uint32_t wr_limit,
		      uint32_t seg_limit, uint64_t now)
{
	static struct ccs_cc_spec spec;

	spec = ccs_cc_plain(&spy);
	memset(f, 0, sizeof(*f));
	heard_count = 0;
	assert_int_equal(ccs_flow_init(f, conf, &spec, wr_limit, seg_limit, now), 0);
}

static uint64_t in_flight(void)
{
	uint64_t n = 0;

	for (uint64_t i = m.done; i < m.sent; i++)
		n += m.seg[i].len;
	return n;
}

static unsigned reads_in_flight(void)
{
	unsigned n = 0;

	for (uint64_t i = m.done; i < m.sent; i++)
		n += !!(m.wr[m.seg[i].wr].flags & CCS_WR_READ);
	return n;
}

/* Bytes in flight that a completion is still to come for. */
static uint64_t awaited_bytes(void)
{
	uint64_t n = 0, awaited = 0;

	for (uint64_t i = m.done; i < m.sent; i++) {
		n += m.seg[i].len;
		if (m.seg[i].signal)
			awaited = n;
	}
	return awaited;
}

static bool signalled_in_flight(void)
{
	for (uint64_t i = m.done; i < m.sent; i++)
		if (m.seg[i].signal)
			return true;
	return false;
}

/* First WR that is not wholly handed over, or m.kept. */
static uint64_t waiting_from(void)
{
	uint64_t i = 0;

	while (i < m.kept && m.wr[i].whole)
		i++;
	return i;
}

static struct mwr random_wr(void)
{
	static const uint32_t kinds[] = {
		CCS_WR_SPLIT, CCS_WR_SPLIT | CCS_WR_READ, CCS_WR_READ, CCS_WR_RECV, 0,
		CCS_WR_SPLIT | CCS_WR_RECV,
	};
	const uint64_t sizes[] = { 0, 1, 100, m.flow.segment - 1, m.flow.segment,
				   m.flow.segment + 1, 10 * m.flow.segment, seed_below(100000) };
	struct mwr wr = { .len = sizes[seed_below(8)], .flags = kinds[seed_below(6)] };

	if (seed_below(3) == 0)
		wr.flags |= CCS_WR_VISIBLE;
	if (m.calm)
		wr.len %= 200;
	return wr;
}

static void accept_this(const struct mwr *wr)
{
	const uint64_t number = ccs_flow_accept(&m.flow, wr->len, wr->flags);

	assert_int_equal(number, m.first_number + m.kept);
	m.wr[m.kept++] = *wr;
	m.accepted++;
}

static void accept_one(void)
{
	const struct mwr wr = random_wr();

	if (!ccs_flow_full(&m.flow) && m.kept < MAX)
		accept_this(&wr);
}

/* The window: never more outstanding than allowed, unless nobody could ever open it. */
static void check_window(uint64_t len)
{
	const struct ccs_flow *f = &m.flow;
	const double window = f->cc.out.window > 0 ? fmin(f->cc.out.window, (double)f->window)
						   : (double)f->window;

	if (f->state == CCS_FLOW_FLUSH || !f->enforce)
		return;
	if (awaited_bytes() && (double)(in_flight() + len) > window)
		fail_msg("%" PRIu64 " bytes join %" PRIu64 " in flight; the window is %g", len,
			 in_flight(), window);
	if ((m.wr[waiting_from()].flags & CCS_WR_READ) && signalled_in_flight())
		assert_true(reads_in_flight() < f->max_reads);
}

static uint64_t timed_in_flight(void)
{
	uint64_t n = 0;

	for (uint64_t i = m.done; i < m.sent; i++)
		n += m.seg[i].signal && ccs_flow_is_timed(&m.flow, m.seg[i].number);
	return n;
}

static bool next_that(bool timeless)
{
	struct ccs_flow *f = &m.flow;
	const uint64_t wr = waiting_from();
	const bool flush = f->state == CCS_FLOW_FLUSH;
	const bool first = !f->sent && (f->cc.ops->needs & CCS_NEEDS_RTT);
	const bool small = (first || f->cc.out.small_next) && !f->base_given;
	uint64_t number = 0, left, want;
	const struct ccs_seg *seg;

	assert_int_equal(f->timed, timed_in_flight());
	seg = ccs_flow_next(f, timeless || seed_below(2) ? CCS_TIME_UNKNOWN : m.now, &number);
	assert_true(!timeless || seg != &ccs_flow_time);
	if (seg == &ccs_flow_time)
		seg = ccs_flow_next(f, m.now, &number);
	if (!seg)
		return false;
	assert_true(wr < m.kept && f->state != CCS_FLOW_HOLD);
	left = m.wr[wr].len - m.wr[wr].handed;
	want = left;
	if ((m.wr[wr].flags & CCS_WR_SPLIT) && f->split && f->enforce && !flush &&
	    left > f->segment)
		want = small && f->segment > 256 ? 256 : f->segment;
	if (f->cc.ops == &ccs_cc_copa && want == f->segment && seg->len == 256 && !f->base_given)
		want = 256; /* a timer asked for it */
	assert_int_equal(seg->wr, m.first_number + wr);
	assert_int_equal(seg->offset, m.wr[wr].handed);
	assert_int_equal(seg->len, want);
	assert_int_equal(seg->first, m.wr[wr].handed == 0);
	assert_int_equal(seg->last, want == left);
	assert_int_equal(seg->flags, m.wr[wr].flags);
	check_window(want);
	assert_true(m.sent - m.done < m.seg_limit);
	if ((flush || (seg->last && (seg->flags & CCS_WR_VISIBLE))) && !seg->signal)
		fail_msg("a completion that is owed was not asked for");
	m.wr[wr].handed += want;
	m.read += m.wr[wr].flags & CCS_WR_READ ? want : 0;
	assert_int_equal(f->read, m.read);
	m.wr[wr].whole = want == left;
	assert_true(m.sent < MAX);
	m.seg[m.sent++] = (struct mseg){ wr, want, number, seg->last, seg->signal };
	if (m.sent - m.done > 1)
		assert_int_equal(number, m.seg[m.sent - 2].number + 1);
	return true;
}

static void check_told(uint64_t wr, bool ok)
{
	struct mwr *w = &m.wr[wr];

	assert_true(wr < m.kept);
	assert_true(wr >= m.told_up_to);
	assert_int_equal(w->told, 0);
	if (ok)
		assert_true((w->flags & CCS_WR_VISIBLE) && w->whole && !m.failed);
	w->told++;
	m.told_up_to = wr + 1;
	m.delivered++;
}

/* The device completes the oldest that it tells of; with an error, or not. */
static void complete_one(bool ok)
{
	uint64_t i = m.done, wr = UINT64_MAX;
	struct ccs_done done = { .ok = ok, .earliest_ns = m.now, .latest_ns = m.now };
	bool owed;

	if (m.failed) {
		done.ok = false; /* flushed, asked for or not */
	} else if (ok) {
		while (i < m.sent && !m.seg[i].signal)
			i++;
	} else {
		i += seed_below(m.sent - m.done + 1); /* any WQE may fail, also an unsignalled */
		for (uint64_t k = m.done; k < i; k++)
			if (m.seg[k].signal)
				i = k; /* but its predecessors' completions come first */
	}
	if (i >= m.sent)
		return;
	done.number = m.seg[i].number;
	if (!done.ok && !m.failed) {
		m.failed = true;
		m.failed_wr = m.seg[i].wr;
		m.programs_failed++;
	}
	m.done = i + 1;
	owed = ccs_flow_complete(&m.flow, &done, &wr);
	if (owed) {
		if (done.ok)
			assert_true(m.seg[i].last);
		assert_int_equal(wr, m.first_number + m.seg[i].wr);
		check_told(m.seg[i].wr, done.ok);
	} else if (done.ok) {
		assert_false(m.seg[i].last && (m.wr[m.seg[i].wr].flags & CCS_WR_VISIBLE));
	} else {
		assert_int_equal(m.wr[m.seg[i].wr].told, 1); /* an earlier segment's failure */
	}
	if (!done.ok) {
		assert_int_equal(m.flow.state, CCS_FLOW_FLUSH);
		m.wr[m.seg[i].wr].whole = true; /* its rest is never handed over */
	}
}

/* The device takes only part of what it was given just now. */
static bool next_one(void)
{
	return next_that(false);
}

static void refuse_some(void)
{
	uint64_t got = 0, keep;

	while (got < 16 && next_one())
		got++;
	if (!got)
		return;
	keep = seed_below(got);
	ccs_flow_unsend(&m.flow, m.seg[m.sent - got + keep].number);
	for (uint64_t i = keep; i < got; i++) {
		const struct mseg *s = &m.seg[--m.sent];

		m.wr[s->wr].handed -= s->len;
		m.read -= m.wr[s->wr].flags & CCS_WR_READ ? s->len : 0;
		m.wr[s->wr].whole = false;
	}
}

/* The application is told that its newest WRs were not accepted. */
static void take_back_some(void)
{
	uint64_t from = waiting_from();

	if (from < m.kept && m.wr[from].handed)
		from++;
	if (from >= m.kept)
		return;
	from += seed_below(m.kept - from);
	ccs_flow_unaccept(&m.flow, m.first_number + from);
	m.kept = from;
}

static void stale_completion(void)
{
	const struct ccs_flow *f = &m.flow;
	struct ccs_done done = { .ok = seed_below(2), .earliest_ns = m.now, .latest_ns = m.now };
	const struct ccs_flow_stats before = f->stats;
	uint64_t wr;

	done.number = seed_below(2) ? f->seg_head + seed_below(1000)
				    : f->seg_tail - 1 - seed_below(1000);
	assert_false(ccs_flow_complete(&m.flow, &done, &wr));
	assert_memory_equal(&before, &f->stats, sizeof(before));
}

static void reset_flow(void)
{
	ccs_flow_reset(&m.flow);
	m.first_number = m.flow.wr_head;
	m.kept = m.told_up_to = 0;
	m.done = m.sent = 0;
	m.failed = false;
}

/* At that time something goes, unless it was an algorithm's timer: then there is another time. */
static void try_at(uint64_t due)
{
	for (unsigned i = 0; i < 100 && due != UINT64_MAX; i++) {
		m.now = due > m.now ? due : m.now;
		if (next_one())
			return;
		assert_non_null(m.flow.cc.ops->on_timer);
		due = ccs_flow_wait(&m.flow, m.now);
	}
}

/* In mid-traffic; the spy with its rate and window is one of them. */
static void switch_algorithm(void)
{
	static struct ccs_cc_spec spec;
	unsigned n = 0;

	while (ccs_cc_all[n])
		n++;
	n = (unsigned)seed_below(n + 1);
	spec = ccs_cc_plain(ccs_cc_all[n] ? ccs_cc_all[n] : &spy);
	ccs_flow_switch(&m.flow, &spec, m.now);
	assert_ptr_equal(m.flow.cc.ops, spec.ops);
	assert_true(m.flow.cc.out.rate > 0);
	m.switches++;
}

/* Of a CNP the spy makes the rate of now. */
static void notify(void)
{
	const double before = spy_rate;

	spy_rate = seed_below(2) ? INFINITY : 1e9;
	ccs_flow_cnp(&m.flow, m.now);
	spy_rate = before;
}

/*
 * At once, if it may: all is as if it had been accepted and handed over, without a time. That
 * is done, too, for the books.
 */
static bool through_one(void)
{
	const struct ccs_flow before = m.flow;
	const struct mwr wr = random_wr();
	const struct ccs_seg *seg = ccs_flow_through(&m.flow, wr.len, wr.flags);
	struct ccs_flow after = m.flow;
	struct ccs_seg got;

	if (!seg) {
		assert_memory_equal(&m.flow, &before, sizeof(before));
		return false;
	}
	assert_ptr_equal(seg, ccs_flow_seg(&after, after.seg_head - 1));
	got = *seg;
	m.flow = before;
	assert_false(ccs_flow_full(&m.flow));
	accept_this(&wr);
	assert_true(next_that(true));
	assert_memory_equal(&got, ccs_flow_seg(&m.flow, m.flow.seg_head - 1), sizeof(got));
	after.calm_wrs = m.flow.calm_wrs;
	after.calm_bytes = m.flow.calm_bytes;
	assert_memory_equal(&m.flow, &after, sizeof(after));
	m.through++;
	return true;
}

static struct ccs_flow_config random_config(void)
{
	static const double segments[] = { 256, 4096, 65536 };
	const double segment = segments[seed_below(3)];

	return (struct ccs_flow_config){
		.line_rate = 10e9,
		.max_rate = INFINITY,
		.base_rtt_us = seed_below(2) ? 20 : 0,
		.segment = segment,
		.cap = segment * (double)(1 + seed_below(5)),
		.split = seed_below(4),
		.enforce = seed_below(4),
		.seed = seed_next(),
	};
}

/* Other settings in mid-traffic, and perhaps another algorithm. */
static void configure(void)
{
	static const double rates[] = { INFINITY, 1e9, 1e8 };
	static struct ccs_cc_spec spec;
	struct ccs_flow_config conf = random_config();
	const struct ccs_flow before = m.flow;

	conf.max_rate = rates[seed_below(3)];
	conf.noise_us = (double)seed_below(3);
	conf.segment *= (double)seed_below(3) / 2;
	conf.cap = conf.cap < conf.segment ? 0 : conf.cap;
	spec = ccs_cc_plain(seed_below(2) ? &ccs_cc_timely : &ccs_cc_none);
	ccs_flow_configure(&m.flow, &conf, seed_below(2) ? &spec : m.flow.cc.spec, m.now);
	assert_true(ccs_flow_rate(&m.flow) <= conf.max_rate && ccs_flow_rate(&m.flow) > 0);
	assert_true(m.flow.enforce == conf.enforce && m.flow.split == conf.split);
	assert_true(conf.segment == 0 || m.flow.segment == conf.segment);
	assert_true(conf.cap == 0 || (double)m.flow.cap == conf.cap);
	assert_true(m.flow.wr_head == before.wr_head && m.flow.seg_head == before.seg_head);
	assert_true(m.flow.inflight == before.inflight && m.flow.sent == before.sent);
	m.switches++;
}

/*
 * What must hold at any time. Most of all: if something waits, then either the
 * time to try again is known and trying then works, or a completion that was
 * asked for is still to come.
 */
static void check_books(void)
{
	struct ccs_flow *f = &m.flow;
	const uint64_t from = waiting_from();
	uint64_t retired = 0, due;

	assert_int_equal(f->inflight, in_flight());
	assert_int_equal(f->reads, reads_in_flight());
	assert_int_equal(ccs_flow_waiting(f), m.kept - from);
	retired = m.done < m.sent ? m.seg[m.done].wr : from;
	assert_int_equal(f->wr_head - f->wr_tail, m.kept - retired);
	assert_int_equal(ccs_flow_full(f), m.kept - retired >= m.wr_limit);

	due = ccs_flow_wait(f, m.now);
	if (from == m.kept) {
		assert_int_equal(due, 0);
	} else if (due == UINT64_MAX) {
		if (f->state != CCS_FLOW_HOLD && !signalled_in_flight())
			fail_msg("a WR waits for a completion that nobody asked for");
	} else {
		assert_true(due > 0);
		if (f->state != CCS_FLOW_HOLD && seed_below(4) == 0)
			try_at(due);
	}
}

static void step(void)
{
	m.now += seed_below(2) ? seed_below(3000) : 0;
	switch (seed_below(27)) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		accept_one();
		break;
	case 6: case 7: case 8: case 9: case 10: case 11:
		next_one();
		break;
	case 25: case 26:
		while (through_one() && seed_below(4))
			;
		break;
	case 12: case 13: case 14: case 15: case 16: case 17:
		complete_one(true);
		break;
	case 18:
		refuse_some();
		break;
	case 19:
		take_back_some();
		break;
	case 20:
		stale_completion();
		break;
	case 21:
		if (m.flow.state == CCS_FLOW_RUN && seed_below(4) == 0)
			m.flow.state = CCS_FLOW_HOLD;
		else if (m.flow.state == CCS_FLOW_HOLD)
			m.flow.state = CCS_FLOW_RUN;
		break;
	case 22:
		if (seed_below(40) == 0)
			reset_flow();
		break;
	case 23:
		if (seed_below(4) == 0)
			switch_algorithm();
		else if (seed_below(4) == 0)
			configure();
		else
			notify();
		break;
	default:
		if (seed_below(40) == 0)
			complete_one(false);
		break;
	}
}

/* To the end: everything goes out and every completion that is owed comes. */
static void finish(void)
{
	const struct ccs_flow *f = &m.flow;

	if (m.flow.state == CCS_FLOW_HOLD)
		m.flow.state = CCS_FLOW_RUN;
	while (waiting_from() < m.kept) {
		while (next_one())
			;
		if (waiting_from() < m.kept) {
			const uint64_t done = m.done, due = ccs_flow_wait(&m.flow, m.now);

			complete_one(true);
			if (due != UINT64_MAX && due > m.now)
				m.now = due;
			else if (done == m.done && due == UINT64_MAX)
				fail_msg("nothing moves any more");
		}
	}
	while (signalled_in_flight() || (m.failed && m.done < m.sent))
		complete_one(true);
	for (uint64_t i = 0; i < m.kept; i++) {
		const bool failed = m.failed && i >= m.failed_wr;

		assert_true(m.wr[i].whole);
		if (!failed)
			assert_int_equal(m.wr[i].handed, m.wr[i].len);
		assert_int_equal(m.wr[i].told, failed || (m.wr[i].flags & CCS_WR_VISIBLE));
	}
	assert_true(m.failed || f->wr_tail >= m.first_number + m.told_up_to);
}

static void open_random_flow(void)
{
	static const double windows[] = { 0, 0, 1, 5000, 1e6 };
	struct ccs_flow_config conf = random_config();

	memset(&m, 0, sizeof(m));
	m.calm = seed_below(2);
	if (m.calm) {
		conf.base_rtt_us = 20;
		conf.segment = conf.cap = 65536;
	}
	m.now = 1 + seed_below(1ull << 40);
	m.wr_limit = 1 + (uint32_t)seed_below(seed_below(2) ? 4 : 200);
	m.seg_limit = 1 + (uint32_t)seed_below(seed_below(2) ? 8 : 300);
	spy_rate = m.calm || seed_below(2) ? INFINITY : 1e9 * (double)(1 + seed_below(9));
	spy_window = windows[seed_below(5)];
	open_flow(&m.flow, &conf, m.wr_limit, m.seg_limit, m.now);
	m.flow.max_reads = seed_below(2) ? UINT16_MAX : 1 + (uint16_t)seed_below(4);
}

static void random_programs(void **state)
{
	uint64_t delivered = 0, failures = 0, accepted = 0, switches = 0, through = 0;

	(void)state;
	seed_start("flow");
	for (unsigned program = 0; program < 400; program++) {
		open_random_flow();
		for (unsigned i = 0; i < 400; i++) {
			step();
			check_books();
		}
		finish();
		delivered += m.delivered;
		failures += m.programs_failed;
		accepted += m.accepted;
		switches += m.switches;
		through += m.through;
		ccs_flow_destroy(&m.flow);
	}
	assert_true(delivered > 1000 && failures > 10 && accepted > 10000 && switches > 100);
	assert_true(through > 100);
}

/* Small unsignalled WRs before one that is as large as the window: the trap by itself. */
static void unsignalled_bytes_never_block_the_window(void **state)
{
	const struct ccs_flow_config conf = { .line_rate = 10e9, .max_rate = INFINITY,
					      .base_rtt_us = 20, .segment = 4096, .cap = 4096,
					      .split = true, .enforce = true };
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 1000);
	ccs_flow_accept(&f, 100, CCS_WR_SPLIT);
	ccs_flow_accept(&f, 4096, CCS_WR_SPLIT | CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, 1000, &n));
	if (!f.seg[0].signal)
		assert_non_null(ccs_flow_next(&f, 1000, &n));
	ccs_flow_destroy(&f);
}

static void unsignalled_reads_never_block_reads(void **state)
{
	const struct ccs_flow_config conf = { .line_rate = 10e9, .max_rate = INFINITY,
					      .base_rtt_us = 20, .segment = 4096, .cap = 65536,
					      .split = true, .enforce = true };
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 1000);
	f.max_reads = 2;
	for (int i = 0; i < 3; i++)
		ccs_flow_accept(&f, 8, CCS_WR_READ);
	assert_non_null(ccs_flow_next(&f, 1000, &n));
	assert_non_null(ccs_flow_next(&f, 1000, &n));
	assert_null(ccs_flow_next(&f, 1000, &n));
	assert_true(f.seg[0].signal || f.seg[1].signal);
	ccs_flow_destroy(&f);
}

static void complete_all(struct ccs_flow *f, uint64_t number, uint64_t now)
{
	const struct ccs_done done = { .number = number, .ok = true, .earliest_ns = now,
				       .latest_ns = now };
	uint64_t wr;

	ccs_flow_complete(f, &done, &wr);
}

static struct ccs_flow_config quiet(double segment)
{
	return (struct ccs_flow_config){ .line_rate = 8e9, .max_rate = INFINITY,
					 .base_rtt_us = 20, .segment = segment, .cap = 1e9,
					 .split = true, .enforce = true };
}

/* Past slow start, when samples go to the algorithm. */
static void open_started(struct ccs_flow *f, const struct ccs_flow_config *conf)
{
	open_flow(f, conf, 16, 144, 0);
	f->ramping = false;
	f->window = (double)f->cap;
}

static double last_rtt(void)
{
	assert_true(heard_count > 0);
	return heard[(heard_count - 1) % 64].rtt_us;
}

/* RTT = completion - posting - serialisation at line rate (8 Gbit/s: 1 ns a byte). */
static void rtt_leaves_out_serialisation(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	ccs_flow_next(&f, 1000000, &n);
	complete_all(&f, n, 1000000 + 4096 + 23000);
	assert_int_equal(heard_count, 1);
	assert_true(fabs(last_rtt() - 23) < 1e-9);
	assert_true(heard[0].bytes == 4096);
	assert_true(heard[0].inflight == 0);
	assert_true(fabs(heard[0].now_us - 1027.096) < 1e-9);
	ccs_flow_destroy(&f);
}

/* Two at once: the second does not count the first one's time on the wire. */
static void rtt_leaves_out_predecessors(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;
	uint64_t a, b;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, 1000000, &a));
	assert_non_null(ccs_flow_next(&f, 1000000, &b));
	complete_all(&f, a, 1000000 + 4096 + 20000);
	assert_true(fabs(last_rtt() - 20) < 1e-9);
	assert_true(heard[0].inflight == 4096);
	complete_all(&f, b, 1000000 + 2 * 4096 + 20000);
	assert_true(fabs(last_rtt() - 20) < 1e-9);
	ccs_flow_destroy(&f);
}

/* At line rate, whatever the flow's rate is: the RTT is what the path adds. */
static void an_unsplit_message_departs_at_line_rate(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	spy_rate = 1e9; /* 8 ns a byte */
	spy_window = 0;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 10 * 4096, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, 1000000, &n));
	complete_all(&f, n, 1000000 + 10 * 4096 + 20000);
	assert_true(fabs(last_rtt() - 20) < 1e-9);
	ccs_flow_destroy(&f);
}

/* What algorithms take for a segment is the longest message of late; splitting stays as it is. */
static void the_paths_segment_follows_unsplit_messages(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t n, now = 1000000;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 1000; i++) {
		const uint64_t len = i ? 4096 : 40960;

		ccs_flow_accept(&f, len, CCS_WR_VISIBLE);
		assert_non_null(ccs_flow_next(&f, now, &n));
		if (i < 60)
			assert_true(f.cc.path.segment == 40960);
		assert_int_equal(f.segment, 4096);
		now += len + 20000;
		complete_all(&f, n, now);
		now += 100000;
	}
	assert_true(f.cc.path.segment == 4096);
	ccs_flow_destroy(&f);
}

/* The first segment of a flow is small, and nothing follows it before its completion. */
static void the_first_segment_measures_the_path(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	const struct ccs_seg *seg;
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	conf.base_rtt_us = 0;
	open_flow(&f, &conf, 16, 144, 0);
	ccs_flow_accept(&f, 65536, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	seg = ccs_flow_next(&f, 1000000, &n);
	assert_non_null(seg);
	assert_true(seg->len == 256 && seg->signal);
	assert_null(ccs_flow_next(&f, 1000000, &n));
	complete_all(&f, n, 1000000 + 256 + 20000);
	seg = ccs_flow_next(&f, 1021000, &n);
	assert_non_null(seg);
	assert_int_equal(seg->len, 4096);
	f.cc.out.small_next = true;
	complete_all(&f, n, 1021000 + 4096 + 20000);
	seg = ccs_flow_next(&f, 1050000, &n);
	assert_non_null(seg);
	assert_true(seg->len == 256 && !f.cc.out.small_next);
	ccs_flow_destroy(&f);
}

/* A completion before the modelled departure is no negative RTT. */
static void rtt_is_positive(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	spy_rate = INFINITY;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	ccs_flow_next(&f, 1000000, &n);
	complete_all(&f, n, 1000001);
	assert_true(last_rtt() > 0 && last_rtt() < 1);
	ccs_flow_destroy(&f);
}

/* Four segments that leave at once; *last is their last. */
static void send_four(struct ccs_flow *f, uint64_t now, uint64_t *last)
{
	ccs_flow_accept(f, 4 * 4096, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	for (int i = 0; i < 4; i++)
		assert_non_null(ccs_flow_next(f, now, last));
}

static void four_come_back(struct ccs_flow *f, uint64_t last, uint64_t now)
{
	for (uint64_t n = last - 3; n <= last; n++)
		complete_all(f, n, now);
}

/* And so many ns of a round trip later they are back. */
static void four_in(struct ccs_flow *f, uint64_t rtt, uint64_t *now)
{
	uint64_t last;

	send_four(f, *now, &last);
	four_come_back(f, last, *now += rtt);
}

/* A flow of 4 KB segments that nothing holds back; gives the round trip of four of them. */
static uint64_t open_heard(struct ccs_flow *f)
{
	const struct ccs_flow_config conf = quiet(4096);

	spy_rate = INFINITY;
	spy_window = 0;
	open_started(f, &conf);
	return 4 * 4096 + 20000;
}

/*
 * A host was away for 5 ms: all that was in flight is late, at once, and nothing else is.
 * Where it had been a queue, what was sent after that is late too.
 */
static void a_hosts_absence_is_no_queue(void **state)
{
	uint64_t now = 1000000;
	struct ccs_flow f;
	const uint64_t trip = open_heard(&f);

	(void)state;
	for (int i = 0; i < 3; i++) {
		four_in(&f, trip + 5000000, &now);
		assert_int_equal(heard_count, 4 * i);
		four_in(&f, trip, &now);
		assert_int_equal(heard_count, 4 * (i + 1));
		assert_true(heard[4 * i].bytes == 5 * 4096 && heard[4 * i].rtt_us < 40);
	}
	four_in(&f, trip + 1000000, &now);
	assert_int_equal(heard_count, 12);
	four_in(&f, trip + 1000000, &now);
	assert_int_equal(heard_count, 16);
	assert_true(last_rtt() > 1000);
	four_in(&f, trip + 500000, &now); /* and it goes on for as long as it lasts */
	assert_int_equal(heard_count, 20);
	ccs_flow_destroy(&f);
}

/* But one that comes little by little is a queue from the first late one on. */
static void a_queue_that_grows_is_no_absence(void **state)
{
	uint64_t now = 1000000;
	struct ccs_flow f;
	const uint64_t trip = open_heard(&f);

	(void)state;
	for (uint64_t i = 0; i < 6; i++) {
		four_in(&f, trip + i * 4 * 4096, &now);
		assert_int_equal(heard_count, 4 * (i + 1));
	}
	ccs_flow_destroy(&f);
}

/* Nor does an absence end slow start, however often. */
static void a_hosts_absence_does_not_end_slow_start(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000, n;
	struct ccs_flow f;

	(void)state;
	conf.cap = 8 * 4096;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	for (int i = 0; f.ramping; i++) {
		const double before = f.window;

		assert_true(i < 40);
		assert_non_null(ccs_flow_next(&f, now, &n));
		complete_all(&f, n, now += 4096 + 20000 + (i % 2 ? 3000000 : 0));
		assert_true(i % 2 ? f.window == before : f.window > before);
	}
	assert_true(f.start_rate > 8e9 * 4096 / 40000 && f.window == 8 * 4096);
	ccs_flow_destroy(&f);
}

/* Who lives on something else hears of each, for it may bring that. */
static void who_does_not_live_on_rtts_alone_hears_all(void **state)
{
	struct ccs_cc_ops listening = spy;
	const struct ccs_cc_spec spec = ccs_cc_plain(&listening);
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f = { 0 };
	uint64_t last;

	(void)state;
	listening.needs = CCS_NEEDS_TELEMETRY;
	spy_rate = INFINITY;
	spy_window = 0;
	heard_count = 0;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 144, 0), 0);
	f.ramping = false;
	f.window = (double)f.cap;
	send_four(&f, 1000000, &last);
	four_come_back(&f, last, 9000000);
	assert_int_equal(heard_count, 4);
	ccs_flow_destroy(&f);
}

/* Of what one look finds the last counts, for all of their bytes. */
static void one_look_is_one_sample(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_done done = { .ok = true, .earliest_ns = 1041000, .latest_ns = 1041000 };
	struct ccs_flow f;
	uint64_t last, wr;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	send_four(&f, 1000000, &last);
	for (done.number = last - 3; done.number <= last; done.number++) {
		done.more = done.number < last;
		ccs_flow_complete(&f, &done, &wr);
		assert_int_equal(heard_count, !done.more);
	}
	assert_true(heard[0].bytes == 4 * 4096);
	assert_true(fabs(last_rtt() - (41 - 4 * 4.096)) < 1e-9);
	ccs_flow_destroy(&f);
}

/* Where a look at the clock is a slow system call, segments are worth it. */
static void segments_are_worth_their_looks_at_the_clock(void **state)
{
	const struct { double line_rate, look_us, segment; } rows[] = {
		{ 10e9, 0, 8192 }, { 10e9, 0.025, 8192 }, { 10e9, 0.256, 8192 }, { 10e9, 1, 32768 },
		{ 10e9, 15, 65536 }, { 100e9, 0.025, 65536 }, { 1e9, 10, 32768 }, { 10e9, 1e9, 65536 },
	};
	struct ccs_flow_config conf = quiet(0);
	struct ccs_flow f;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		conf.line_rate = rows[i].line_rate;
		conf.look_us = rows[i].look_us;
		open_flow(&f, &conf, 16, 144, 0);
		assert_true(f.segment == rows[i].segment);
		ccs_flow_destroy(&f);
	}
}

/* An application that looked long ago cannot make a flow slow. */
static void rtt_of_a_rarely_polling_application_is_the_early_end(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_done done = { .ok = true };
	struct ccs_flow f;
	uint64_t wr;

	(void)state;
	spy_rate = INFINITY;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	ccs_flow_next(&f, 1000000, &done.number);
	done.earliest_ns = 1000000 + 4096 + 30000;
	done.latest_ns = 1000000 + 3000000000ull;
	assert_true(ccs_flow_complete(&f, &done, &wr));
	assert_true(fabs(last_rtt() - 30) < 1e-9);
	ccs_flow_destroy(&f);
}

/* A SEND that takes so much longer than an empty path's 25 us; the RTT that the algorithm sees. */
static double rtt_of_send(struct ccs_flow *f, uint64_t *now, unsigned longer_us)
{
	uint64_t n;

	ccs_flow_accept(f, 4096, CCS_WR_VISIBLE | CCS_WR_RECV);
	ccs_flow_next(f, *now, &n);
	*now += 4096 + 25000 + 1000ull * longer_us;
	complete_all(f, n, *now);
	return last_rtt();
}

/* Of WRs that consume a receive, an RNR wait is filtered out, */
static void rtt_of_sends_ignores_a_receiver_not_ready(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	open_started(&f, &conf);
	for (int i = 0; i < 12; i++)
		assert_true(fabs(rtt_of_send(&f, &now, i % 3 == 1 ? 5000 : 0) - 25) < 1e-9);
	ccs_flow_destroy(&f);
}

/* but not a short queue. */
static void rtts_of_sends_through_a_short_queue_are_not_filtered(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 12; i++)
		assert_true(fabs(rtt_of_send(&f, &now, 2 * (i % 4)) - 25 - 2 * (i % 4)) < 1e-9);
	ccs_flow_destroy(&f);
}

/* Small messages are gathered to a segment's worth, or an RTT's time. */
static void updates_come_per_segment_of_data(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t n, now = 1000000;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE); /* sets the time of the last update */
	ccs_flow_next(&f, now, &n);
	complete_all(&f, n, now);
	heard_count = 0;
	for (int i = 0; i < 8; i++) {
		ccs_flow_accept(&f, 512, CCS_WR_VISIBLE);
		ccs_flow_next(&f, now, &n);
		now += 100;
		complete_all(&f, n, now);
		assert_int_equal(heard_count, i == 7);
	}
	assert_true(heard[0].bytes == 4096);
	ccs_flow_accept(&f, 1024, CCS_WR_VISIBLE);
	ccs_flow_next(&f, now, &n);
	complete_all(&f, n, now + 21000);
	assert_int_equal(heard_count, 2);
	assert_true(heard[1].bytes == 1024);
	ccs_flow_destroy(&f);
}

/* Post one, without a look at the clock if it can be done; whether it could not. */
static bool asks_for_time(struct ccs_flow *f, uint64_t len, uint32_t flags, uint64_t now)
{
	const uint64_t head = f->seg_head;
	const struct ccs_seg *seg;
	bool asked;
	uint64_t n;

	ccs_flow_accept(f, len, flags);
	seg = ccs_flow_next(f, CCS_TIME_UNKNOWN, &n);
	asked = seg == &ccs_flow_time;
	if (asked) {
		assert_int_equal(f->seg_head, head); /* nothing has happened */
		seg = ccs_flow_next(f, now, &n);
	}
	assert_non_null(seg);
	assert_int_equal(n, head);
	assert_int_equal(seg->depart_ns != 0, asked);
	return asked;
}

/* One in thirty-two, and one in a quarter of a segment's worth; of all, the bytes count. */
static void small_ones_are_timed_now_and_then(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	unsigned timed = 0;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	open_started(&f, &conf);
	heard_count = 0;
	for (unsigned i = 0; i < 128; i++) {
		const bool asked = asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000);

		assert_int_equal(asked, i % 32 == 31);
		assert_int_equal(ccs_flow_is_timed(&f, i), asked);
		assert_int_equal(f.timed, asked);
		/* The time of the others is not looked at. */
		complete_all(&f, i, asked ? 31000 + i : CCS_TIME_UNKNOWN);
		assert_int_equal(f.timed, 0);
	}
	assert_int_equal(heard_count, 1); /* of four in one base RTT */
	assert_true(heard[0].bytes == 256 && fabs(heard[0].rtt_us - 30) < 0.2);
	for (unsigned i = 0; i < 8; i++)
		timed += asks_for_time(&f, 512, CCS_WR_VISIBLE, 1000);
	assert_int_equal(timed, 4);
	assert_true(asks_for_time(&f, 1024, CCS_WR_VISIBLE, 1000));
	assert_int_equal(f.timed, 5);
	ccs_flow_unsend(&f, f.seg_head - 1);
	assert_int_equal(f.timed, 4);
	ccs_flow_reset(&f);
	assert_int_equal(f.timed, 0);
	ccs_flow_destroy(&f);
}

/* What the device does not tell of cannot be timed: the next that it tells of is. */
static void unsignalled_ones_are_not_timed(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 34; i++) {
		assert_false(asks_for_time(&f, 8, 0, 1000));
		if (i % 8 == 7)
			complete_all(&f, i, CCS_TIME_UNKNOWN);
	}
	assert_int_equal(f.timed, 0);
	assert_true(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000));
	assert_int_equal(f.timed, 1);
	ccs_flow_destroy(&f);
}

/* Whatever is held back, or has something to learn, looks at the clock each time. */
static void only_a_calm_flow_does_without_time(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;

	(void)state;
	spy_rate = 7e9;
	open_started(&f, &conf);
	assert_true(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000)); /* paced */
	ccs_flow_destroy(&f);
	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	assert_false(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000)); /* slow start */
	assert_true(asks_for_time(&f, 1024, CCS_WR_VISIBLE, 1000));
	assert_true(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000)); /* with much outstanding */
	ccs_flow_destroy(&f);
	conf.base_rtt_us = 0;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 8; i++) { /* to learn the base RTT */
		assert_true(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000 + i));
		complete_all(&f, i, 9000 + i);
	}
	assert_false(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000));
	ccs_flow_destroy(&f);
}

static void complete_between(struct ccs_flow *f, uint64_t number, uint64_t earliest,
			     uint64_t latest)
{
	const struct ccs_done done = { .number = number, .ok = true, .earliest_ns = earliest,
				       .latest_ns = latest };
	uint64_t wr;

	ccs_flow_complete(f, &done, &wr);
}

/* Who always finds all done at the first look learns no more by timing each. */
static void rare_looks_teach_nothing_more(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	conf.base_rtt_us = 0;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 8; i++) {
		assert_true(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000));
		complete_between(&f, i, 1000, 1000000);
	}
	assert_int_equal(f.base_samples, 0);
	assert_false(asks_for_time(&f, 8, CCS_WR_VISIBLE, 1000));
	ccs_flow_destroy(&f);
}

static void one_round_trip(struct ccs_flow *f, uint64_t *now, double rtt_us)
{
	uint64_t n;

	ccs_flow_accept(f, f->segment, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(f, *now, &n));
	*now += f->segment + (uint64_t)(rtt_us * 1e3);
	complete_all(f, n, *now);
}

/* Without a base RTT given, the least one seen is it; segment and cap follow. */
static void base_rtt_is_learnt(void **state)
{
	struct ccs_flow_config conf = quiet(0);
	uint64_t now = 1000000;
	struct ccs_flow f;

	(void)state;
	conf.base_rtt_us = conf.cap = 0;
	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32; i++)
		one_round_trip(&f, &now, i == 5 ? 10 : 14 + i % 3);
	assert_true(fabs(f.cc.path.base_rtt_us - 10) < 1e-9);
	assert_true(f.segment >= 4096 && f.segment <= 65536);
	assert_int_equal(f.segment & (f.segment - 1), 0);
	assert_true(8e9 * (double)f.segment / 8e9 <= 1e4 * 1.001); /* ser <= base RTT */
	assert_true(f.cap >= 2 * f.segment);
	/* a smaller one is believed at once, a longer path only after a while */
	one_round_trip(&f, &now, 5);
	assert_true(fabs(f.cc.path.base_rtt_us - 5) < 1e-9);
	for (int i = 0; i < 100; i++)
		one_round_trip(&f, &now, 500);
	assert_true(fabs(f.cc.path.base_rtt_us - 5) < 1e-9);
	now += 11000000000ull;
	one_round_trip(&f, &now, 40);
	assert_true(fabs(f.cc.path.base_rtt_us - 5) < 1e-9); /* of the window before this one */
	now += 11000000000ull;
	one_round_trip(&f, &now, 40);
	assert_true(fabs(f.cc.path.base_rtt_us - 40) < 1e-9);
	ccs_flow_destroy(&f);
}

/* A small WR, whose completion was seen between two looks, so long after it had left. */
static void seen_between(struct ccs_flow *f, uint64_t *now, uint64_t earliest_ns,
			 uint64_t latest_ns)
{
	struct ccs_done done = { .ok = true };
	uint64_t wr;

	ccs_flow_accept(f, f->segment, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(f, *now, &done.number));
	done.earliest_ns = *now + f->segment + earliest_ns;
	done.latest_ns = *now + f->segment + latest_ns;
	ccs_flow_complete(f, &done, &wr);
	*now = done.latest_ns;
}

/*
 * Looked at every 60 us, an RTT of 150 us is known to within its half, if not within
 * half of what is assumed of an unknown path. An owner's absence is not a path.
 */
static void base_rtt_is_learnt_by_who_polls_rarely(void **state)
{
	struct ccs_flow_config conf = quiet(0);
	uint64_t now = 1000000;
	struct ccs_flow f;

	(void)state;
	conf.base_rtt_us = conf.cap = 0;
	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32; i++)
		seen_between(&f, &now, 10000, 3000000);
	assert_true(f.cc.path.base_rtt_us == 50);
	assert_null(f.rtt);
	for (unsigned i = 0; i < 32; i++)
		seen_between(&f, &now, 90000 + i % 6 * 10000, 150000 + i % 6 * 10000);
	assert_true(fabs(f.cc.path.base_rtt_us - 150) < 1e-9);
	assert_int_equal(f.rtt->count, 32);
	ccs_flow_destroy(&f);
}

/* No memory for the rings is no flow; none for the histogram is only told. */
static void memory_runs_out(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	const struct ccs_cc_spec spec = ccs_cc_plain(&spy);
	struct ccs_flow f = { 0 };
	uint64_t now = 1000000;

	(void)state;
	spy_rate = INFINITY;
	no_memory = true;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 4096, 0), -1); /* not of a pool */
	no_memory = false;
	open_flow(&f, &conf, 16, 144, 0);
	no_memory = true;
	one_round_trip(&f, &now, 20);
	one_round_trip(&f, &now, 20);
	no_memory = false;
	assert_null(f.rtt);
	assert_int_equal(f.stats.unrecorded, 2);
	one_round_trip(&f, &now, 20);
	assert_int_equal(f.rtt->count, 1);
	ccs_flow_destroy(&f);
}

static void a_given_base_rtt_stays(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32; i++)
		one_round_trip(&f, &now, 3);
	assert_true(f.cc.path.base_rtt_us == 20);
	ccs_flow_destroy(&f);
}

/* A new flow begins with one segment and has its whole cap after some quiet round trips. */
static void a_flow_ramps_up_while_the_path_is_idle(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000, n, most = 0;
	struct ccs_flow f;

	(void)state;
	conf.cap = 8 * 4096;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 64, 256, 0);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT | CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, now, &n));
	assert_null(ccs_flow_next(&f, now, &n));
	for (int trip = 0; trip < 20; trip++) {
		now += 25000;
		complete_all(&f, f.seg_head - 1, now);
		while (ccs_flow_next(&f, now, &n))
			;
		assert_true(f.inflight <= 8 * 4096);
		assert_true(f.inflight >= most);
		most = f.inflight;
	}
	assert_int_equal(most, 8 * 4096);
	ccs_flow_destroy(&f);
}

static double told_rate;

static void spy_set_rate(struct ccs_cc *cc, double rate)
{
	(void)cc;
	told_rate = rate;
}

/*
 * The first queue ends slow start, once what was sent after it was seen is late, too: half
 * of the least that came back in an RTT is the rate to go on from, the window is the cap,
 * and what was sent before is not judged.
 */
/* What hosts add to an RTT, up to their noise, is no queue. */
static void first_queue_beyond(double noise_us)
{
	struct ccs_cc_ops listening = spy;
	const struct ccs_cc_spec spec = ccs_cc_plain(&listening);
	struct ccs_flow_config conf = quiet(4096);
	const uint64_t noise_ns = (uint64_t)(1e3 * noise_us);
	uint64_t a, b, now = 1000000;
	struct ccs_flow f = { 0 };

	conf.noise_us = noise_us;
	listening.set_rate = spy_set_rate;
	conf.cap = 16 * 4096;
	spy_rate = INFINITY;
	spy_window = 0;
	heard_count = 0;
	told_rate = 0;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 144, 0), 0);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT | CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, now, &a));
	complete_all(&f, a, now += 4096 + 20000); /* the unloaded path */
	assert_true(told_rate == 0 && f.ramping);
	assert_non_null(ccs_flow_next(&f, now, &a));
	complete_all(&f, a, now += 4096 + 20000 + noise_ns);
	assert_true(told_rate == 0 && f.ramping);
	assert_non_null(ccs_flow_next(&f, now, &a));
	now += 4096 + 20000 + noise_ns + 10 * 4096; /* ten segments of others */
	complete_all(&f, a, now);
	assert_true(told_rate == 0 && f.ramping && f.window == 2 * 4096);
	assert_non_null(ccs_flow_next(&f, now, &a));
	now += 4096 + 20000 + noise_ns + 10 * 4096;
	complete_all(&f, a, now);
	assert_false(f.ramping);
	assert_true(f.window == 16 * 4096);
	assert_true(fabs(told_rate / (0.5 * 8e9 * 2 * 4096 / (20000 + 11 * 4096)) - 1) < 1e-9);
	assert_int_equal(heard_count, 0);
	assert_non_null(ccs_flow_next(&f, now, &b));
	complete_all(&f, b, now + 4096 + 20000);
	assert_int_equal(heard_count, 1);
	ccs_flow_destroy(&f);
}

static void the_first_queue_ends_slow_start(void **state)
{
	(void)state;
	first_queue_beyond(0);
	first_queue_beyond(100);
}

/* What a plug-in can get wrong after it was checked: everything still goes. */
static void no_slip_of_an_algorithm_stops_a_flow(void **state)
{
	static const double slips[] = { 0, -1, NAN, -INFINITY };
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 4; k++) {
			f.cc.out.rate = slips[i];
			f.cc.out.window = slips[k];
			f.cc.out.timer_us = slips[(i + k) % 4];
			one_round_trip(&f, &now, 10);
			assert_true(ccs_drive_timer(&f, now) == UINT64_MAX);
		}
	ccs_flow_destroy(&f);
}

/* The time that a WR stood at the gate, no more and no less. */
static void gated_time_is_counted(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t n, now = 1000000, due;
	struct ccs_flow f;

	(void)state;
	spy_rate = 1e9;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, now);
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, now, &n));
	complete_all(&f, n, now);
	assert_int_equal(ccs_flow_wait(&f, now), 0);
	assert_int_equal(f.stats.gated_ns, 0);
	now += 5; /* nothing waits: not counted */
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	assert_null(ccs_flow_next(&f, now, &n));
	due = ccs_flow_wait(&f, now);
	assert_true(due > now + 25000 && due < now + 40000);
	assert_non_null(ccs_flow_next(&f, due, &n));
	assert_int_equal(ccs_flow_wait(&f, due), 0);
	assert_int_equal(f.stats.gated_ns, due - now);

	/* A thread that read the clock before another one had to wait. */
	ccs_flow_accept(&f, 4096, CCS_WR_VISIBLE);
	assert_true(ccs_flow_wait(&f, due) > due);
	ccs_flow_unaccept(&f, f.wr_next);
	assert_int_equal(ccs_flow_wait(&f, due - 1), 0);
	assert_int_equal(f.stats.gated_ns, due - now);
	ccs_flow_destroy(&f);
}

/* Observing changes nothing that the device sees. */
static void observe_lets_all_through_unsplit(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;
	uint64_t n, signals = 0;

	(void)state;
	conf.enforce = false;
	spy_rate = 1e3;
	spy_window = 1;
	open_flow(&f, &conf, 128, 256, 0);
	f.max_reads = 1;
	for (int i = 0; i < 50; i++) {
		const uint32_t read = i % 2 ? CCS_WR_READ : 0;
		const struct ccs_seg *seg;

		ccs_flow_accept(&f, 100000, CCS_WR_SPLIT | read);
		seg = ccs_flow_next(&f, 1000, &n);
		assert_true(seg && seg->len == 100000 && seg->first && seg->last);
		signals += seg->signal;
	}
	assert_int_equal(signals, 0);
	ccs_flow_destroy(&f);
}

/* READs of a flow that was only observed are under way, and nothing will tell of their end. */
static void unsignalled_reads_of_before_block_nothing(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	conf.enforce = false;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 64, 128, 0);
	f.max_reads = 2;
	for (int i = 0; i < 4; i++) {
		ccs_flow_accept(&f, 100, CCS_WR_SPLIT | CCS_WR_READ);
		assert_non_null(ccs_flow_next(&f, 1000, &n));
	}
	conf.enforce = true;
	ccs_flow_configure(&f, &conf, f.cc.spec, 1000);
	for (int i = 0; i < 4; i++)
		ccs_flow_accept(&f, 100, CCS_WR_SPLIT | CCS_WR_READ);
	for (int i = 0; i < 4; i++) {
		const struct ccs_seg *seg = ccs_flow_next(&f, 1000, &n);

		if (!seg) { /* then something was asked for before, and comes */
			assert_true(i > 0);
			complete_all(&f, n, 1000);
			seg = ccs_flow_next(&f, 1000, &n);
		}
		assert_non_null(seg);
	}
	ccs_flow_destroy(&f);
}

/* What was learnt of the path stays, but where it is another path or was given. */
static void other_settings_keep_what_was_learnt(void **state)
{
	struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;
	double learnt;

	(void)state;
	conf.base_rtt_us = 0;
	conf.cap = 65536;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32 || (f.ramping && i < 10000); i++)
		one_round_trip(&f, &now, 30);
	learnt = f.cc.path.base_rtt_us;
	assert_true(learnt > 25 && learnt < 35 && !f.ramping);
	conf.max_rate = 1e9;
	conf.noise_us = 3;
	conf.segment = 8192;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.cc.path.base_rtt_us == learnt && f.cc.path.noise_us == 3 && !f.ramping);
	assert_true(f.segment == 8192 && f.cc.path.segment == 8192 && ccs_flow_rate(&f) == 1e9);
	assert_true(f.gate_rate == 1e9);
	conf.max_rate = INFINITY;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(isinf(ccs_flow_rate(&f)) && f.gate_rate == 0.98 * 8e9);
	conf.base_rtt_us = 50;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.cc.path.base_rtt_us == 50);
	conf.base_rtt_us = 0;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.base_samples == 0 && f.ramping);
	conf.line_rate = 25e9;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.cc.path.line_rate == 25e9 && f.ramping);
	ccs_flow_destroy(&f);
}

/* A cap that is raised again binds no longer, even where the rate is the algorithm's state. */
static void a_cap_binds_while_it_is_there(void **state)
{
	static struct ccs_cc_spec spec;
	struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000;
	struct ccs_flow f = { 0 };

	(void)state;
	spec = ccs_cc_plain(&ccs_cc_timely);
	conf.max_rate = 1e8;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 144, now), 0);
	for (int i = 0; i < 100; i++) {
		now += 1000000;
		one_round_trip(&f, &now, 3);
	}
	assert_true(ccs_flow_rate(&f) <= 1e8);
	conf.max_rate = INFINITY;
	ccs_flow_configure(&f, &conf, &spec, now);
	for (int i = 0; i < 5000 && ccs_flow_rate(&f) < 1e9; i++) {
		now += 1000000;
		one_round_trip(&f, &now, 3);
	}
	assert_true(ccs_flow_rate(&f) >= 1e9);
	conf.max_rate = 1e8;
	ccs_flow_configure(&f, &conf, &spec, now);
	assert_true(ccs_flow_rate(&f) <= 1e8 && f.gate_rate <= 1e8);
	ccs_flow_destroy(&f);
}

static void success_is_counted(void **state)
{
	const struct ccs_flow_config conf = quiet(4096);
	uint64_t now = 1000000, n;
	struct ccs_flow f;

	(void)state;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	ccs_flow_accept(&f, 3 * 4096 + 1024, CCS_WR_SPLIT | CCS_WR_VISIBLE);
	for (int i = 0; i < 4; i++) {
		assert_non_null(ccs_flow_next(&f, now, &n));
		now += 25000;
		complete_all(&f, n, now);
	}
	assert_int_equal(f.stats.bytes, 3 * 4096 + 1024);
	assert_int_equal(f.stats.segments, 4);
	assert_int_equal(f.stats.wrs, 1);
	assert_int_equal(f.stats.hidden, 3);
	assert_int_equal(f.rtt->count, 4);
	ccs_flow_destroy(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(unsignalled_bytes_never_block_the_window),
		cmocka_unit_test(unsignalled_reads_never_block_reads),
		cmocka_unit_test(rtt_leaves_out_serialisation),
		cmocka_unit_test(rtt_leaves_out_predecessors),
		cmocka_unit_test(an_unsplit_message_departs_at_line_rate),
		cmocka_unit_test(the_paths_segment_follows_unsplit_messages),
		cmocka_unit_test(the_first_segment_measures_the_path),
		cmocka_unit_test(rtt_is_positive),
		cmocka_unit_test(a_hosts_absence_is_no_queue),
		cmocka_unit_test(a_queue_that_grows_is_no_absence),
		cmocka_unit_test(a_hosts_absence_does_not_end_slow_start),
		cmocka_unit_test(who_does_not_live_on_rtts_alone_hears_all),
		cmocka_unit_test(one_look_is_one_sample),
		cmocka_unit_test(segments_are_worth_their_looks_at_the_clock),
		cmocka_unit_test(rtt_of_a_rarely_polling_application_is_the_early_end),
		cmocka_unit_test(rtt_of_sends_ignores_a_receiver_not_ready),
		cmocka_unit_test(rtts_of_sends_through_a_short_queue_are_not_filtered),
		cmocka_unit_test(updates_come_per_segment_of_data),
		cmocka_unit_test(small_ones_are_timed_now_and_then),
		cmocka_unit_test(unsignalled_ones_are_not_timed),
		cmocka_unit_test(only_a_calm_flow_does_without_time),
		cmocka_unit_test(rare_looks_teach_nothing_more),
		cmocka_unit_test(base_rtt_is_learnt),
		cmocka_unit_test(base_rtt_is_learnt_by_who_polls_rarely),
		cmocka_unit_test(memory_runs_out),
		cmocka_unit_test(a_given_base_rtt_stays),
		cmocka_unit_test(a_flow_ramps_up_while_the_path_is_idle),
		cmocka_unit_test(the_first_queue_ends_slow_start),
		cmocka_unit_test(no_slip_of_an_algorithm_stops_a_flow),
		cmocka_unit_test(gated_time_is_counted),
		cmocka_unit_test(observe_lets_all_through_unsplit),
		cmocka_unit_test(unsignalled_reads_of_before_block_nothing),
		cmocka_unit_test(other_settings_keep_what_was_learnt),
		cmocka_unit_test(a_cap_binds_while_it_is_there),
		cmocka_unit_test(success_is_counted),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
