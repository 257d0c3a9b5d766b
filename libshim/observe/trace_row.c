/* SPDX-License-Identifier: BSD-2-Clause */
#include "observe/trace_row.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct row {
	char *buf;
	size_t at;
};

static void __attribute__((format(printf, 2, 3))) append(struct row *r, const char *fmt, ...)
{
	const size_t space = CCS_TRACE_ROW_MAX - r->at;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->buf + r->at, space, fmt, ap);
	va_end(ap);
	if (n > 0)
		r->at += (size_t)n < space ? (size_t)n : space - 1;
}

/* "-": no telemetry, although the algorithm needs it. */
static void append_hops(struct row *r, const struct ccs_cc_event *event, unsigned needs)
{
	if (!event->ack.nhops && (needs & CCS_NEEDS_TELEMETRY))
		append(r, "-");
	for (unsigned i = 0; i < event->ack.nhops; i++) {
		const struct ccs_cc_hop *hop = &event->hop[i];

		append(r, "%s%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%.17g", i ? ";" : "", hop->ts_ns,
		    hop->tx_bytes, hop->qlen_bytes, hop->capacity);
	}
}

/* The column stays empty without a value. */
static void append_value(struct row *r, bool given, double value)
{
	if (given)
		append(r, ",%.17g", value);
	else
		append(r, ",");
}

static void append_ack(struct row *r, const struct ccs_cc_event *event, unsigned needs)
{
	const struct ccs_cc_ack *ack = &event->ack;

	append(r, "%.17g,%.17g,%" PRIu64 ",%" PRIu64 ",%.17g,%" PRIu32 ",%u,", ack->rtt_us, ack->bytes,
	    ack->ack_seq, ack->snd_nxt, ack->inflight, ack->path, ack->flows);
	append_hops(r, event, needs);
	append_value(r, ack->covers_us > 0, ack->covers_us);
	append_value(r, ack->advised_rate > 0, ack->advised_rate);
	append_value(r, ack->nic_wait_us > 0, ack->nic_wait_us);
	append(r, ",");
}

static void append_path(struct row *r, const struct ccs_cc_event *event)
{
	const struct ccs_cc_path *path = &event->path;

	append(r, ",,,,,,,,,,,line_rate=%.17g;base_rtt=%.17g;rtt_jitter=%.17g;segment=%.17g;flows=%u",
	    path->line_rate, path->base_rtt_us, path->rtt_jitter_us, path->segment, path->flows);
	if (path->bottleneck_rate > 0)
		append(r, ";bottleneck_rate=%.17g", path->bottleneck_rate);
	if (path->epoch_us != 0)
		append(r, ";epoch=%.17g", path->epoch_us);
	if (isfinite(event->max_rate))
		append(r, ";max_rate=%.17g", event->max_rate);
}

static void append_input(struct row *r, const struct ccs_cc_event *event, unsigned needs)
{
	switch (event->kind) {
	case CCS_CC_EVENT_START:
	case CCS_CC_EVENT_PATH:
		append_path(r, event);
		break;
	case CCS_CC_EVENT_RATE:
		append(r, ",,,,,,,,,,,rate=%.17g", event->rate);
		break;
	case CCS_CC_EVENT_ACK:
		append_ack(r, event, needs);
		break;
	case CCS_CC_EVENT_SEND:
		append(r, ",%.17g,,,,,,,,,,", event->ack.bytes);
		break;
	default:
		append(r, ",,,,,,,,,,,");
	}
}

size_t ccs_trace_row(char *buf, uint32_t qp, const struct ccs_cc_ops *ops,
		     const struct ccs_cc_event *event)
{
	struct row r = { .buf = buf };

	if (event->kind == CCS_CC_EVENT_START)
		append(&r, "# QP %" PRIu32 " runs %.200s\n", qp, ops->name); /* of any length */
	append(&r, "%.17g,%s,%" PRIu32 ",", event->ack.now_us, ccs_cc_event_names[event->kind], qp);
	append_input(&r, event, ops->needs);
	/* NaN, which a faulty plug-in may produce, is not written. */
	append_value(&r, event->out.rate >= 0, event->out.rate);
	append_value(&r, event->out.window >= 0, event->out.window);
	append(&r, ",%.3f\n", (double)event->origin_ns / 1e3 + event->ack.now_us);
	return r.at;
}
