/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts on failures of queue pairs: a table of facts, and facts from statistics. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/failure.h"

#define FACTS(...) { __VA_ARGS__ }
#define RETRY .status = CCS_WC_RETRY_EXC
#define ANSWERED RETRY, .answered = 100
#define QUIET .rtt_us = 12, .base_rtt_us = 10
#define QUEUE .rtt_us = 14000, .rtt_moments = 3, .base_rtt_us = 20

static const struct {
	struct ccs_failure_facts facts;
	enum ccs_failure_cause cause;
	const char *text;                /* contained in the verdict */
} cases[] = {
	/* the status says it */
	{ FACTS(.status = CCS_WC_RNR_RETRY_EXC), CCS_FAILURE_NO_RECEIVES, "no buffers (RNR)" },
	{ FACTS(.status = CCS_WC_RNR_RETRY_EXC, .answered = 9, QUEUE), CCS_FAILURE_NO_RECEIVES, "RNR" },
	{ FACTS(.status = CCS_WC_REM_OP), CCS_FAILURE_PEER_QP, "remote operation error" },
	{ FACTS(.status = CCS_WC_REM_OP, .other = CCS_OTHER_FAILED), CCS_FAILURE_PEER_QP, "file says" },
	{ FACTS(.status = CCS_WC_REM_ABORT), CCS_FAILURE_PEER_QP, "peer's queue pair failed" },
	{ FACTS(.status = CCS_WC_REM_ACCESS), CCS_FAILURE_REFUSED, "rkey" },
	{ FACTS(.status = CCS_WC_REM_INV_REQ, .peer_healthy = 3), CCS_FAILURE_REFUSED, "invalid" },
	{ FACTS(.status = CCS_WC_LOC_PROT), CCS_FAILURE_LOCAL, "check lkey" },
	{ FACTS(.status = CCS_WC_LOC_LEN), CCS_FAILURE_LOCAL, "length" },
	{ FACTS(.status = CCS_WC_LOC_QP_OP), CCS_FAILURE_LOCAL, "wrong" },
	{ FACTS(.status = CCS_WC_MW_BIND), CCS_FAILURE_LOCAL, "wrong" },
	{ FACTS(.status = CCS_WC_LOC_ACCESS), CCS_FAILURE_LOCAL, "wrong" },
	/* no request was answered */
	{ FACTS(RETRY), CCS_FAILURE_NO_ANSWER, "GID index and RoCE version, VLAN, MTU, firewalls" },
	{ FACTS(RETRY, .peer_unanswered = 7), CCS_FAILURE_NO_ANSWER, "first WR" },
	{ FACTS(RETRY, .others_healthy = 3), CCS_FAILURE_NO_ANSWER, "first WR" },
	{ FACTS(RETRY, .peer_healthy = 7, .peer_answered = 7), CCS_FAILURE_PATH, "only this path of 8" },
	{ FACTS(RETRY, .peer_idle = 1, .peer_answered = 1), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(RETRY, .peer_idle = 1, .peer_healthy = 1), CCS_FAILURE_PATH, "only this path of 3" },
	{ FACTS(RETRY, .peer_healthy = 3, .peer_answered = 3, .peer_losses = 1), CCS_FAILURE_UNKNOWN, "not known" },
	/* congestion */
	{ FACTS(ANSWERED, QUEUE), CCS_FAILURE_CONGESTION, "congestion: RTT 14 ms before, 20 us without a queue" },
	{ FACTS(ANSWERED, QUEUE, .cnps = 12, .losses = 2), CCS_FAILURE_CONGESTION, "12 CNPs, 2 retransmission" },
	{ FACTS(ANSWERED, QUEUE, .peer_healthy = 2, .losses = 1), CCS_FAILURE_CONGESTION, "2 other queue pairs" },
	{ FACTS(ANSWERED, QUEUE, .peer_healthy = 2, .peer_losses = 1), CCS_FAILURE_CONGESTION, "2 other queue pairs" },
	/* a full queue dropped packets more than a second before */
	{ FACTS(ANSWERED, QUEUE, .peer_healthy = 1, .peer_unanswered = 1, .past_losses = 10), CCS_FAILURE_CONGESTION, "1 other" },
	{ FACTS(ANSWERED, QUEUE, .peer_unanswered = 4, .others_healthy = 2, .past_losses = 10), CCS_FAILURE_PEER, "none of 5" },
	{ FACTS(ANSWERED, QUIET, .peer_healthy = 2, .past_losses = 10), CCS_FAILURE_PATH, "only this path of 3" },
	{ FACTS(ANSWERED, .rtt_us = 3000, .rtt_moments = 2, .base_rtt_us = 1000, .peer_healthy = 2, .past_losses = 9), CCS_FAILURE_PATH,
	  "only this path of 3" },
	/* behind a queue, without an earlier loss: a full queue dropped the same queue pairs' packets, or the path broke */
	{ FACTS(ANSWERED, QUEUE, .peer_healthy = 1, .peer_unanswered = 1), CCS_FAILURE_UNKNOWN, "RTT 14 ms before, 20 us" },
	{ FACTS(ANSWERED, QUEUE, .peer_healthy = 2), CCS_FAILURE_UNKNOWN, "not known" },
	/* behind the queue of its own data */
	{ FACTS(ANSWERED, .rtt_us = 2400, .rtt_moments = 2, .base_rtt_us = 288, .peer_healthy = 2), CCS_FAILURE_PATH,
	  "only this path of 3" },
	{ FACTS(ANSWERED, QUEUE, .peer_unanswered = 4, .others_healthy = 2), CCS_FAILURE_PEER, "other peers are fine" },
	{ FACTS(ANSWERED, QUEUE, .peer_healthy = 2, .cnps = 3), CCS_FAILURE_UNKNOWN, "3 CNPs" },
	/* a path that lost packets for a second, without an RTT that shows a queue */
	{ FACTS(ANSWERED, QUIET, .peer_healthy = 1, .losses = 16), CCS_FAILURE_UNKNOWN, "16 retransmission timeouts" },
	{ FACTS(ANSWERED, .peer_healthy = 1, .losses = 3), CCS_FAILURE_UNKNOWN, "3 retransmission timeouts" },
	{ FACTS(ANSWERED, .peer_healthy = 1, .losses = 2), CCS_FAILURE_PATH, "only this path of 2" },
	{ FACTS(ANSWERED, QUIET, .peer_healthy = 4, .peer_losses = 1), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(ANSWERED, QUIET, .peer_unanswered = 4, .peer_losses = 1), CCS_FAILURE_PEER, "none of 5" },
	{ FACTS(ANSWERED, QUEUE, .peer_unanswered = 7), CCS_FAILURE_CONGESTION, "congestion" },
	{ FACTS(ANSWERED, .rtt_us = 220, .rtt_moments = 2, .base_rtt_us = 20), CCS_FAILURE_CONGESTION, "RTT 220 us" },
	{ FACTS(ANSWERED, .rtt_us = 1.5e6, .rtt_moments = 3, .base_rtt_us = 20), CCS_FAILURE_CONGESTION, "RTT 1.5 s" },
	{ FACTS(ANSWERED, .rtt_us = 219, .rtt_moments = 3, .base_rtt_us = 20), CCS_FAILURE_UNKNOWN, "RTT 219 us before, 20 us without" },
	{ FACTS(ANSWERED, .rtt_us = 7000, .rtt_moments = 3, .base_rtt_us = 1000), CCS_FAILURE_UNKNOWN, "RTT 7.0 ms" },
	{ FACTS(ANSWERED, .rtt_us = 14000, .rtt_moments = 1, .base_rtt_us = 20), CCS_FAILURE_UNKNOWN, "RTT 14 ms" },
	{ FACTS(ANSWERED, .rtt_us = 14000, .rtt_moments = 3), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(ANSWERED, .rtt_us = 3000, .rtt_moments = 2, .base_rtt_us = 1000, .peer_losses = 1), CCS_FAILURE_CONGESTION, "RTT 3.0 ms" },
	{ FACTS(ANSWERED, .rtt_us = 2900, .rtt_moments = 2, .base_rtt_us = 1000, .losses = 1), CCS_FAILURE_UNKNOWN, "RTT 2.9 ms" },
	/* this path, that peer, this host */
	{ FACTS(ANSWERED, QUIET, .peer_healthy = 7), CCS_FAILURE_PATH, "only this path of 8 to that peer, or" },
	{ FACTS(ANSWERED, QUIET, .peer_healthy = 4, .peer_unanswered = 2, .peer_failed = 1), CCS_FAILURE_PATH, "only 4 paths of 8" },
	{ FACTS(ANSWERED, QUIET, .peer_healthy = 1, .peer_idle = 6), CCS_FAILURE_PATH, "only this path of 8" },
	{ FACTS(ANSWERED, QUIET, .peer_unanswered = 7), CCS_FAILURE_PEER, "all of that peer: none of 8" },
	{ FACTS(ANSWERED, QUIET, .peer_failed = 7), CCS_FAILURE_PEER, "all of that peer: none of 8" },
	{ FACTS(ANSWERED, QUIET, .peer_unanswered = 1, .others_healthy = 1), CCS_FAILURE_PEER, "other peers are fine" },
	{ FACTS(ANSWERED, QUIET, .others_healthy = 2, .unanswered_us = 4.1e6), CCS_FAILURE_PEER, "came 4.1 s before" },
	{ FACTS(ANSWERED, QUIET, .others_unanswered = 2), CCS_FAILURE_HOST, "none of 3 busy queue pairs" },
	{ FACTS(ANSWERED, QUIET, .peer_unanswered = 1, .others_failed = 2), CCS_FAILURE_HOST, "this host's port" },
	{ FACTS(ANSWERED, QUIET, .others_failed = 2, .others_healthy = 1), CCS_FAILURE_PEER, "that peer or the path" },
	/* port and device */
	{ FACTS(ANSWERED, QUEUE, .port_down = 1), CCS_FAILURE_PORT, "the port went down" },
	{ FACTS(RETRY, .event = CCS_FAILED_PORT), CCS_FAILURE_PORT, "port" },
	{ FACTS(.status = CCS_WC_FLUSH, .port_down = 1), CCS_FAILURE_PORT, "port" },
	{ FACTS(.status = CCS_WC_FLUSH, .event = CCS_FAILED_DEVICE), CCS_FAILURE_DEVICE, "fatal" },
	{ FACTS(ANSWERED, .event = CCS_FAILED_DEVICE), CCS_FAILURE_DEVICE, "fatal" },
	{ FACTS(.event = CCS_FAILED_QP_FATAL), CCS_FAILURE_DEVICE, "IBV_EVENT_QP_FATAL" },
	{ FACTS(.event = CCS_FAILED_QP_ACCESS), CCS_FAILURE_REFUSED, "this host refused" },
	{ FACTS(.event = CCS_FAILED_QP_REQ), CCS_FAILURE_REFUSED, "invalid" },
	{ FACTS(.status = CCS_WC_FLUSH), CCS_FAILURE_UNKNOWN, "without an error of its own" },
	{ FACTS(.status = CCS_WC_FLUSH, .other = CCS_OTHER_FAILED), CCS_FAILURE_PEER_QP, "had failed" },
	/* the other end */
	{ FACTS(ANSWERED, QUIET, .other = CCS_OTHER_ENDED_FIRST), CCS_FAILURE_DESTROYED, "destroyed the peer's" },
	{ FACTS(RETRY, .other = CCS_OTHER_ENDED_FIRST), CCS_FAILURE_DESTROYED, "first" },
	{ FACTS(ANSWERED, QUEUE, .other = CCS_OTHER_ENDED_FIRST), CCS_FAILURE_DESTROYED, "first" },
	{ FACTS(ANSWERED, QUIET, .port_down = 1, .other = CCS_OTHER_ENDED_FIRST), CCS_FAILURE_PORT, "port" },
	{ FACTS(ANSWERED, QUIET, .other = CCS_OTHER_ENDED_DURING), CCS_FAILURE_UNKNOWN, "already retried" },
	{ FACTS(ANSWERED, QUIET, .other = CCS_OTHER_LIVES), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(ANSWERED, QUIET, .other = CCS_OTHER_UNANSWERED), CCS_FAILURE_PATH, "between the two ends" },
	{ FACTS(ANSWERED, QUIET, .other = CCS_OTHER_UNANSWERED, .peer_unanswered = 1), CCS_FAILURE_PEER, "no answer either" },
	{ FACTS(ANSWERED, QUIET, .other = CCS_OTHER_FAILED), CCS_FAILURE_PEER_QP, "had failed" },
	/* not justified */
	{ FACTS(ANSWERED), CCS_FAILURE_UNKNOWN, "earlier requests were answered" },
	{ FACTS(ANSWERED, QUIET, .peer_idle = 7, .unanswered_us = 5e5), CCS_FAILURE_UNKNOWN, "came 500 ms before, RTT 12 us" },
	{ FACTS(ANSWERED, QUIET, .losses = 3), CCS_FAILURE_UNKNOWN, "3 retransmission timeouts" },
	{ FACTS(.status = 21), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(.status = CCS_WC_BAD_RESP), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(.status = 1e300), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(.status = -1), CCS_FAILURE_UNKNOWN, "not known" },
	{ FACTS(.status = 0), CCS_FAILURE_UNKNOWN, "not known" },
};

#define ONE(name) +1
enum { FACT_COUNT = 0 CCS_FAILURE_FACTS(ONE) };

static struct ccs_verdict judge(const struct ccs_failure_facts *f)
{
	struct ccs_verdict v;

	ccs_failure_judge(f, &v);
	return v;
}

TEST(each_verdict_follows_from_its_facts)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct ccs_verdict v = judge(&cases[i].facts);

		if (v.cause != cases[i].cause || !strstr(v.text, cases[i].text))
			fail_msg("case %zu: %s, not %s: \"%s\" has no \"%s\"", i, ccs_failure_names[v.cause],
				 ccs_failure_names[cases[i].cause], v.text, cases[i].text);
	}
}

TEST(no_number_makes_a_verdict_longer_than_its_text)
{
	static const double odd[] = { 0, -1, 1e308, -1e308, 0.5, 4294967296.0, __builtin_nan(""), __builtin_inf() };

	for (unsigned i = 0; i < FACT_COUNT * sizeof(odd) / sizeof(*odd); i++) {
		struct ccs_failure_facts f = { RETRY, .answered = 1 };
		double *const all = &f.status;

		all[i % FACT_COUNT] = odd[i / FACT_COUNT];
		for (enum ccs_other_end other = 0; other <= CCS_OTHER_UNANSWERED; other++) {
			f.other = other;
			assert_true(strlen(judge(&f).text) > 0);
		}
	}
}

/* -- facts from statistics ----------------------------------------------------------------------- */

enum { S = 1000000000, QPS = 8 };

static struct entry {
	struct ccs_stats_slot slot;
	struct ccs_stats_moment history[CCS_STATS_MOMENTS];
} file[QPS];

static const struct ccs_stats_layout layout = { .file = file, .slot_size = sizeof(*file), .slots = QPS };

/* Queue pair i to a peer; its segments at times in units of .1 s, all in flight up to .1 s later. */
static struct entry *add(unsigned i, uint8_t peer, unsigned first, unsigned last)
{
	struct entry *e = &file[i];

	e->slot.qp = (struct ccs_stats_qp){ .created_ns = 1, .lqpn = 100 + i, .peer_gid = { [15] = peer },
					    .base_rtt_ns = 10000, .inflight = 4096 };
	for (unsigned t = first; t <= last; t++)
		e->history[e->slot.moments++ % CCS_STATS_MOMENTS] = (struct ccs_stats_moment){
			.time_ns = t * (S / 10ull), .segments = ++e->slot.live.segments, .rtt_ns = 12000,
			.inflight = 4096, .cnps = (uint16_t)t };
	return e;
}

static struct ccs_failure facts_of(unsigned i, uint64_t now_ns, double retry_us)
{
	struct ccs_failure f = { .facts = { RETRY, .retry_us = retry_us } };

	assert_true(ccs_failure_read_qp(&f.qp[0], &layout, sizeof(struct ccs_stats_slot), i));
	f.qps = 1;
	ccs_failure_own_facts(&f, now_ns);
	ccs_failure_add_others(&f, &layout, sizeof(struct ccs_stats_slot), now_ns);
	return f;
}

static int clear(void **state)
{
	memset(file, 0, sizeof(file));
	return 0;
}

TEST_WITH(others_count_by_what_they_did_while_this_one_was_retried, clear, NULL)
{
	struct ccs_failure f;

	add(0, 1, 1, 50);
	add(1, 1, 1, 89);                /* its last completion is within the retries */
	add(2, 1, 1, 50);                /* silent */
	add(3, 1, 1, 50)->slot.qp.inflight = 0;
	add(4, 1, 1, 40)->slot.qp.failed_ns = 80ull * (S / 10);
	add(5, 2, 1, 89);
	add(6, 2, 1, 50);
	f = facts_of(0, 9ull * S, 3e6);
	assert_int_equal(f.facts.peer_healthy, 1);
	assert_int_equal(f.facts.peer_unanswered, 1);
	assert_int_equal(f.facts.peer_idle, 1);
	assert_int_equal(f.facts.peer_failed, 1);
	assert_int_equal(f.facts.others_healthy, 1);
	assert_int_equal(f.facts.others_unanswered, 1);
	assert_int_equal(f.facts.unanswered_us, 4000000);
	assert_int_equal(f.qps, 5);
	assert_int_equal(judge(&f.facts).cause, CCS_FAILURE_PATH);
}

/* Answers that were on their way when the path broke do not make a queue pair healthy. */
TEST_WITH(the_first_answers_after_the_break_do_not_count, clear, NULL)
{
	struct ccs_failure f;

	add(0, 1, 1, 50);
	add(1, 1, 1, 52);
	add(2, 1, 1, 52)->slot.live.segments++; /* since its last moment */
	f = facts_of(0, 9ull * S, 4e6);
	assert_int_equal(f.facts.peer_healthy, 0);
	assert_int_equal(f.facts.peer_unanswered, 2);
	assert_int_equal(judge(&f.facts).cause, CCS_FAILURE_PEER);
}

TEST_WITH(the_second_before_the_silence_counts, clear, NULL)
{
	struct entry *e = add(0, 1, 1, 60);
	struct ccs_failure f;

	e->history[40 % CCS_STATS_MOMENTS].rtt_ns = 9000000; /* two seconds before */
	f = facts_of(0, 70ull * S, 1e6);
	assert_int_equal(f.facts.rtt_us, 12);
	assert_int_equal(f.facts.cnps, 10);
	for (unsigned i = 57; i < 60; i++) { /* both of the newest count, not a pause of the host */
		e->history[i % CCS_STATS_MOMENTS].rtt_ns = 9000000;
		f = facts_of(0, 70ull * S, 1e6);
		assert_int_equal(f.facts.rtt_us, i < 59 ? 12 : 9000);
	}
	f.facts.base_rtt_us = 10;
	assert_int_equal(judge(&f.facts).cause, CCS_FAILURE_CONGESTION);
}

TEST_WITH(a_request_after_a_pause_does_not_hide_the_last_completion, clear, NULL)
{
	struct entry *e = add(0, 1, 1, 10);
	struct ccs_failure f;

	e->history[e->slot.moments] = e->history[e->slot.moments - 1];
	e->history[e->slot.moments++].time_ns = 5ull * S;
	f = facts_of(0, 9ull * S, 1e6);
	assert_int_equal(f.facts.unanswered_us, 8000000);
	assert_int_equal(f.facts.answered, 10);
}

TEST_WITH(failures_of_another_minute_do_not_count, clear, NULL)
{
	struct ccs_failure f;

	add(0, 1, 1, 2);
	add(1, 1, 1, 2)->slot.qp.failed_ns = S;
	f = facts_of(0, 100ull * S, 1e6);
	assert_int_equal(f.facts.peer_failed, 0);
}

TEST_WITH(a_file_without_history_gives_no_moment, clear, NULL)
{
	struct ccs_stats_moment out[CCS_STATS_MOMENTS];

	add(0, 1, 1, 5);
	assert_int_equal(ccs_stats_read_history(&layout, 0, 0, out), 0);
	assert_int_equal(ccs_stats_read_history(&layout, sizeof(*file), 0, out), 0);
	assert_int_equal(ccs_stats_read_history(&layout, UINT64_MAX - 7, 0, out), 0);
	assert_int_equal(ccs_stats_read_history(&layout, sizeof(struct ccs_stats_slot), 0, out), 5);
	assert_int_equal(out[4].segments, 5);
}
