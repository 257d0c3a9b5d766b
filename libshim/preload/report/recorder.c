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
	bool all_peers;
	struct ccs_failure f;
};

struct ended {
	uint32_t lqpn, rqpn;
	uint8_t peer[16], local[16];
	double time;
	const char *how;
};

static struct {
	pthread_mutex_t lock;            /* innermost */
	struct group group[GROUPS];      /* static: posts and polls do not use malloc() */
	unsigned groups;                 /* so far; older ones are replaced */
	struct ended ended[ENDED];
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
	unsigned steps = 100;
	sem_t never;

	while (pthread_mutex_trylock(&recorder.lock)) {
		if (!steps--)
			return false;
		if (!sem_init(&never, 0, 0)) /* by the system call that the pacer thread sleeps with */
			ccs_clock_sem_wait(&never, ccs_now_ns() + 1000000);
	}
	return true;
}

static bool has_file(void)
{
	return ccs_shim()->options.failures[0];
}

/* -- the file ---------------------------------------------------------------------------------- */

static void write_ended(struct ccs_json *j, const struct ended *e)
{
	char text[INET6_ADDRSTRLEN];

	ccs_json_object(j, NULL);
	ccs_json_num(j, "time", e->time);
	ccs_json_str(j, "how", e->how);
	ccs_json_uint(j, "lqpn", e->lqpn);
	ccs_json_uint(j, "rqpn", e->rqpn);
	ccs_json_str(j, "peer", ccs_gid_text(e->peer, text));
	if (ccs_gid_is_set(e->local))
		ccs_json_str(j, "local", ccs_gid_text(e->local, text));
	ccs_json_end(j);
}

static bool write_document(FILE *file)
{
	const int64_t unix_ns = (int64_t)(ccs_clock_ns(CLOCK_REALTIME) - ccs_now_ns());
	struct ccs_json j;

	ccs_json_start(&j, file);
	ccs_json_object(&j, NULL);
	ccs_document_head(&j, ccs_document_now());
	ccs_json_str(&j, "program", program_invocation_short_name);
	ccs_json_uint(&j, "pid", (uint64_t)getpid());
	ccs_job_json(&j, ccs_job());
	ccs_json_array(&j, "failures");
	for (unsigned i = 0; i < GROUPS && i < recorder.groups; i++)
		ccs_failure_json(&j, &recorder.group[i].f, unix_ns);
	ccs_json_end(&j);
	ccs_json_array(&j, "ended");
	for (unsigned i = 0; i < recorder.ends && i < ENDED; i++)
		write_ended(&j, &recorder.ended[i]);
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

/* From a table of the kernel. */
static void query_local_gid(const struct qp *qp, uint8_t gid[16])
{
	union ibv_gid local;

	if (ccs_gid_is_set(qp->peer.gid) &&
	    !ccs_real()->ibv_query_gid(qp->ctx->context, qp->attr.port, qp->attr.sgid_index, &local))
		memcpy(gid, local.raw, sizeof(local.raw));
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
	if (has_file()) { /* without the option no file is opened: a sandbox may forbid it */
		query_local_gid(qp, f->local_gid);
		f->facts.port_down = is_port_down(qp);
	}
	add_event(qp, &f->facts, now_ns);
	if (qp->stats)
		f->qp[0].moments = ccs_stats_read_history(&l, history, 0, f->qp[0].history);
	if (qp->flow.user.base_rtt || qp->flow.learned.base_samples >= BASE_SAMPLES)
		f->facts.base_rtt_us = (double)f->qp[0].q.base_rtt_ns / 1e3;
	ccs_failure_own_facts(f, now_ns);
	for (unsigned i = 0; ccs_stats_part(i, &l); i++)
		ccs_failure_add_others(f, &l, history, now_ns);
}

/* A failure of the same cause, which was reported. */
static struct group *find_group(const struct qp *qp, unsigned status, uint64_t now_ns)
{
	for (unsigned i = 0; i < GROUPS && i < recorder.groups; i++) {
		struct group *g = &recorder.group[i];
		const bool same = memcmp(g->f.qp[0].q.peer_gid, qp->peer.gid, sizeof(qp->peer.gid)) == 0 &&
				  (status == g->f.facts.status || !status || status == IBV_WC_WR_FLUSH_ERR);

		if (g->last_ns + TOGETHER_NS >= now_ns && (same || g->all_peers))
			return g;
	}
	return NULL;
}

static bool is_of_all_peers(const struct ccs_failure *f)
{
	return f->verdict.cause == CCS_FAILURE_PORT || f->verdict.cause == CCS_FAILURE_HOST ||
	       (f->verdict.cause == CCS_FAILURE_DEVICE && f->facts.event == CCS_FAILED_DEVICE);
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
		if ((g->f.more & (g->f.more - 1)) == 0)
			write_file(); /* at exit again */
		return;
	}
	g = &recorder.group[recorder.groups % GROUPS];
	f = &g->f;
	memset(g, 0, sizeof(*g));
	g->last_ns = now_ns;
	f->time = ccs_document_now();
	f->opcode = wc ? wc->opcode : 0;
	f->facts.status = wc ? wc->status : 0;
	f->facts.vendor_err = wc ? wc->vendor_err : 0;
	f->facts.event = event;
	collect(qp, f, now_ns);
	ccs_failure_judge(&f->facts, &f->verdict);
	g->all_peers = is_of_all_peers(f);
	recorder.groups++;
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

static void handle_qp_event(const struct ibv_async_event *event)
{
	struct qp *qp = ccs_ptrmap_get(&ccs_shim()->qps, event->element.qp);

	if (!qp)
		return;
	ccs_lock(&qp->lock);
	ccs_recorder_failed(qp, NULL, event->event_type + 1);
	ccs_unlock(&qp->lock);
}

void ccs_recorder_event(struct ibv_context *context, const struct ibv_async_event *event)
{
	const struct ctx *ctx = ccs_context_find(context);

	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL: case IBV_EVENT_QP_REQ_ERR: case IBV_EVENT_QP_ACCESS_ERR:
		handle_qp_event(event);
		break;
	case IBV_EVENT_PORT_ERR: case IBV_EVENT_DEVICE_FATAL:
		if (!lock_recorder())
			break;
		recorder.event = *event;
		recorder.ctx = ctx;
		recorder.event_ns = ccs_now_ns();
		pthread_mutex_unlock(&recorder.lock);
		break;
	default:
		break;
	}
}

/* -- the ends of queue pairs ------------------------------------------------------------------- */

static void add_ended(const struct ended *e)
{
	if (!lock_recorder())
		return;
	recorder.ended[recorder.ends++ % ENDED] = *e;
	pthread_mutex_unlock(&recorder.lock);
}

void ccs_recorder_ended(struct qp *qp, const char *how)
{
	struct ended e = { .lqpn = qp->qp_num, .rqpn = qp->peer.qpn, .time = ccs_document_now(), .how = how };

	if (!has_file() || !qp->peer.qpn || qp->failure.failed_ns || qp->failure.ending)
		return;
	memcpy(e.peer, qp->peer.gid, sizeof(e.peer));
	query_local_gid(qp, e.local);
	add_ended(&e);
}

static void add_live(const struct ccs_stats_layout *l)
{
	struct ccs_stats_qp q;

	for (uint64_t i = 0; i < l->slots; i++) {
		struct ended e = { .time = ccs_document_now(), .how = "exit" };

		if (!ccs_stats_read_qp(l, i, &q) || !q.created_ns || !q.peer_qpn || q.failed_ns)
			continue;
		e.lqpn = (uint32_t)q.lqpn;
		e.rqpn = (uint32_t)q.peer_qpn;
		memcpy(e.peer, q.peer_gid, sizeof(e.peer));
		add_ended(&e);
	}
}

void ccs_recorder_finish(void)
{
	struct ccs_stats_layout l;

	if (!has_file())
		return;
	for (unsigned i = 0; ccs_stats_part(i, &l); i++)
		add_live(&l);
	if (!lock_recorder())
		return;
	if (recorder.groups || recorder.ends)
		write_file();
	pthread_mutex_unlock(&recorder.lock);
}
