/* SPDX-License-Identifier: BSD-2-Clause */
/* The verdict on a failure. A cause is named only if the facts leave no other. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "observe/failure.h"

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

static struct ccs_verdict verdict(enum ccs_failure_cause cause, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static struct ccs_verdict verdict(enum ccs_failure_cause cause, const char *fmt, ...)
{
	static _Thread_local struct ccs_verdict v; /* not on the stack, which may be small */
	va_list ap;

	v.cause = cause;
	va_start(ap, fmt);
	vsnprintf(v.text, sizeof(v.text), fmt, ap);
	va_end(ap);
	return v;
}

static void add(struct ccs_verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct ccs_verdict *v, const char *fmt, ...)
{
	const size_t at = strlen(v->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->text + at, sizeof(v->text) - at, fmt, ap);
	va_end(ap);
}

/* Rounded, for "%lu": to print a double takes 2 KB of the stack of the application's thread. */
static unsigned long whole(double value)
{
	return value > 0 && value < 1e15 ? (unsigned long)(value + 0.5) : 0;
}

/* A time with its unit. */
static const char *time_text(double us, char text[48])
{
	const double unit = us < 1e6 ? 1e3 : 1e6;
	const unsigned long tenths = whole(10 * us / unit);

	if (us < 1000)
		snprintf(text, 48, "%lu us", whole(us));
	else if (us >= 1e4 && us < 1e6)
		snprintf(text, 48, "%lu ms", whole(us / unit));
	else
		snprintf(text, 48, "%lu.%lu %s", tenths / 10, tenths % 10, us < 1e6 ? "ms" : "s");
	return text;
}

static void add_marks(struct ccs_verdict *v, const struct ccs_failure_facts *f)
{
	if (f->cnps > 0)
		add(v, ", %lu CNPs", whole(f->cnps));
	if (f->losses > 0)
		add(v, ", %lu retransmission timeouts", whole(f->losses));
}

static struct ccs_verdict unknown(const struct ccs_failure_facts *f)
{
	struct ccs_verdict v = verdict(CCS_FAILURE_UNKNOWN, "the cause is not known");
	char text[48];

	if (f->silent_us > 0)
		add(&v, ": the last answer came %s before", time_text(f->silent_us, text));
	else if (f->answered > 0)
		add(&v, ": earlier requests were answered");
	if (f->rtt_us > 0)
		add(&v, ", RTT %s", time_text(f->rtt_us, text));
	if (f->rtt_us > 0 && f->base_rtt_us > 0)
		add(&v, ", %s without a queue", time_text(f->base_rtt_us, text));
	add_marks(&v, f);
	if (f->other == CCS_OTHER_ENDED_DURING)
		add(&v, "; the application ended the peer's queue pair while requests were already retried");
	return v;
}

static bool had_queue(const struct ccs_failure_facts *f)
{
	return f->rtt_moments > 1 && f->base_rtt_us > 0 && f->rtt_us >= QUEUE_RATIO * f->base_rtt_us &&
	       f->rtt_us >= f->base_rtt_us + QUEUE_US;
}

static struct ccs_verdict congestion(const struct ccs_failure_facts *f)
{
	char rtt[48], base[48];
	struct ccs_verdict v = verdict(CCS_FAILURE_CONGESTION, "congestion: RTT %s before, %s without a queue",
				       time_text(f->rtt_us, rtt), time_text(f->base_rtt_us, base));

	add_marks(&v, f);
	if (f->peer_healthy > 0)
		add(&v, "; %lu other queue pairs to that peer are fine", whole(f->peer_healthy));
	return v;
}

/* Some queue pairs to the peer get answers, or none does. */
static struct ccs_verdict by_siblings(const struct ccs_failure_facts *f)
{
	const double lost = 1 + f->peer_silent + f->peer_failed, all = lost + f->peer_healthy + f->peer_idle;
	const double others_lost = f->others_silent + f->others_failed;
	char text[48];
	struct ccs_verdict v;

	if (f->peer_healthy > 0 && lost == 1)
		return verdict(CCS_FAILURE_PATH, "only this path of %lu to that peer; others are fine", whole(all));
	if (f->peer_healthy > 0)
		return verdict(CCS_FAILURE_PATH, "%lu of %lu paths to that peer; %lu are fine", whole(lost), whole(all),
			       whole(f->peer_healthy));
	if (others_lost > 0 && !(f->others_healthy > 0))
		return verdict(CCS_FAILURE_HOST, "all peers: none of %lu busy queue pairs gets answers; check this "
			       "host's port and its link", whole(lost + others_lost));
	if (lost == 1 && !(f->others_healthy > 0))
		return unknown(f);
	v = verdict(CCS_FAILURE_PEER, lost > 1 ? "all of that peer: none of %lu busy queue pairs to it gets answers"
		    : "that peer or the path to it, with %lu busy queue pair", whole(lost));
	if (f->others_healthy > 0)
		add(&v, "; other peers are fine");
	if (f->silent_us > 0)
		add(&v, "; the last answer came %s before", time_text(f->silent_us, text));
	return v;
}

static struct ccs_verdict no_answer(const struct ccs_failure_facts *f)
{
	if (f->peer_healthy > 0)
		return verdict(CCS_FAILURE_PATH, "only this path of %lu to that peer: nothing came back since its first "
			       "WR, and others are fine; check its queue pair number and GID index",
			       whole(1 + f->peer_healthy + f->peer_silent + f->peer_failed + f->peer_idle));
	return verdict(CCS_FAILURE_NO_ANSWER, "nothing came back since the first WR: check GID index and RoCE version, "
		       "VLAN, MTU, firewalls (UDP port 4791), and that the peer's program runs");
}

static struct ccs_verdict of_retries(const struct ccs_failure_facts *f)
{
	struct ccs_verdict v;

	if (f->port_down > 0 || f->event == CCS_FAILED_PORT)
		return verdict(CCS_FAILURE_PORT, "the port went down");
	if (f->event == CCS_FAILED_DEVICE)
		return verdict(CCS_FAILURE_DEVICE, "the device reported a fatal error");
	if (f->other == CCS_OTHER_ENDED_FIRST)
		return verdict(CCS_FAILURE_DESTROYED, "the application destroyed the peer's queue pair first");
	if (f->other == CCS_OTHER_FAILED)
		return verdict(CCS_FAILURE_PEER_QP, "the peer's queue pair had failed");
	if (!(f->answered > 0) && !(f->received > 0) && !(f->peer_answered > 0))
		return no_answer(f);
	if (!(f->answered > 0) && f->peer_healthy > 0 && !(f->received > 0))
		return no_answer(f);
	if (had_queue(f))
		return congestion(f);
	v = by_siblings(f);
	if (f->other == CCS_OTHER_SILENT && v.cause == CCS_FAILURE_UNKNOWN)
		return verdict(CCS_FAILURE_PATH, "the path between the two ends: neither got answers from the other");
	if (f->other == CCS_OTHER_SILENT)
		add(&v, "; the peer got no answer either");
	return v;
}

static struct ccs_verdict of_event(const struct ccs_failure_facts *f)
{
	if (f->port_down > 0 || f->event == CCS_FAILED_PORT)
		return verdict(CCS_FAILURE_PORT, "the port went down");
	if (f->event == CCS_FAILED_DEVICE)
		return verdict(CCS_FAILURE_DEVICE, "the device reported a fatal error");
	if (f->event == CCS_FAILED_QP_FATAL)
		return verdict(CCS_FAILURE_DEVICE, "the device reported an error of the queue pair (IBV_EVENT_QP_FATAL)");
	if (f->event == CCS_FAILED_QP_REQ)
		return verdict(CCS_FAILURE_REFUSED, "this host refused a request of the peer as invalid");
	if (f->event == CCS_FAILED_QP_ACCESS)
		return verdict(CCS_FAILURE_REFUSED, "this host refused a request of the peer: memory access");
	if (f->other == CCS_OTHER_FAILED)
		return verdict(CCS_FAILURE_PEER_QP, "the peer's queue pair had failed");
	return verdict(CCS_FAILURE_UNKNOWN, "the cause is not known: the queue pair went to the error state without an "
		       "error of its own requests");
}

struct ccs_verdict ccs_failure_judge(const struct ccs_failure_facts *f)
{
	const unsigned status = f->status >= 0 && f->status < 256 ? (unsigned)f->status : 255;

	switch (status) {
	case 0: case CCS_WC_FLUSH:
		return of_event(f);
	case CCS_WC_RETRY_EXC:
		return of_retries(f);
	case CCS_WC_RNR_RETRY_EXC:
		return verdict(CCS_FAILURE_NO_RECEIVES, "the receiver had no buffers (RNR): its program posts too few "
			       "receives, or too late");
	case CCS_WC_REM_OP: case CCS_WC_REM_ABORT:
		return verdict(CCS_FAILURE_PEER_QP, "the peer's queue pair failed (%s)%s", ccs_wc_status_text(f->status),
			       f->other == CCS_OTHER_FAILED ? ", as the peer's file says" : "");
	case CCS_WC_REM_ACCESS:
		return verdict(CCS_FAILURE_REFUSED, "the peer refused the access: check rkey, address, length and access "
			       "flags of its memory region");
	case CCS_WC_REM_INV_REQ:
		return verdict(CCS_FAILURE_REFUSED, "the peer refused the request as invalid: longer than its receive or "
			       "region, of another path MTU, or not enabled there");
	case CCS_WC_LOC_LEN: case CCS_WC_LOC_QP_OP: case CCS_WC_LOC_PROT: case CCS_WC_MW_BIND: case CCS_WC_LOC_ACCESS:
		return verdict(CCS_FAILURE_LOCAL, "a request of this host is wrong (%s): check lkey, length and buffers "
			       "of its WRs", ccs_wc_status_text(f->status));
	default:
		return unknown(f);
	}
}
