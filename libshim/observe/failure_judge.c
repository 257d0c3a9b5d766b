/* SPDX-License-Identifier: BSD-2-Clause */
/* The verdict on a failure. A cause is named only if the facts leave no other. */
#include "observe/failure.h"

#include "base/text.h"

/* An RTT that shows a queue is longer than the base RTT by these ratios, the second if packets were lost,
 * and by this time. */
#define QUEUE_RATIO 8
#define DROPS_RATIO 3
#define QUEUE_US 200
/* A queue pair's own data makes it shorter than this. */
#define OTHERS_RATIO 32
/* A path with this number of losses in the second before is lossy: a queue is full, or a link is bad. */
#define LOSSY 3

const char *const ccs_failure_names[CCS_FAILURE_CAUSE_COUNT] = {
#define NAME(id, name) [CCS_FAILURE_##id] = name,
	CCS_FAILURE_CAUSES(NAME)
#undef NAME
};

#define LOCAL_TEXT "a request of this host is wrong: check lkey, length and buffers of its WRs"
static const struct known_status {
	const char *name, *verdict;      /* verdict: NULL if others decide */
	enum ccs_failure_cause cause;
} statuses[] = {
	[0] = { .name = "asynchronous event" },
	[CCS_WC_FLUSH] = { .name = "flushed" },
	[CCS_WC_BAD_RESP] = { .name = "bad response" },
	[CCS_WC_RETRY_EXC] = { .name = "transport retry counter exceeded" },
	[CCS_WC_LOC_LEN] = { "local length error", LOCAL_TEXT, CCS_FAILURE_LOCAL },
	[CCS_WC_LOC_QP_OP] = { "local queue pair operation error", LOCAL_TEXT, CCS_FAILURE_LOCAL },
	[CCS_WC_LOC_PROT] = { "local protection error", LOCAL_TEXT, CCS_FAILURE_LOCAL },
	[CCS_WC_MW_BIND] = { "memory window bind error", LOCAL_TEXT, CCS_FAILURE_LOCAL },
	[CCS_WC_LOC_ACCESS] = { "local access error", LOCAL_TEXT, CCS_FAILURE_LOCAL },
	[CCS_WC_REM_INV_REQ] = { "remote invalid request error", "the peer refused the request as invalid: longer than "
		"its receive or region, of another path MTU, or not enabled there", CCS_FAILURE_REFUSED },
	[CCS_WC_REM_ACCESS] = { "remote access error", "the peer refused the access: check rkey, address, length and "
		"access flags of its memory region", CCS_FAILURE_REFUSED },
	[CCS_WC_REM_OP] = { "remote operation error", "the peer's queue pair failed (remote operation error): its "
		"receives are wrong, or its device failed", CCS_FAILURE_PEER_QP },
	[CCS_WC_REM_ABORT] = { "remote aborted error", "the peer's queue pair failed (remote aborted error)",
		CCS_FAILURE_PEER_QP },
	[CCS_WC_RNR_RETRY_EXC] = { "RNR retry counter exceeded", "the receiver had no buffers (RNR): its program "
		"posts too few receives, or too late", CCS_FAILURE_NO_RECEIVES },
};

/* Any number. */
static const struct known_status *find_status(double status)
{
	static const struct known_status other = { .name = "error" };
	const bool known = status >= 0 && status < sizeof(statuses) / sizeof(*statuses);

	return known && statuses[(unsigned)status].name ? &statuses[(unsigned)status] : &other;
}

const char *ccs_wc_status_text(double status)
{
	return find_status(status)->name;
}

/* In place: the thread that fails may have a small stack. */
#define ADD(v, ...) ccs_append((v)->text, sizeof((v)->text), __VA_ARGS__)
#define SET(v, id, ...) ((v)->cause = (id), (v)->text[0] = '\0', ADD(v, __VA_ARGS__))

/* Rounded, for "%lu": to print a double takes 2 KB of the stack of the application's thread. */
static unsigned long whole(double value)
{
	return value > 0 && value < 1e15 ? (unsigned long)(value + 0.5) : 0;
}

/* A time with its unit. */
static void add_time(struct ccs_verdict *v, const char *before, double us, const char *after)
{
	const unsigned long tenths = whole(us / (us < 1e6 ? 100 : 1e5));

	if (us < 1000)
		ADD(v, "%s%lu us%s", before, whole(us), after);
	else if (us >= 1e4 && us < 1e6)
		ADD(v, "%s%lu ms%s", before, whole(us / 1e3), after);
	else
		ADD(v, "%s%lu.%lu %s%s", before, tenths / 10, tenths % 10, us < 1e6 ? "ms" : "s", after);
}

static void add_rtt(struct ccs_verdict *v, const struct ccs_failure_facts *f, const char *before)
{
	if (f->rtt_us > 0)
		add_time(v, before, f->rtt_us, " before");
	if (f->rtt_us > 0 && f->base_rtt_us > 0)
		add_time(v, ", ", f->base_rtt_us, " without a queue");
	if (f->cnps > 0)
		ADD(v, ", %lu CNPs", whole(f->cnps));
	if (f->losses > 0)
		ADD(v, ", %lu retransmission timeouts", whole(f->losses));
}

static void unknown(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	SET(v, CCS_FAILURE_UNKNOWN, "the cause is not known");
	if (f->unanswered_us > 0)
		add_time(v, ": the last answer came ", f->unanswered_us, " before");
	else if (f->answered > 0)
		ADD(v, ": earlier requests were answered");
	add_rtt(v, f, ", RTT ");
	if (f->other == CCS_OTHER_ENDED_DURING)
		ADD(v, "; the application ended the peer's queue pair while requests were already retried");
}

/* An RTT that shows a queue. */
static bool is_long(const struct ccs_failure_facts *f, double ratio)
{
	return f->rtt_moments > 1 && f->base_rtt_us > 0 && f->rtt_us >= f->base_rtt_us + QUEUE_US &&
	       f->rtt_us >= ratio * f->base_rtt_us;
}

/*
 * A queue alone does not explain why one queue pair gets no answer and others do: its requests were dropped
 * each time, so some of theirs were dropped as well, just before, or earlier if the same queue is as long.
 */
static bool had_queue(const struct ccs_failure_facts *f)
{
	const bool drops = f->losses + f->peer_losses > 0, others = f->peer_healthy + f->others_healthy > 0;
	const bool dropped = drops || (f->peer_healthy > 0 && f->past_losses > 0);

	return is_long(f, drops ? DROPS_RATIO : QUEUE_RATIO) && (dropped || !others);
}

/*
 * A full queue may drop the packets of the same queue pairs each time and none of others, so behind a queue
 * of others' data the lack of earlier losses does not show that the path broke.
 */
static bool may_have_queue(const struct ccs_failure_facts *f)
{
	return f->peer_healthy > 0 && (f->peer_losses > 0 || is_long(f, OTHERS_RATIO));
}

static void congestion(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	SET(v, CCS_FAILURE_CONGESTION, "congestion");
	add_rtt(v, f, ": RTT ");
	if (f->peer_healthy > 0)
		ADD(v, "; %lu other queue pairs to that peer are fine", whole(f->peer_healthy));
}

/* By the other queue pairs: which of them get answers. */
static void by_siblings(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	const double lost = 1 + f->peer_unanswered + f->peer_failed, all = lost + f->peer_healthy + f->peer_idle;
	const double others_lost = f->others_unanswered + f->others_failed;

	if (f->peer_healthy > 0) {
		SET(v, CCS_FAILURE_PATH, "only this path");
		if (lost > 1)
			SET(v, CCS_FAILURE_PATH, "only %lu paths", whole(lost));
		ADD(v, " of %lu to that peer, or the queue pairs at its end; others are fine", whole(all));
	} else if (others_lost > 0 && !(f->others_healthy > 0)) {
		SET(v, CCS_FAILURE_HOST, "all peers: none of %lu busy queue pairs gets answers; check this host's "
		    "port and its link", whole(lost + others_lost));
	} else if (lost == 1 && !(f->others_healthy > 0)) {
		unknown(f, v);
	} else {
		SET(v, CCS_FAILURE_PEER, lost > 1 ? "all of that peer: none of %lu busy queue pairs to it gets answers"
		    : "that peer or the path to it, with %lu busy queue pair", whole(lost));
		if (f->others_healthy > 0)
			ADD(v, "; other peers are fine");
		if (f->unanswered_us > 0)
			add_time(v, "; the last answer came ", f->unanswered_us, " before");
	}
}

static void no_answer(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	if (f->peer_healthy > 0)
		SET(v, CCS_FAILURE_PATH, "only this path of %lu to that peer: none of its requests was answered since "
		    "the first WR, and others are fine; check its queue pair number and GID index",
		    whole(1 + f->peer_healthy + f->peer_unanswered + f->peer_failed + f->peer_idle));
	else
		SET(v, CCS_FAILURE_NO_ANSWER, "no request was answered since the first WR: check GID index and RoCE "
		    "version, VLAN, MTU, firewalls (UDP port 4791), and that the peer's program runs");
}

/* The causes that a fact states, whatever the status. */
static bool is_stated(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	static const struct { enum ccs_failure_event event; enum ccs_failure_cause cause; const char *text; } events[] = {
		{ CCS_FAILED_PORT, CCS_FAILURE_PORT, "the port went down" },
		{ CCS_FAILED_DEVICE, CCS_FAILURE_DEVICE, "the device reported a fatal error" },
		{ CCS_FAILED_QP_FATAL, CCS_FAILURE_DEVICE, "the device reported an error of the queue pair "
		  "(IBV_EVENT_QP_FATAL)" },
		{ CCS_FAILED_QP_REQ, CCS_FAILURE_REFUSED, "this host refused a request of the peer as invalid" },
		{ CCS_FAILED_QP_ACCESS, CCS_FAILURE_REFUSED, "this host refused a request of the peer: memory access" },
	};

	v->cause = CCS_FAILURE_UNKNOWN;
	for (unsigned i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (f->event == events[i].event || (i == 0 && f->port_down > 0)) {
			SET(v, events[i].cause, "%s", events[i].text);
			return true;
		}
	if (f->other == CCS_OTHER_ENDED_FIRST && f->status == CCS_WC_RETRY_EXC)
		SET(v, CCS_FAILURE_DESTROYED, "the application destroyed the peer's queue pair first");
	else if (f->other == CCS_OTHER_FAILED)
		SET(v, CCS_FAILURE_PEER_QP, "the peer's queue pair had failed");
	return v->cause != CCS_FAILURE_UNKNOWN;
}

static void of_retries(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	if (!(f->answered > 0) && f->peer_losses > 0) {
		unknown(f, v); /* it began on a path that loses packets */
	} else if (!(f->answered > 0) && (f->peer_healthy > 0 || !(f->peer_answered > 0))) {
		no_answer(f, v);
	} else if (had_queue(f)) {
		congestion(f, v);
	} else if (f->losses >= LOSSY || may_have_queue(f)) {
		unknown(f, v);
	} else {
		by_siblings(f, v);
		if (f->other == CCS_OTHER_UNANSWERED && v->cause == CCS_FAILURE_UNKNOWN)
			SET(v, CCS_FAILURE_PATH, "the path between the two ends: neither got answers from the other");
		else if (f->other == CCS_OTHER_UNANSWERED)
			ADD(v, "; the peer got no answer either");
	}
}

void ccs_failure_judge(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	const bool is_general = f->status == 0 || f->status == CCS_WC_FLUSH || f->status == CCS_WC_RETRY_EXC;
	const struct known_status *s = find_status(f->status);

	if (s->verdict) {
		SET(v, s->cause, "%s", s->verdict);
		if (s->cause == CCS_FAILURE_PEER_QP && f->other == CCS_OTHER_FAILED)
			ADD(v, ", as the peer's file says");
	} else if (is_general && is_stated(f, v)) {
		return;
	} else if (f->status == CCS_WC_RETRY_EXC) {
		of_retries(f, v);
	} else if (is_general) {
		SET(v, CCS_FAILURE_UNKNOWN, "the cause is not known: the queue pair went to the error state without an "
		    "error of its own requests");
	} else {
		unknown(f, v);
	}
}
