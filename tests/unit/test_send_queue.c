/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue as a whole, by random programs. The test plays application and device, keeps a
 * simple model of its own, and compares after every step. The device of the model completes in
 * order, reports what was asked for, and reports every WQE once one has failed.
 */
#include "test.h"

#include "flow/rtt.h"
#include "flow/run.h"
#include "flow_fixture.h"
#include "seed.h"

enum { MAX = 1 << 16 };

struct mwr {
	uint64_t len, handed;            /* bytes handed to the device */
	uint32_t flags;
	bool whole;                      /* its last byte was */
	unsigned delivered;              /* its completions */
};

struct mseg {
	uint64_t wr, len, number;
	bool last, signal;
};

struct model {
	struct ccs_flow flow;
	struct mwr wr[MAX];
	uint64_t first_number;           /* of wr[0], in the flow's count */
	uint64_t accepted, kept;         /* kept: accepted and not withdrawn */
	uint64_t delivered_up_to;        /* visible completions come in order */
	struct mseg seg[MAX];            /* in flight: [done, sent) */
	uint64_t done, sent;
	uint64_t read;                   /* bytes that READs have requested */
	uint64_t now;
	bool small;                      /* its WRs are small, and nothing limits it */
	bool failed;                     /* a completion was in error */
	uint64_t failed_wr;
	uint32_t wr_limit, seg_limit;
	uint64_t delivered, programs_failed, switches, fast, completed_whole;
};

static struct model m;

static uint64_t bytes_in_flight(void)
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

/* Bytes in flight for which a completion is still to come. */
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
	const uint64_t sizes[] = { 0, 1, 100, m.flow.segments.len - 1, m.flow.segments.len,
				   m.flow.segments.len + 1, 10 * m.flow.segments.len, seed_below(100000) };
	struct mwr wr = { .len = sizes[seed_below(8)], .flags = kinds[seed_below(6)] };

	if (seed_below(3) == 0)
		wr.flags |= CCS_WR_SIGNALED;
	if (m.small)
		wr.len %= 200;
	return wr;
}

static void accept_this(const struct mwr *wr)
{
	const uint64_t number = ccs_flow_accept(&m.flow, wr->len, wr->flags);

	assert_int_equal(number, m.first_number + m.kept);
	ccs_flow_wr(&m.flow, number)->id = number;
	m.wr[m.kept++] = *wr;
	m.accepted++;
}

static void accept_one(void)
{
	const struct mwr wr = random_wr();

	if (!ccs_flow_full(&m.flow) && m.kept < MAX)
		accept_this(&wr);
}

/* Never more is outstanding than the window allows, unless no completion could ever open it. */
static void check_window(uint64_t len)
{
	const struct ccs_flow *f = &m.flow;
	const double window = f->cc.out.window > 0 ? fmin(f->cc.out.window, (double)f->slow_start.window)
						   : (double)f->slow_start.window;

	if (f->state == CCS_FLOW_FLUSH || !f->user.enforce)
		return;
	if (awaited_bytes() && (double)(bytes_in_flight() + len) > window)
		fail_msg("%" PRIu64 " bytes join %" PRIu64 " in flight; the window is %g", len,
			 bytes_in_flight(), window);
	if ((m.wr[waiting_from()].flags & CCS_WR_READ) && signalled_in_flight())
		assert_true(reads_in_flight() < f->reads.max);
}

static uint64_t timed_in_flight(void)
{
	uint64_t n = 0;

	for (uint64_t i = m.done; i < m.sent; i++)
		n += m.seg[i].signal && ccs_flow_is_timed(&m.flow, m.seg[i].number);
	return n;
}

static uint64_t read_clock(void)
{
	return m.now;
}

static bool hand_over_one(bool timeless)
{
	struct ccs_flow *f = &m.flow;
	const uint64_t wr = waiting_from();
	const bool flush = f->state == CCS_FLOW_FLUSH;
	const bool first = !f->sent && (f->cc.ops->needs & CCS_NEEDS_RTT);
	const bool small = (first || f->cc.out.small_next) && !f->user.base_rtt;
	const struct ccs_seg *seg;
	uint64_t number, left, want;
	uint64_t now_ns = timeless || seed_below(2) ? CCS_TIME_UNKNOWN : m.now;

	assert_int_equal(f->timed, timed_in_flight());
	seg = ccs_flow_next(f, &now_ns, read_clock);
	assert_true(!timeless || now_ns == CCS_TIME_UNKNOWN);
	if (!seg)
		return false;
	number = ccs_flow_newest(f);
	assert_true(wr < m.kept && f->state != CCS_FLOW_SQD);
	left = m.wr[wr].len - m.wr[wr].handed;
	want = left;
	if ((m.wr[wr].flags & CCS_WR_SPLIT) && f->user.split && f->user.enforce && !flush &&
	    left > f->segments.len)
		want = small && f->segments.len > 256 ? 256 : f->segments.len;
	if (f->cc.ops->on_timer == ccs_cc_copa.on_timer && want == f->segments.len &&
	    seg->len == 256 && !f->user.base_rtt)
		want = 256; /* a timer asked for it */
	if (want == f->segments.len && want < left && !f->user.segment) {
		/* Longer where the entries would not hold the window. */
		assert_true(seg->len >= want && (seg->len % want == 0 || seg->len == left));
		want = seg->len;
	}
	assert_int_equal(seg->wr, m.first_number + wr);
	assert_int_equal(seg->offset, m.wr[wr].handed);
	assert_int_equal(seg->len, want);
	assert_int_equal(seg->first, m.wr[wr].handed == 0);
	assert_int_equal(seg->last, want == left);
	assert_int_equal(seg->flags & ~(uint32_t)CCS_WR_WHOLE, m.wr[wr].flags);
	if (seg->flags & CCS_WR_WHOLE)
		assert_true(seg->first && seg->last && (seg->flags & CCS_WR_SIGNALED) &&
			    !seg->depart_ns);
	check_window(want);
	assert_true(m.sent - m.done < m.seg_limit);
	if ((flush || (seg->last && (seg->flags & CCS_WR_SIGNALED))) && !seg->signal)
		fail_msg("a completion that the application wants was not asked for");
	m.wr[wr].handed += want;
	m.read += m.wr[wr].flags & CCS_WR_READ ? want : 0;
	assert_int_equal(f->reads.bytes, m.read);
	m.wr[wr].whole = want == left;
	assert_true(m.sent < MAX);
	m.seg[m.sent++] = (struct mseg){ wr, want, number, seg->last, seg->signal };
	if (m.sent - m.done > 1)
		assert_int_equal(number, m.seg[m.sent - 2].number + 1);
	return true;
}

static bool hand_over_next(void)
{
	return hand_over_one(false);
}

static void check_delivered(uint64_t wr, bool ok)
{
	struct mwr *w = &m.wr[wr];

	assert_true(wr < m.kept);
	assert_true(wr >= m.delivered_up_to);
	assert_int_equal(w->delivered, 0);
	if (ok)
		assert_true((w->flags & CCS_WR_SIGNALED) && w->whole && !m.failed);
	w->delivered++;
	m.delivered_up_to = wr + 1;
	m.delivered++;
}

/* If the fast path takes it, sometimes that way: only what is reported first can be in order. */
static bool complete(const struct ccs_done *done, uint64_t *wr)
{
	const struct ccs_flow before = m.flow;
	const struct ccs_seg *whole = done->ok && seed_below(4)
		? ccs_flow_complete_whole(&m.flow, (uint32_t)done->number) : NULL;

	if (!whole) {
		assert_true(m.flow.seg_tail == done->number ||
			    !memcmp(&m.flow, &before, sizeof(before)));
		if (!ccs_flow_complete(&m.flow, done, wr))
			return false;
		assert_int_equal(ccs_flow_wr(&m.flow, *wr)->id, *wr);
		return true;
	}
	m.completed_whole++;
	*wr = m.flow.wr_tail - 1;
	assert_ptr_equal(whole, ccs_flow_seg(&m.flow, done->number));
	assert_int_equal(whole->id, *wr);
	return true;
}

/* The device completes the oldest segment that it reports, with an error or not. */
static void complete_one(bool ok)
{
	uint64_t i = m.done, wr = UINT64_MAX;
	struct ccs_done done = { .ok = ok, .earliest_ns = m.now, .latest_ns = m.now };
	bool due;

	if (m.failed) {
		done.ok = false; /* flushed, asked for or not */
	} else if (ok) {
		while (i < m.sent && !m.seg[i].signal)
			i++;
	} else {
		i += seed_below(m.sent - m.done + 1); /* any WQE may fail */
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
	due = complete(&done, &wr);
	if (due) {
		if (done.ok)
			assert_true(m.seg[i].last);
		assert_int_equal(wr, m.first_number + m.seg[i].wr);
		check_delivered(m.seg[i].wr, done.ok);
	} else if (done.ok) {
		assert_false(m.seg[i].last && (m.wr[m.seg[i].wr].flags & CCS_WR_SIGNALED));
	} else {
		assert_int_equal(m.wr[m.seg[i].wr].delivered, 1); /* an earlier segment's failure */
	}
	if (!done.ok) {
		assert_int_equal(m.flow.state, CCS_FLOW_FLUSH);
		m.wr[m.seg[i].wr].whole = true; /* its rest is never handed over */
	}
}

/* The device accepts only part of what it was given just now. */
static void refuse_some(void)
{
	uint64_t got = 0, keep;

	while (got < 16 && hand_over_next())
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

/* The newest WRs are refused to the application. */
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
	m.kept = m.delivered_up_to = 0;
	m.done = m.sent = 0;
	m.failed = false;
}

/* At that time a segment leaves, unless a timer of the algorithm fired: then try its next time. */
static void try_at(uint64_t due)
{
	for (unsigned i = 0; i < 100 && due != UINT64_MAX; i++) {
		m.now = due > m.now ? due : m.now;
		if (hand_over_next())
			return;
		assert_non_null(m.flow.cc.ops->on_timer);
		due = ccs_flow_wait(&m.flow, m.now);
	}
}

/* In mid-traffic; the spy with its rate and window is one of the algorithms. */
static void switch_algorithm(void)
{
	static struct ccs_cc_spec spec;
	unsigned n = 0;

	while (ccs_cc_all[n])
		n++;
	n = (unsigned)seed_below(n + 1);
	spec = ccs_cc_default_spec(ccs_cc_all[n] ? ccs_cc_all[n] : &spy);
	ccs_flow_switch(&m.flow, &spec, m.now);
	assert_ptr_equal(m.flow.cc.ops, spec.ops);
	assert_true(m.flow.cc.out.rate > 0);
	m.switches++;
}

/* At a CNP the spy changes its rate. */
static void random_cnp(void)
{
	const double before = spy_rate;

	spy_rate = seed_below(2) ? INFINITY : 1e9;
	ccs_flow_cnp(&m.flow, m.now);
	spy_rate = before;
}

static enum ccs_flow_run_kind kind_of(uint32_t flags)
{
	if (flags & CCS_WR_READ)
		return CCS_RUN_READ;
	return flags & CCS_WR_SIGNALED ? CCS_RUN_SIGNALED : CCS_RUN_UNSIGNALLED;
}

/* Post a WR as a run of one, or like the first of several, which uses the ring at once. */
static const struct ccs_seg *post_run(const struct mwr *wr)
{
	const enum ccs_flow_run_kind kind = kind_of(wr->flags);
	const struct ccs_flow before = m.flow;
	struct ccs_flow_run run;

	if ((wr->flags & CCS_WR_READ) &&
	    (!(wr->flags & CCS_WR_SPLIT) || !(wr->flags & CCS_WR_SIGNALED)))
		return NULL;
	if (!ccs_flow_run_limit(&m.flow, kind))
		return NULL;
	ccs_flow_run_begin(&m.flow, seed_below(2), &run);
	if (!ccs_flow_run_fits(&m.flow, &run, wr->len, kind)) {
		m.flow = before;
		return NULL;
	}
	ccs_flow_run_add(&m.flow, &run, wr->len, wr->flags & ~(uint32_t)CCS_WR_SIGNALED, kind,
			 m.flow.wr_head);
	ccs_flow_run_end(&m.flow, &run, 1, kind);
	return ccs_flow_seg(&m.flow, ccs_flow_newest(&m.flow));
}

/* Continue from a run, in which the WR's entry is not filled. */
static void continue_from_run(const struct ccs_flow *flow, const struct ccs_seg *seg)
{
	m.flow = *flow;
	*ccs_flow_seg(flow, ccs_flow_newest(flow)) = *seg;
	memset(ccs_flow_wr(flow, seg->wr), 0xa5, sizeof(struct ccs_wr));
}

/* A segment by the gate, as it is in a run, where it has its WR's id and more flags. */
static struct ccs_seg as_in_run(const struct ccs_seg *seg, const struct ccs_seg *ran)
{
	struct ccs_seg s = *seg;

	assert_int_equal(s.depart_ns, 0);
	s.id = ran->id;
	s.flags |= ran->flags & (CCS_WR_IN_RUN | CCS_WR_WHOLE);
	return s;
}

/* The flow without the members that differ: the budget, and which ring is in use. */
static struct ccs_flow without_budget(const struct ccs_flow *flow)
{
	struct ccs_flow f = *flow;

	f.budget.wrs = 0;
	f.budget.bytes = f.gate.granted = 0;
	f.gate.uncharged = 0;
	f.queue.wr_base = 0;
	memset(&f.first, 0, sizeof(f.first));
	f.seg = NULL;
	f.seg_mask = 0;
	return f;
}

/* Post a WR by the gate without the time: the flow must be as after the run. */
static void compare_with_gate(const struct ccs_flow *before, const struct mwr *wr,
			      const struct ccs_flow *ran, const struct ccs_seg *seg)
{
	uint64_t unknown_ns = CCS_TIME_UNKNOWN;
	const struct ccs_seg *gate;
	struct ccs_flow a, b;
	struct ccs_seg s;

	m.flow = *before;
	if (!ccs_rtt_may_skip_clock(before))
		return;
	ccs_flow_wr(&m.flow, ccs_flow_accept(&m.flow, wr->len, wr->flags))->id = seg->id;
	gate = ccs_flow_next(&m.flow, &unknown_ns, NULL);
	assert_non_null(gate);
	s = as_in_run(gate, seg);
	assert_memory_equal(&s, seg, sizeof(s));
	a = without_budget(&m.flow);
	b = without_budget(ran);
	assert_memory_equal(&a, &b, sizeof(a));
}

/* By the fast path, if there is budget. */
static bool post_fast_one(void)
{
	const struct mwr wr = random_wr();
	const bool granted = m.flow.budget.wrs || ccs_flow_grant(&m.flow, wr.len);
	const struct ccs_flow before = m.flow;
	const struct ccs_seg *seg = granted ? post_run(&wr) : NULL;
	const struct ccs_flow ran = m.flow;
	const uint64_t number = m.kept;
	struct ccs_seg copy;

	if (!seg) {
		assert_memory_equal(&m.flow, &before, sizeof(before));
		return false;
	}
	copy = *seg;
	assert_false(ccs_flow_full(&before));
	assert_int_equal(waiting_from(), m.kept);
	compare_with_gate(&before, &wr, &ran, &copy);
	continue_from_run(&ran, &copy);
	m.wr[m.kept++] = wr;
	m.accepted++;
	check_window(0);
	m.wr[number].handed = wr.len;
	m.wr[number].whole = true;
	m.read += wr.flags & CCS_WR_READ ? wr.len : 0;
	assert_int_equal(m.flow.reads.bytes, m.read);
	m.seg[m.sent++] = (struct mseg){ number, wr.len, ccs_flow_newest(&m.flow), true, copy.signal };
	m.fast++;
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
		.max_inflight = segment * (double)(1 + seed_below(5)),
		.split = seed_below(4),
		.enforce = seed_below(4),
		.seed = seed_next(),
	};
}

/* Change the settings in mid-traffic, and perhaps the algorithm. */
static void random_settings(void)
{
	static const double rates[] = { INFINITY, 1e9, 1e8 };
	static struct ccs_cc_spec spec;
	struct ccs_flow_config conf = random_config();
	const struct ccs_flow before = m.flow;

	conf.max_rate = rates[seed_below(3)];
	conf.rtt_jitter_us = (double)seed_below(3);
	conf.segment *= (double)seed_below(3) / 2;
	conf.max_inflight = conf.max_inflight < conf.segment ? 0 : conf.max_inflight;
	spec = ccs_cc_default_spec(seed_below(2) ? &ccs_cc_timely : &ccs_cc_none);
	ccs_flow_configure(&m.flow, &conf, seed_below(2) ? &spec : m.flow.cc.spec, m.now);
	assert_true(ccs_flow_rate(&m.flow) <= conf.max_rate && ccs_flow_rate(&m.flow) > 0);
	assert_true(m.flow.user.enforce == conf.enforce && m.flow.user.split == conf.split);
	assert_true(conf.segment == 0 || m.flow.segments.len == conf.segment);
	assert_true(conf.max_inflight == 0 || (double)m.flow.gate.max_inflight == conf.max_inflight);
	assert_true(m.flow.wr_head == before.wr_head && m.flow.seg_head == before.seg_head);
	assert_true(m.flow.inflight == before.inflight && m.flow.sent == before.sent);
	m.switches++;
}

/*
 * What must hold at any time. Most of all: if a WR is waiting, then either the time to try again is
 * known and trying then works, or a completion that was asked for is still to come.
 */
static void check_invariants(void)
{
	struct ccs_flow *f = &m.flow;
	const uint64_t from = waiting_from();
	uint64_t retired = 0, due;

	assert_int_equal(f->inflight, bytes_in_flight());
	assert_int_equal(f->reads.outstanding, reads_in_flight());
	assert_int_equal(ccs_flow_waiting(f), m.kept - from);
	retired = m.done < m.sent ? m.seg[m.done].wr : from;
	assert_int_equal(f->wr_head - f->wr_tail, m.kept - retired);
	assert_int_equal(ccs_flow_full(f), m.kept - retired >= m.wr_limit);

	due = ccs_flow_wait(f, m.now);
	if (from == m.kept) {
		assert_int_equal(due, 0);
	} else if (due == UINT64_MAX) {
		if (f->state != CCS_FLOW_SQD && !signalled_in_flight())
			fail_msg("a WR waits for a completion that was not asked for");
	} else {
		assert_true(due > 0);
		if (f->state != CCS_FLOW_SQD && seed_below(4) == 0)
			try_at(due);
	}
}

static void random_step(void)
{
	m.now += seed_below(2) ? seed_below(3000) : 0;
	switch (seed_below(27)) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		accept_one();
		break;
	case 6: case 7: case 8: case 9: case 10: case 11:
		hand_over_next();
		break;
	case 25: case 26:
		while (post_fast_one() && seed_below(4))
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
			ccs_flow_set_state(&m.flow, CCS_FLOW_SQD);
		else if (m.flow.state == CCS_FLOW_SQD)
			ccs_flow_set_state(&m.flow, CCS_FLOW_RUN);
		break;
	case 22:
		if (seed_below(40) == 0)
			reset_flow();
		break;
	case 23:
		if (seed_below(4) == 0)
			switch_algorithm();
		else if (seed_below(4) == 0)
			random_settings();
		else
			random_cnp();
		break;
	default:
		if (seed_below(40) == 0)
			complete_one(false);
		break;
	}
}

/* Everything is sent, and every completion that the application asked for is delivered. */
static void complete_everything(void)
{
	const struct ccs_flow *f = &m.flow;

	if (m.flow.state == CCS_FLOW_SQD)
		ccs_flow_set_state(&m.flow, CCS_FLOW_RUN);
	while (waiting_from() < m.kept) {
		while (hand_over_next())
			;
		if (waiting_from() < m.kept) {
			const uint64_t done = m.done, due = ccs_flow_wait(&m.flow, m.now);

			complete_one(true);
			if (due != UINT64_MAX && due > m.now)
				m.now = due;
			else if (done == m.done && due == UINT64_MAX)
				fail_msg("no progress is possible");
		}
	}
	while (signalled_in_flight() || (m.failed && m.done < m.sent))
		complete_one(true);
	for (uint64_t i = 0; i < m.kept; i++) {
		const bool failed = m.failed && i >= m.failed_wr;

		assert_true(m.wr[i].whole);
		if (!failed)
			assert_int_equal(m.wr[i].handed, m.wr[i].len);
		assert_int_equal(m.wr[i].delivered, failed || (m.wr[i].flags & CCS_WR_SIGNALED));
	}
	assert_true(m.failed || f->wr_tail >= m.first_number + m.delivered_up_to);
}

static void open_random_flow(void)
{
	static const double windows[] = { 0, 0, 1, 5000, 1e6 };
	struct ccs_flow_config conf = random_config();

	memset(&m, 0, sizeof(m));
	m.small = seed_below(2);
	if (m.small) {
		conf.base_rtt_us = 20;
		conf.segment = conf.max_inflight = 65536;
	}
	m.now = 1 + seed_below(1ull << 40);
	m.wr_limit = 1 + (uint32_t)seed_below(seed_below(2) ? 4 : 200);
	m.seg_limit = 1 + (uint32_t)seed_below(seed_below(2) ? 8 : 300);
	spy_rate = m.small || seed_below(2) ? INFINITY : 1e9 * (double)(1 + seed_below(9));
	spy_window = windows[seed_below(5)];
	open_flow(&m.flow, &conf, m.wr_limit, m.seg_limit, m.now);
	m.flow.reads.max = seed_below(2) ? UINT16_MAX : 1 + (uint16_t)seed_below(4);
}

TEST(random_programs_match_the_model)
{
	uint64_t delivered = 0, failures = 0, accepted = 0, switches = 0, fast = 0, whole = 0;

	seed_start("flow");
	for (unsigned program = 0; program < 400; program++) {
		open_random_flow();
		for (unsigned i = 0; i < 400; i++) {
			random_step();
			check_invariants();
		}
		complete_everything();
		delivered += m.delivered;
		failures += m.programs_failed;
		accepted += m.accepted;
		switches += m.switches;
		fast += m.fast;
		whole += m.completed_whole;
		ccs_flow_destroy(&m.flow);
	}
	assert_true(delivered > 1000 && failures > 10 && accepted > 10000 && switches > 100);
	assert_true(fast > 100 && whole > 50);
}
