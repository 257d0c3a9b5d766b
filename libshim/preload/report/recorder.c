/* SPDX-License-Identifier: BSD-2-Clause */
/* The flight recorder; see recorder.h. */
#include "preload/report/recorder.h"

#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/sysfs.h"
#include "config/filename.h"
#include "config/job.h"
#include "observe/failure.h"
#include "observe/log.h"
#include "preload/object/clock.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"
#include "preload/report/publish.h"
#include "preload/report/report.h"

/* Failures within a minute of each other belong together. */
#define TOGETHER_NS 60000000000ull
enum { GROUPS = 16, ENDED = 256, BASE_SAMPLES = 8 };

struct group {
	uint64_t last_ns;
	const struct ctx *ctx;           /* of its first queue pair */
	struct ccs_failure f;
};

static struct {
	pthread_mutex_t lock;            /* innermost */
	struct group group[GROUPS];      /* static: posts and polls do not use malloc() */
	unsigned groups;                 /* so far; older ones are replaced */
	struct ccs_ends ended[ENDED];
	unsigned ends;                   /* the file has the last ENDED of them */
	bool written, unwritable;
	struct ibv_async_event event;    /* the last of a port or device */
	const struct ctx *ctx;           /* its device */
	uint64_t event_ns;               /* its time; 0: no event */
} recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * False: another thread writes the file for long, or this is a signal handler whose thread has the lock.
 * The application must not wait for either.
 */
static bool lock_recorder(void)
{
	sem_t never;

	sem_init(&never, 0, 0);
	for (unsigned steps = 100; pthread_mutex_trylock(&recorder.lock); steps--) {
		if (!steps)
			return false;
		ccs_clock_sem_wait(&never, ccs_now_ns() + 1000000); /* as the pacer thread sleeps */
	}
	return true;
}

static bool has_file(void)
{
	return ccs_shim()->options.failures[0];
}

static bool write_document(FILE *file)
{
	struct ccs_json j;

	ccs_failure_json_start(&j, file, program_invocation_short_name, (uint64_t)getpid(), ccs_job());
	for (unsigned i = 0; i < GROUPS && i < recorder.groups; i++)
		ccs_failure_json(&j, &recorder.group[i].f);
	ccs_json_end(&j);
	ccs_json_array(&j, "ended");
	for (unsigned i = 0; i < recorder.ends && i < ENDED; i++)
		ccs_failure_json_end(&j, &recorder.ended[i]);
	return ccs_json_finish(&j);
}

static void write_file(void)
{
	if (!has_file() || recorder.unwritable)
		return;
	recorder.unwritable = !ccs_report_to_file("failures", ccs_shim()->options.failures, write_document,
						  recorder.written);
	recorder.written = true;
}

/* -- a failure --------------------------------------------------------------------------------- */

/* The source port that the kernel derives for mlx5 and rxe (rdma_get_udp_sport()). */
static uint16_t udp_port(const struct qp *qp)
{
	uint64_t label = qp->attr.flow_label, v = (uint64_t)qp->qp_num * qp->peer.qpn;

	v ^= v >> 20;
	v ^= v >> 40;
	label = label ? label : v & 0xfffff;
	return (uint16_t)(((label & 0x3fff) ^ (label & 0xfc000) >> 14) | 0xc000);
}

/* Without the option no file is opened: a sandbox may forbid it. The address is in a table of the kernel. */
static void set_ends(const struct qp *qp, struct ccs_ends *e)
{
	union ibv_gid local;

	e->time = ccs_document_now();
	e->lqpn = qp->qp_num;
	e->rqpn = qp->peer.qpn;
	memcpy(e->peer, qp->peer.gid, sizeof(e->peer));
	if (has_file() && ccs_gid_is_set(e->peer) &&
	    !ccs_real()->ibv_query_gid(qp->ctx->context, qp->attr.port, qp->attr.sgid_index, &local))
		memcpy(e->local, local.raw, sizeof(e->local));
}

/* Not ibv_query_port(): a device that is gone would hold up the thread, which has locks. */
static bool is_port_down(const struct qp *qp)
{
	char name[IF_NAMESIZE + 1], state[16];

	return ccs_sysfs_netdev("/sys", qp->ctx->device, qp->attr.port, name) &&
	       ccs_sysfs_read_line(ccs_sysfs_open("/sys", "net/%s/operstate", name), state, sizeof(state)) &&
	       (strcmp(state, "down") == 0 || strcmp(state, "lowerlayerdown") == 0);
}

static void add_event(const struct qp *qp, struct ccs_failure_facts *facts, uint64_t now_ns)
{
	if (facts->event > 0 || !recorder.event_ns || recorder.event_ns + TOGETHER_NS < now_ns ||
	    recorder.ctx != qp->ctx)
		return;
	if (recorder.event.event_type == IBV_EVENT_DEVICE_FATAL ||
	    recorder.event.element.port_num == qp->attr.port)
		facts->event = recorder.event.event_type + 1;
}

/*
 * A port or device that goes down may flush queue pairs just before that can be seen. So the first of these is
 * judged again when others fail.
 */
static void explain_flushes(const struct qp *qp, uint64_t now_ns)
{
	for (unsigned i = 0; i < GROUPS && i < recorder.groups; i++) {
		struct group *g = &recorder.group[i];

		if (g->ctx != qp->ctx || g->f.verdict.cause != CCS_FAILURE_UNKNOWN ||
		    g->f.facts.status != IBV_WC_WR_FLUSH_ERR || g->last_ns + TOGETHER_NS < now_ns)
			continue;
		g->f.facts.port_down = has_file() && is_port_down(qp);
		add_event(qp, &g->f.facts, now_ns);
		ccs_failure_judge(&g->f.facts, &g->f.verdict);
	}
}

/* Not inlined, so that its frame is not on the stack of the verdict. */
static __attribute__((noinline)) void collect(struct qp *qp, struct ccs_failure *f, uint64_t now_ns)
{
	const struct ccs_stats_header *file = ccs_stats_file();
	const uint64_t history = file ? ccs_stats_load(&file->history_offset) : 0;
	struct ccs_stats_layout l = { .file = qp->stats, .slot_size = history + sizeof(f->qp[0].history),
				      .slots = 1 };

	ccs_publish_collect(qp, now_ns, &f->qp[0].q);
	f->qp[0].condition = CCS_QP_FAILED;
	f->qps = 1;
	if (qp->attr.timeout)
		f->facts.retry_us = 4.096 * (double)(1ull << (qp->attr.timeout & 31)) * (1 + qp->attr.retry_cnt);
	f->udp_port = ccs_gid_is_set(qp->peer.gid) ? udp_port(qp) : 0;
	f->facts.port_down = has_file() && is_port_down(qp);
	add_event(qp, &f->facts, now_ns);
	if (qp->stats)
		f->qp[0].moments = ccs_stats_read_history(&l, history, 0, f->qp[0].history);
	if (qp->flow.user.base_rtt || qp->flow.learned.base_samples >= BASE_SAMPLES)
		f->facts.base_rtt_us = (double)f->qp[0].q.base_rtt_ns / 1e3;
	/* On a path that is congested for long, the flow may have replaced its base RTT by a longer one. */
	if (f->facts.base_rtt_us > 0 && qp->stats && (double)qp->stats->rtt.min_ns < 1e3 * f->facts.base_rtt_us)
		f->facts.base_rtt_us = (double)qp->stats->rtt.min_ns / 1e3;
	ccs_failure_own_facts(f, now_ns);
	for (unsigned i = 0; ccs_stats_part(i, &l); i++)
		ccs_failure_add_others(f, &l, history, now_ns);
}

static bool is_of_all_peers(const struct ccs_failure *f)
{
	return f->verdict.cause == CCS_FAILURE_PORT || f->verdict.cause == CCS_FAILURE_HOST ||
	       (f->verdict.cause == CCS_FAILURE_DEVICE && f->facts.event == CCS_FAILED_DEVICE);
}

/* A failure of the same cause, which was reported. */
static struct group *find_group(const struct qp *qp, unsigned status, uint64_t now_ns)
{
	for (unsigned i = 0; i < GROUPS && i < recorder.groups; i++) {
		struct group *g = &recorder.group[i];
		const bool same = memcmp(g->f.qp[0].q.peer_gid, qp->peer.gid, sizeof(qp->peer.gid)) == 0 &&
				  (status == g->f.facts.status || !status || status == IBV_WC_WR_FLUSH_ERR);

		if (g->last_ns + TOGETHER_NS >= now_ns && (same || is_of_all_peers(&g->f)))
			return g;
	}
	return NULL;
}

static void log_failure(const struct qp *qp, const struct ccs_failure *f)
{
	/* Not on a thread's small stack; the lock is held. */
	static char name[CCS_FILENAME_MAX], peer[INET6_ADDRSTRLEN];

	ccs_filename_expand(ccs_shim()->options.failures, ccs_job(), name, sizeof(name));
	ccs_log(CCS_LOG_WARN, "QP %u to %s, QP %u, failed: %s, vendor_err %#x: %s%s%s", qp->qp_num,
		ccs_gid_text(qp->peer.gid, peer), qp->peer.qpn, ccs_wc_status_text(f->facts.status),
		(unsigned)f->facts.vendor_err, f->verdict.text, *name ? "; see " : "", name);
}

static void record(struct qp *qp, const struct ibv_wc *wc, unsigned event, uint64_t now_ns)
{
	struct group *g = find_group(qp, wc ? wc->status : 0, now_ns);
	struct ccs_failure *f;

	if (g) {
		g->last_ns = now_ns;
		g->f.more++;
		if (g->f.more & (g->f.more - 1))
			return; /* written at exit */
		explain_flushes(qp, now_ns);
		write_file();
		return;
	}
	g = &recorder.group[recorder.groups++ % GROUPS];
	f = &g->f;
	memset(g, 0, sizeof(*g));
	g->last_ns = now_ns;
	g->ctx = qp->ctx;
	set_ends(qp, &f->ends);
	f->facts.event = event;
	if (wc) {
		f->opcode = wc->opcode;
		f->facts.status = wc->status;
		f->facts.vendor_err = wc->vendor_err;
	}
	collect(qp, f, now_ns);
	ccs_failure_judge(&f->facts, &f->verdict);
	explain_flushes(qp, now_ns);
	log_failure(qp, f);
	write_file();
}

void ccs_recorder_failed(struct qp *qp, const struct ibv_wc *wc, unsigned event)
{
	const bool wanted = qp->dead || qp->failure.ending || qp->state == IBV_QPS_ERR;
	struct ccs_saved saved;

	if (qp->failure.failed_ns || ccs_forked() || (wanted && wc && wc->status == IBV_WC_WR_FLUSH_ERR))
		return;
	saved = ccs_save();
	qp->failure.failed_ns = ccs_now_ns();
	qp->failure.status = wc ? (uint8_t)wc->status : 0;
	qp->failure.event = (uint8_t)event;
	if (qp->stats) {                 /* ccs_publish() needs more of the stack */
		ccs_stats_set(&qp->stats->qp.failed_status, qp->failure.status);
		ccs_stats_set(&qp->stats->qp.failed_event, event);
		ccs_stats_set(&qp->stats->qp.failed_ns, qp->failure.failed_ns);
	}
	if (lock_recorder()) {
		record(qp, wc, event, qp->failure.failed_ns);
		pthread_mutex_unlock(&recorder.lock);
	}
	ccs_done(saved, 0);
}

void ccs_recorder_event(struct ibv_context *context, const struct ibv_async_event *event)
{
	struct qp *qp;

	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL: case IBV_EVENT_QP_REQ_ERR: case IBV_EVENT_QP_ACCESS_ERR:
		qp = ccs_ptrmap_get(&ccs_shim()->qps, event->element.qp);
		if (!qp)
			break;
		ccs_lock(&qp->lock);
		ccs_recorder_failed(qp, NULL, event->event_type + 1);
		ccs_unlock(&qp->lock);
		break;
	case IBV_EVENT_PORT_ERR: case IBV_EVENT_DEVICE_FATAL:
		if (!lock_recorder())
			break;
		recorder.event = *event;
		recorder.ctx = ccs_context_find(context);
		recorder.event_ns = ccs_now_ns();
		pthread_mutex_unlock(&recorder.lock);
		break;
	default:
		break;
	}
}

/* -- the ends of queue pairs ------------------------------------------------------------------- */

static void add_ended(const struct ccs_ends *e)
{
	if (!lock_recorder())
		return;
	recorder.ended[recorder.ends++ % ENDED] = *e;
	pthread_mutex_unlock(&recorder.lock);
}

void ccs_recorder_ended(struct qp *qp, const char *how)
{
	struct ccs_ends e = { .how = how };

	if (!has_file() || !qp->peer.qpn || qp->failure.failed_ns || qp->failure.ending)
		return;
	set_ends(qp, &e);
	add_ended(&e);
}

static void add_live(const struct ccs_stats_layout *l, uint64_t slot)
{
	struct ccs_ends e = { .how = "exit", .time = ccs_document_now() };
	struct ccs_stats_qp q;

	if (!ccs_stats_read_qp(l, slot, &q) || !q.created_ns || !q.peer_qpn || q.failed_ns)
		return;
	e.lqpn = q.lqpn;
	e.rqpn = q.peer_qpn;
	memcpy(e.peer, q.peer_gid, sizeof(e.peer));
	add_ended(&e);
}

void ccs_recorder_finish(void)
{
	struct ccs_stats_layout l;

	if (!has_file())
		return;
	for (unsigned i = 0; ccs_stats_part(i, &l); i++)
		for (uint64_t slot = 0; slot < l.slots; slot++)
			add_live(&l, slot);
	if (!lock_recorder())
		return;
	if (recorder.groups || recorder.ends)
		write_file();
	pthread_mutex_unlock(&recorder.lock);
}
