/* SPDX-License-Identifier: BSD-2-Clause */
/* The verdict on a failure. A cause is named only if the facts leave no other. */
#include "observe/failure.h"

#include "base/text.h"

/* An RTT that shows a queue is longer than the base RTT by this ratio and by this time. */
#define QUEUE_RATIO 8
#define QUEUE_US 200

const char *const ccs_failure_names[CCS_FAILURE_CAUSE_COUNT] = {
#define NAME(id, name) [CCS_FAILURE_##id] = name,
	CCS_FAILURE_CAUSES(NAME)
#undef NAME
};

const char *ccs_wc_status_text(double status)
{
	static const char *const texts[] = {
		[CCS_WC_LOC_LEN] = "local length error", [CCS_WC_LOC_QP_OP] = "local queue pair operation error",
		[CCS_WC_LOC_PROT] = "local protection error", [CCS_WC_FLUSH] = "flushed",
		[CCS_WC_MW_BIND] = "memory window bind error", [CCS_WC_BAD_RESP] = "bad response",
		[CCS_WC_LOC_ACCESS] = "local access error", [CCS_WC_REM_INV_REQ] = "remote invalid request error",
		[CCS_WC_REM_ACCESS] = "remote access error", [CCS_WC_REM_OP] = "remote operation error",
		[CCS_WC_RETRY_EXC] = "transport retry counter exceeded",
		[CCS_WC_RNR_RETRY_EXC] = "RNR retry counter exceeded", [CCS_WC_REM_ABORT] = "remote aborted error",
	};

	if (status >= 0 && status < sizeof(texts) / sizeof(*texts) && texts[(unsigned)status])
		return texts[(unsigned)status];
	return status == 0 ? "asynchronous event" : "error";
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

static void add_marks(struct ccs_verdict *v, const struct ccs_failure_facts *f)
{
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
	if (f->rtt_us > 0)
		add_time(v, ", RTT ", f->rtt_us, "");
	if (f->rtt_us > 0 && f->base_rtt_us > 0)
		add_time(v, ", ", f->base_rtt_us, " without a queue");
	add_marks(v, f);
	if (f->other == CCS_OTHER_ENDED_DURING)
		ADD(v, "; the application ended the peer's queue pair while requests were already retried");
}

static bool had_queue(const struct ccs_failure_facts *f)
{
	return f->rtt_moments > 1 && f->base_rtt_us > 0 && f->rtt_us >= QUEUE_RATIO * f->base_rtt_us &&
	       f->rtt_us >= f->base_rtt_us + QUEUE_US;
}

static void congestion(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	SET(v, CCS_FAILURE_CONGESTION, "congestion: ");
	add_time(v, "RTT ", f->rtt_us, " before, ");
	add_time(v, "", f->base_rtt_us, " without a queue");
	add_marks(v, f);
	if (f->peer_healthy > 0)
		ADD(v, "; %lu other queue pairs to that peer are fine", whole(f->peer_healthy));
}

/* By the other queue pairs: which of them get answers. */
static void by_siblings(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	const double lost = 1 + f->peer_unanswered + f->peer_failed, all = lost + f->peer_healthy + f->peer_idle;
	const double others_lost = f->others_unanswered + f->others_failed;

	if (f->peer_healthy > 0 && lost == 1) {
		SET(v, CCS_FAILURE_PATH, "only this path of %lu to that peer; others are fine", whole(all));
	} else if (f->peer_healthy > 0) {
		SET(v, CCS_FAILURE_PATH, "%lu of %lu paths to that peer; %lu are fine", whole(lost), whole(all),
		    whole(f->peer_healthy));
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
	if (f->port_down > 0 || f->event == CCS_FAILED_PORT)
		SET(v, CCS_FAILURE_PORT, "the port went down");
	else if (f->event == CCS_FAILED_DEVICE)
		SET(v, CCS_FAILURE_DEVICE, "the device reported a fatal error");
	else if (f->event == CCS_FAILED_QP_FATAL)
		SET(v, CCS_FAILURE_DEVICE, "the device reported an error of the queue pair (IBV_EVENT_QP_FATAL)");
	else if (f->event == CCS_FAILED_QP_REQ)
		SET(v, CCS_FAILURE_REFUSED, "this host refused a request of the peer as invalid");
	else if (f->event == CCS_FAILED_QP_ACCESS)
		SET(v, CCS_FAILURE_REFUSED, "this host refused a request of the peer: memory access");
	else if (f->other == CCS_OTHER_ENDED_FIRST && f->status == CCS_WC_RETRY_EXC)
		SET(v, CCS_FAILURE_DESTROYED, "the application destroyed the peer's queue pair first");
	else if (f->other == CCS_OTHER_FAILED)
		SET(v, CCS_FAILURE_PEER_QP, "the peer's queue pair had failed");
	else
		return false;
	return true;
}

static void of_retries(const struct ccs_failure_facts *f, struct ccs_verdict *v)
{
	if (!(f->answered > 0) && (f->peer_healthy > 0 || !(f->peer_answered > 0))) {
		no_answer(f, v);
	} else if (had_queue(f)) {
		congestion(f, v);
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
	const unsigned status = f->status >= 0 && f->status < 256 ? (unsigned)f->status : 255;
	const bool is_general = status == 0 || status == CCS_WC_FLUSH || status == CCS_WC_RETRY_EXC;

	if (is_general && is_stated(f, v))
		return;
	switch (status) {
	case 0: case CCS_WC_FLUSH:
		SET(v, CCS_FAILURE_UNKNOWN, "the cause is not known: the queue pair went to the error state without an "
		    "error of its own requests");
		break;
	case CCS_WC_RETRY_EXC:
		of_retries(f, v);
		break;
	case CCS_WC_RNR_RETRY_EXC:
		SET(v, CCS_FAILURE_NO_RECEIVES, "the receiver had no buffers (RNR): its program posts too few "
		    "receives, or too late");
		break;
	case CCS_WC_REM_OP: case CCS_WC_REM_ABORT:
		SET(v, CCS_FAILURE_PEER_QP, "the peer's queue pair failed (%s)%s", ccs_wc_status_text(f->status),
		    f->other == CCS_OTHER_FAILED ? ", as the peer's file says" : "");
		break;
	case CCS_WC_REM_ACCESS:
		SET(v, CCS_FAILURE_REFUSED, "the peer refused the access: check rkey, address, length and access "
		    "flags of its memory region");
		break;
	case CCS_WC_REM_INV_REQ:
		SET(v, CCS_FAILURE_REFUSED, "the peer refused the request as invalid: longer than its receive or "
		    "region, of another path MTU, or not enabled there");
		break;
	case CCS_WC_LOC_LEN: case CCS_WC_LOC_QP_OP: case CCS_WC_LOC_PROT: case CCS_WC_MW_BIND: case CCS_WC_LOC_ACCESS:
		SET(v, CCS_FAILURE_LOCAL, "a request of this host is wrong (%s): check lkey, length and buffers of "
		    "its WRs", ccs_wc_status_text(f->status));
		break;
	default:
		unknown(f, v);
	}
}
