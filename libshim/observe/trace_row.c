/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of the trace. */
#include "observe/trace.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

#define append(row, ...) ccs_append(row, CCS_TRACE_ROW_MAX, __VA_ARGS__)

/* "-": no telemetry, although the algorithm needs it. */
static void append_hops(char *row, const struct ccs_cc_event *event, unsigned needs)
{
	if (!event->ack.nhops && (needs & CCS_NEEDS_TELEMETRY))
		append(row, "-");
	for (unsigned i = 0; i < event->ack.nhops; i++) {
		const struct ccs_cc_hop *hop = &event->hop[i];

		append(row, "%s%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%.17g", i ? ";" : "", hop->ts_ns,
		    hop->tx_bytes, hop->qlen_bytes, hop->capacity);
	}
}

/* The column stays empty without a value. */
static void append_value(char *row, bool given, double value)
{
	if (given)
		append(row, ",%.17g", value);
	else
		append(row, ",");
}

static void append_ack(char *row, const struct ccs_cc_event *event, unsigned needs)
{
	const struct ccs_cc_ack *ack = &event->ack;

	append(row, "%.17g,%.17g,%" PRIu64 ",%" PRIu64 ",%.17g,%" PRIu32 ",%u,", ack->rtt_us, ack->bytes,
	    ack->ack_seq, ack->snd_nxt, ack->inflight, ack->path, ack->flows);
	append_hops(row, event, needs);
	append_value(row, ack->covers_us > 0, ack->covers_us);
	append_value(row, ack->advised_rate > 0, ack->advised_rate);
	append_value(row, ack->nic_wait_us > 0, ack->nic_wait_us);
	append(row, ",");
}

static void append_path(char *row, const struct ccs_cc_event *event)
{
	const struct ccs_cc_path *path = &event->path;

	append(row, ",,,,,,,,,,,line_rate=%.17g;base_rtt=%.17g;rtt_jitter=%.17g;segment=%.17g;flows=%u",
	    path->line_rate, path->base_rtt_us, path->rtt_jitter_us, path->segment, path->flows);
	if (path->bottleneck_rate > 0)
		append(row, ";bottleneck_rate=%.17g", path->bottleneck_rate);
	if (path->payload_share > 0)
		append(row, ";payload_share=%.17g", path->payload_share);
	if (path->epoch_us != 0)
		append(row, ";epoch=%.17g", path->epoch_us);
	if (isfinite(event->max_rate))
		append(row, ";max_rate=%.17g", event->max_rate);
}

static void append_input(char *row, const struct ccs_cc_event *event, unsigned needs)
{
	switch (event->kind) {
	case CCS_CC_EVENT_START:
	case CCS_CC_EVENT_PATH:
		append_path(row, event);
		break;
	case CCS_CC_EVENT_RATE:
		append(row, ",,,,,,,,,,,rate=%.17g", event->rate);
		break;
	case CCS_CC_EVENT_ACK:
		append_ack(row, event, needs);
		break;
	case CCS_CC_EVENT_SEND:
		append(row, ",%.17g,,,,,,,,,,", event->ack.bytes);
		break;
	default:
		append(row, ",,,,,,,,,,,");
	}
}

size_t ccs_trace_row(char *row, pid_t pid, uint32_t qp, const struct ccs_cc_ops *ops,
		     const struct ccs_cc_event *event)
{
	*row = '\0';
	if (event->kind == CCS_CC_EVENT_START) /* the name has any length */
		append(row, "# QP %" PRIu32 " runs %.200s (process %d)\n", qp, ops->name, (int)pid);
	append(row, "%.17g,%s,%" PRIu32 ",", event->ack.now_us, ccs_cc_event_names[event->kind], qp);
	append_input(row, event, ops->needs);
	/* NaN, which a faulty plug-in may produce, is not written. */
	append_value(row, event->out.rate >= 0, event->out.rate);
	append_value(row, event->out.window >= 0, event->out.window);
	append(row, ",%.3f,%d\n", (double)event->origin_ns / 1e3 + event->ack.now_us, (int)pid);
	return strlen(row);
}
