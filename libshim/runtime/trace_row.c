/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/trace_row.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct row {
	char *buf;
	size_t at;
};

static void __attribute__((format(printf, 2, 3))) put(struct row *r, const char *fmt, ...)
{
	const size_t room = CCS_TRACE_ROW_MAX - r->at;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->buf + r->at, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		r->at += (size_t)n < room ? (size_t)n : room - 1;
}

/* "-": none came, where some were wanted. */
static void put_hops(struct row *r, const struct ccs_told *told, unsigned needs)
{
	if (!told->ack.nhops && (needs & CCS_NEEDS_TELEMETRY))
		put(r, "-");
	for (unsigned i = 0; i < told->ack.nhops; i++) {
		const struct ccs_cc_hop *hop = &told->hop[i];

		put(r, "%s%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%.17g", i ? ";" : "", hop->ts_ns,
		    hop->tx_bytes, hop->qlen_bytes, hop->capacity);
	}
}

/* An empty column: it was not there. */
static void put_if(struct row *r, double value)
{
	if (value > 0)
		put(r, ",%.17g", value);
	else
		put(r, ",");
}

static void put_ack(struct row *r, const struct ccs_told *told, unsigned needs)
{
	const struct ccs_cc_ack *ack = &told->ack;

	put(r, "%.17g,%.17g,%" PRIu64 ",%" PRIu64 ",%.17g,%" PRIu32 ",%u,", ack->rtt_us, ack->bytes,
	    ack->ack_seq, ack->snd_nxt, ack->inflight, ack->path, ack->flows);
	put_hops(r, told, needs);
	put_if(r, ack->covers_us);
	put_if(r, ack->advised_rate);
	put_if(r, ack->nic_wait_us);
	put(r, ",");
}

static void put_path(struct row *r, const struct ccs_told *told)
{
	const struct ccs_cc_path *path = &told->path;

	put(r, ",,,,,,,,,,,line_rate=%.17g;base_rtt=%.17g;noise=%.17g;segment=%.17g;flows=%u",
	    path->line_rate, path->base_rtt_us, path->noise_us, path->segment, path->flows);
	if (path->bottleneck_rate > 0)
		put(r, ";bottleneck_rate=%.17g", path->bottleneck_rate);
	if (path->epoch_us != 0)
		put(r, ";epoch=%.17g", path->epoch_us);
	if (isfinite(told->max_rate))
		put(r, ";max_rate=%.17g", told->max_rate);
}

static void put_facts(struct row *r, const struct ccs_told *told, unsigned needs)
{
	switch (told->kind) {
	case CCS_TOLD_START:
	case CCS_TOLD_PATH:
		put_path(r, told);
		break;
	case CCS_TOLD_RATE:
		put(r, ",,,,,,,,,,,rate=%.17g", told->rate);
		break;
	case CCS_TOLD_ACK:
		put_ack(r, told, needs);
		break;
	case CCS_TOLD_SEND:
		put(r, ",%.17g,,,,,,,,,,", told->ack.bytes);
		break;
	default:
		put(r, ",,,,,,,,,,,");
	}
}

/* No word of what is no number: a plug-in may slip. */
static void put_decision(struct row *r, double value)
{
	if (value >= 0)
		put(r, ",%.17g", value);
	else
		put(r, ",");
}

size_t ccs_trace_row(char *buf, uint32_t qp, const struct ccs_cc_ops *ops,
		     const struct ccs_told *told)
{
	struct row r = { .buf = buf };

	if (told->kind == CCS_TOLD_START)
		put(&r, "# QP %" PRIu32 " runs %.200s\n", qp, ops->name); /* of any length */
	put(&r, "%.17g,%s,%" PRIu32 ",", told->ack.now_us, ccs_told_words[told->kind], qp);
	put_facts(&r, told, ops->needs);
	put_decision(&r, told->out.rate);
	put_decision(&r, told->out.window);
	put(&r, ",%.3f\n", (double)told->origin_ns / 1e3 + told->ack.now_us);
	return r.at;
}
