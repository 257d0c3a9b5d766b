/* SPDX-License-Identifier: BSD-2-Clause */
/* Failures as JSON. */
#include "observe/failure.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/json.h"
#include "config/job.h"
#include "observe/stats_fields.h"

static const char *const conditions[] = {
	[CCS_QP_IDLE] = "idle", [CCS_QP_HEALTHY] = "healthy", [CCS_QP_UNANSWERED] = "unanswered", [CCS_QP_FAILED] = "failed",
};

void ccs_failure_json_start(struct ccs_json *j, FILE *f, const char *program, uint64_t pid,
			    const struct ccs_job *job)
{
	ccs_document_start(j, f, ccs_document_now());
	ccs_json_str(j, "program", program);
	ccs_json_uint(j, "pid", pid);
	ccs_job_json(j, job);
	ccs_json_array(j, "failures");
}

/* The two ends of a connection; an unknown local address is left out. */
static void write_ends(struct ccs_json *j, const struct ccs_ends *e)
{
	char text[INET6_ADDRSTRLEN];

	ccs_json_num(j, "time", e->time);
	ccs_json_uint(j, "lqpn", e->lqpn);
	ccs_json_uint(j, "rqpn", e->rqpn);
	ccs_json_str(j, "peer", ccs_gid_text(e->peer, text));
	if (ccs_gid_is_set(e->local))
		ccs_json_str(j, "local", ccs_gid_text(e->local, text));
}

void ccs_failure_json_end(struct ccs_json *j, const struct ccs_ends *e)
{
	ccs_json_object(j, NULL);
	ccs_json_str(j, "how", e->how);
	write_ends(j, e);
	ccs_json_end(j);
}

static void write_moment(struct ccs_json *j, const struct ccs_stats_moment *m, int64_t unix_ns)
{
	ccs_json_object(j, NULL);
	ccs_json_num(j, "time", (double)((int64_t)m->time_ns + unix_ns) / 1e9);
	ccs_json_uint(j, "segments", m->segments);
	ccs_json_num(j, "rtt_us", m->rtt_ns / 1e3);
	ccs_json_num(j, "rate_bps", 1e3 * m->rate_kbps);
	if (m->advised_kbps)
		ccs_json_num(j, "advised_bps", 1e3 * m->advised_kbps);
	ccs_json_uint(j, "window_bytes", m->window);
	ccs_json_uint(j, "inflight_bytes", m->inflight);
	ccs_json_uint(j, "gated_us", m->gated_us);
	ccs_json_uint(j, "rp_cnp_handled", m->cnps);
	ccs_json_uint(j, "losses", m->losses);
	ccs_json_end(j);
}

void ccs_failure_json_qp(struct ccs_json *j, const struct ccs_failure_qp *qp)
{
	/* Time since 1970 less CLOCK_MONOTONIC. */
	const int64_t unix_ns = (int64_t)(ccs_clock_ns(CLOCK_REALTIME) - ccs_clock_ns(CLOCK_MONOTONIC));

	ccs_json_object(j, NULL);
	ccs_json_str(j, "condition", conditions[qp->condition]);
	if (qp->q.failed_ns) {
		ccs_json_num(j, "failed_time", (double)((int64_t)qp->q.failed_ns + unix_ns) / 1e9);
		ccs_json_uint(j, "failed_status", qp->q.failed_status);
	}
	ccs_stats_json_qp(j, &qp->q, qp->q.updated_ns);
	ccs_json_array(j, "history");
	for (unsigned i = 0; i < qp->moments; i++)
		write_moment(j, &qp->history[i], unix_ns);
	ccs_json_end(j);
	ccs_json_end(j);
}

void ccs_failure_json(struct ccs_json *j, const struct ccs_failure *f)
{
	ccs_json_object(j, NULL);
	write_ends(j, &f->ends);
	ccs_json_str(j, "cause", ccs_failure_names[f->verdict.cause]);
	ccs_json_str(j, "verdict", f->verdict.text);
	ccs_json_uint(j, "more", f->more);
	if (f->udp_port)
		ccs_json_uint(j, "udp_source_port", f->udp_port);
	ccs_json_str(j, "status_text", ccs_wc_status_text(f->facts.status));
	ccs_json_uint(j, "opcode", f->opcode);
	ccs_json_object(j, "facts");
#define WRITE(name) ccs_json_num(j, #name, f->facts.name);
	CCS_FAILURE_FACTS(WRITE)
#undef WRITE
	ccs_json_end(j);
	ccs_json_array(j, "qps");
	for (unsigned i = 0; i < f->qps; i++)
		ccs_failure_json_qp(j, &f->qp[i]);
	ccs_json_end(j);
	ccs_json_end(j);
}
