/* SPDX-License-Identifier: BSD-2-Clause */
#include "observe/stats_fields.h"

#include <math.h>

#include "base/address.h"

#define FIELD(member) .offset = offsetof(struct ccs_stats_qp, member)
#define COUNTER(member) FIELD(member), .counter = true

const struct ccs_stats_field ccs_stats_fields[] = {
	{ "bytes", "completed_bytes_total", "Payload bytes of segments completed with success.",
	  COUNTER(bytes) },
	{ "wrs", "completed_requests_total", "Work requests completed with success.",
	  COUNTER(completions) },
	{ "segments", "completed_segments_total", "Segments completed with success.", COUNTER(segments) },
	{ "wrs_posted", "posted_requests_total", "Work requests posted by the application.",
	  COUNTER(posts) },
	{ "sent_bytes", "sent_bytes_total", "Payload bytes handed to the device.", COUNTER(sent) },
	{ "wrs_deferred", "deferred_requests_total", "Work requests that had to wait.",
	  COUNTER(deferred) },
	{ "completions_internal", "internal_completions_total",
	  "Completions that the application did not request.", COUNTER(internal_completions) },
	{ "gated_us", "gated_seconds_total", "Time with a work request waiting at the gate.",
	  COUNTER(gated_ns), .unit = CCS_FIELD_TIME },
	{ "rtt_samples", "rtt_samples_total", "Round-trip times passed to the algorithm.",
	  COUNTER(samples) },
	{ "rp_cnp_handled", "rp_cnp_handled_total", "Congestion notification packets for the queue pair.",
	  COUNTER(cnps) },
	{ "losses", "losses_total", "Losses detected, by timeout.", COUNTER(losses) },
	{ "switches", "algorithm_switches_total", "Changes to another algorithm and back.",
	  COUNTER(switches) },
	{ "rate_bps", "rate_bytes_per_second", "Current rate, at most the line rate.",
	  FIELD(rate), .unit = CCS_FIELD_RATE },
	{ "rate_min_bps", "rate_lowest_bytes_per_second", "Lowest rate so far.",
	  FIELD(min_rate), .unit = CCS_FIELD_RATE },
	{ "rate_max_bps", "rate_highest_bytes_per_second", "Highest rate so far.",
	  FIELD(max_rate), .unit = CCS_FIELD_RATE },
	{ "line_rate_bps", "line_rate_bytes_per_second", "Line rate of the port.",
	  FIELD(line_rate), .unit = CCS_FIELD_RATE },
	{ "tenant_cap_bps", "tenant_cap_bytes_per_second",
	  "The cap of its tenant, for all its queue pairs together; 0: no cap is in force.", FIELD(tenant_cap), .unit = CCS_FIELD_RATE },
	{ "window_bytes", "window_bytes", "Current limit on bytes in flight.", FIELD(window) },
	{ "max_inflight_bytes", "max_inflight_bytes", "Upper bound on bytes in flight.", FIELD(max_inflight) },
	{ "segment_bytes", "segment_bytes", "Segment size.", FIELD(segment) },
	{ "inflight_bytes", "inflight_bytes", "Bytes in flight.", FIELD(inflight) },
	{ "queued_bytes", "queued_bytes", "Bytes waiting to be sent.", FIELD(queued_bytes) },
	{ "wrs_queued", "queued_requests", "Work requests waiting to be sent.", FIELD(queued) },
	{ "base_rtt_us", "base_rtt_seconds", "Unloaded round-trip time.", FIELD(base_rtt_ns),
	  .unit = CCS_FIELD_TIME },
	{ "u", "utilisation_ratio", "Utilisation of the busiest link, as computed by HPCC.",
	  FIELD(utilisation), .unit = CCS_FIELD_RATIO },
};

const size_t ccs_stats_field_count = sizeof(ccs_stats_fields) / sizeof(*ccs_stats_fields);

static double field_value(const struct ccs_stats_qp *qp, const struct ccs_stats_field *f)
{
	uint64_t word;
	double ratio;

	memcpy(&word, (const char *)qp + f->offset, sizeof(word));
	memcpy(&ratio, &word, sizeof(ratio));
	return f->unit == CCS_FIELD_RATIO ? ratio : (double)word;
}

double ccs_stats_field_json(const struct ccs_stats_qp *qp, const struct ccs_stats_field *f)
{
	return field_value(qp, f) / (f->unit == CCS_FIELD_TIME ? 1e3 : 1);
}

double ccs_stats_field_metric(const struct ccs_stats_qp *qp, const struct ccs_stats_field *f)
{
	static const double unit[] = { [CCS_FIELD_COUNT] = 1, [CCS_FIELD_TIME] = 1e9,
				       [CCS_FIELD_RATE] = 8, [CCS_FIELD_RATIO] = 1 };

	return field_value(qp, f) / unit[f->unit];
}

/* Integers are written exactly, whatever their size. */
static void write_field(struct ccs_json *j, const struct ccs_stats_qp *qp,
			const struct ccs_stats_field *f)
{
	uint64_t word;

	memcpy(&word, (const char *)qp + f->offset, sizeof(word));
	if (f->unit == CCS_FIELD_COUNT || f->unit == CCS_FIELD_RATE)
		ccs_json_uint(j, f->name, word);
	else
		ccs_json_num(j, f->name, ccs_stats_field_json(qp, f));
}

static void write_telemetry(struct ccs_json *j, const struct ccs_stats_qp *qp, uint64_t now_ns)
{
	ccs_json_object(j, "telemetry");
	ccs_json_num(j, "age_us", (double)(int64_t)(now_ns - qp->telemetry_ns) / 1e3);
	ccs_json_uint(j, "flows", qp->flows);
	ccs_json_array(j, "hops");
	for (uint64_t i = 0; i < qp->nhops && i < CCS_STATS_MAX_HOPS; i++) {
		const struct ccs_stats_hop *hop = &qp->hop[i];

		ccs_json_object(j, NULL);
		ccs_json_uint(j, "link", hop->link);
		ccs_json_uint(j, "capacity_bps", hop->capacity);
		ccs_json_uint(j, "rate_bps", hop->rate);
		ccs_json_uint(j, "queue_bytes", hop->queue_bytes);
		ccs_json_end(j);
	}
	ccs_json_end(j);
	ccs_json_end(j);
}

static void write_peer(struct ccs_json *j, const struct ccs_stats_qp *qp)
{
	char text[INET6_ADDRSTRLEN];
	const char *peer = ccs_gid_text(qp->peer_gid, text);

	if (qp->peer_qpn)
		ccs_json_uint(j, "rqpn", qp->peer_qpn);
	if (peer == text)
		ccs_json_str(j, "peer", peer);
}

void ccs_stats_json_qp(struct ccs_json *j, const struct ccs_stats_qp *qp, uint64_t now_ns)
{
	ccs_json_str(j, "ifname", qp->device);
	ccs_json_uint(j, "port", qp->port);
	ccs_json_uint(j, "lqpn", qp->lqpn);
	write_peer(j, qp);
	ccs_json_str(j, "cc", qp->cc);
	ccs_json_str(j, "variant", *qp->variant ? qp->variant : NULL);
	ccs_json_bool(j, "enforced", qp->enforced);
	if (*qp->uncontrolled)
		ccs_json_str(j, "pass", qp->uncontrolled);
	ccs_json_str(j, "feedback", qp->feedback);
	if (*qp->control)
		ccs_json_str(j, "control", qp->control);
	for (size_t i = 0; i < ccs_stats_field_count; i++)
		write_field(j, qp, &ccs_stats_fields[i]);
	if (qp->telemetry_ns)
		write_telemetry(j, qp, now_ns);
}

double ccs_stats_percentile(const struct ccs_stats_rtt *rtt, double q)
{
	uint64_t sum = 0, seen = 0, rank;
	unsigned i = 0;
	double ns;

	for (unsigned b = 0; b < CCS_STATS_RTT_BUCKETS; b++)
		sum += rtt->bucket[b];
	if (!sum)
		return 0;
	rank = (uint64_t)ceil(q * (double)sum);
	while (i + 1 < CCS_STATS_RTT_BUCKETS && (seen += rtt->bucket[i]) < rank)
		i++;
	ns = ((double)ccs_stats_bucket_ns(i) + (double)ccs_stats_bucket_ns(i + 1)) / 2;
	return fmin(fmax(ns, (double)rtt->min_ns), rtt->max_ns ? (double)rtt->max_ns : ns);
}
