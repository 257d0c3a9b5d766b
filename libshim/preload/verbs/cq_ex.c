/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extended CQs. An application polls such a CQ in batches, from ibv_start_poll() to ibv_end_poll().
 * The poll functions are members of struct ibv_cq_ex, and the shim replaces them when the CQ is
 * created. A batch merges the real CQ with the ready completions of the shadow CQs. The real CQ's
 * batch is nested in ours. Providers hold a lock during it, so it is opened by the first poll of
 * the real CQ. It is closed when the CQ is empty, because some providers cannot poll again then.
 */
#include "preload/verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pool.h"
#include "preload/cq/cq.h"
#include "preload/datapath/complete.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/datapath/poll.h"
#include "preload/object/provider.h"
#include "preload/object/shim.h"

/* The fields of a completion: type, name, where our record has it. */
#define READERS(X) \
	X(enum ibv_wc_opcode, opcode, wc.opcode) \
	READERS_AT_FAILURE(X)
/* The fields that are also valid in a failed completion. */
#define READERS_AT_FAILURE(X) \
	X(uint32_t, vendor_err, wc.vendor_err) \
	X(uint32_t, byte_len, wc.byte_len) \
	X(__be32, imm_data, wc.imm_data) \
	X(uint32_t, qp_num, wc.qp_num) \
	X(uint32_t, src_qp, wc.src_qp) \
	X(unsigned int, wc_flags, wc.wc_flags) \
	X(uint32_t, slid, wc.slid) \
	X(uint8_t, sl, wc.sl) \
	X(uint8_t, dlid_path_bits, wc.dlid_path_bits) \
	X(uint64_t, completion_ts, more.completion_ts) \
	X(__be16, cvlan, more.cvlan) \
	X(uint32_t, flow_tag, more.flow_tag) \
	X(uint64_t, completion_wallclock_ns, more.completion_wallclock_ns)

struct real_ops {
	int (*start_poll)(struct ibv_cq_ex *, struct ibv_poll_cq_attr *);
	int (*next_poll)(struct ibv_cq_ex *);
	void (*end_poll)(struct ibv_cq_ex *);
	void (*read_tm_info)(struct ibv_cq_ex *, struct ibv_wc_tm_info *);
#define MEMBER(type, name, from) type (*read_##name)(struct ibv_cq_ex *);
	READERS(MEMBER)
#undef MEMBER
};

struct cq_ex {
	struct ibv_cq_ex *app;
	struct real_ops real;
	/* Members of the current batch; cq->batch_lock guards them. */
	bool open;                       /* the real CQ's batch has begun */
	bool ready_first;                /* poll the ready completions before the real CQ */
	int run;                         /* completions taken from the present source */
	bool spinning;                   /* the application was polling in a loop */
	bool exhausted;                  /* the last poll found both sources empty */
	uint64_t empty_ns;               /* time of that poll, or unknown */
	bool is_poll;                    /* ibv_poll_cq() began it */
	bool ours;                       /* the current completion is wc and more below */
	struct ibv_wc wc;
	struct wc_more more;
};

static struct cq *cq_of(struct ibv_cq_ex *ex)
{
	return ccs_cq_find(ibv_cq_ex_to_cq(ex));
}

/* hns calls the readers while it polls. They must read the device's completion by then. */
static int next_real(struct cq_ex *e, struct ibv_poll_cq_attr *attr)
{
	int rc;

	e->ours = false;
	rc = e->open ? e->real.next_poll(e->app) : e->real.start_poll(e->app, attr);
	if (rc && e->open)
		e->real.end_poll(e->app);
	e->open = !rc;
	if (e->open)
		atomic_store_explicit(&cq_of(e->app)->events.app_completed, true, memory_order_relaxed);
	return rc;
}

/* The oldest ready completion becomes the batch's current one. cq->lock is held. */
static void show_oldest(struct cq *cq)
{
	struct cq_ex *e = cq->ex;

	e->more = cq->ready.more[ccs_cq_pop_one(cq, &e->wc)];
	if (!e->wc.status && e->wc.opcode < IBV_WC_RECV && cq->ctx->provider->hides_sent_imm &&
	    !e->is_poll)
		e->wc.wc_flags &= ~(unsigned int)IBV_WC_WITH_IMM;
	e->ours = true;
	e->app->wr_id = e->wc.wr_id;
	e->app->status = e->wc.status;
}

/* Show the oldest ready completion. Returns 0, ENOENT, or EINVAL: the CQ has failed. */
static int next_ready(struct cq *cq)
{
	struct cq_ex *e = cq->ex;
	int rc = 0;

	if (ccs_cq_is_plain(cq))
		return ENOENT;
	ccs_lock(&cq->lock);
	if (!ccs_cq_ready_count(cq))
		ccs_drain(cq, false);
	if (ccs_cq_ready_count(cq))
		show_oldest(cq);
	else
		rc = cq->failed ? EINVAL : ENOENT;
	e->spinning = ccs_poll_count_idle(cq, rc);
	e->empty_ns = rc ? cq->polled_ns : CCS_TIME_UNKNOWN;
	ccs_unlock(&cq->lock);
	return rc;
}

/* Fill all fields, requested or not, because ibv_poll_cq() may return this completion. */
static void read_current(struct cq *cq, struct ibv_wc *wc, struct wc_more *more)
{
	const struct real_ops *real = &cq->ex->real;
	struct ibv_cq_ex *ex = cq->ex->app;
	struct {
		struct ibv_wc wc;
		struct wc_more more;
	} all = { .wc = { .wr_id = ex->wr_id, .status = ex->status } };

#define READ(type, name, from) \
	if (real->read_##name) \
		all.from = (__typeof__(all.from))real->read_##name(ex);
	READERS_AT_FAILURE(READ)
#undef READ
	if (!ex->status)
		all.wc.opcode = real->read_opcode(ex);
	if (real->read_tm_info)
		real->read_tm_info(ex, &all.more.tm_info);
	*wc = all.wc;
	*more = all.more;
}

static bool has_ready(struct cq *cq)
{
	bool ready;

	ccs_lock(&cq->lock);
	ready = ccs_cq_ready_count(cq);
	ccs_unlock(&cq->lock);
	return ready;
}

/*
 * Poll the shadow CQs again. If they had a completion, show the oldest, and queue the batch's current
 * one after the others. It gets the entry that the oldest leaves: all may be used.
 */
static void show_oldest_before_current(struct cq *cq)
{
	struct wc_more more;
	struct ibv_wc wc;

	ccs_lock(&cq->lock);
	if (cq->ex->app->status == IBV_WC_WR_FLUSH_ERR) {
		read_current(cq, &wc, &more);
		ccs_complete_flushed_receives(cq, &wc, 1);
	}
	ccs_drain(cq, true);
	if (ccs_cq_ready_count(cq)) {
		read_current(cq, &wc, &more);
		show_oldest(cq);
		ccs_cq_push(cq, &wc, &more, NULL);
	}
	ccs_unlock(&cq->lock);
}

/* Completions that are in the shadow CQs by now precede this one of the real CQ, as in a poll. */
static int next_behind_ready(struct cq *cq, struct ibv_poll_cq_attr *attr)
{
	int rc;

	if (!attr->comp_mask && has_ready(cq)) /* the provider validates comp_mask */
		return next_ready(cq);
	rc = next_real(cq->ex, attr);
	if (!rc && !ccs_cq_is_plain(cq))
		show_oldest_before_current(cq);
	return rc;
}

static int next_of_source(struct cq *cq, struct ibv_poll_cq_attr *attr)
{
	return cq->ex->ready_first ? next_ready(cq) : next_behind_ready(cq, attr);
}

static void switch_source(struct cq_ex *e)
{
	e->ready_first = !e->ready_first;
	e->run = 0;
}

/* ENOENT only if both sources are empty; neither waits until the other is. */
static int next_completion(struct cq *cq, struct ibv_poll_cq_attr *attr)
{
	struct cq_ex *e = cq->ex;
	int rc;

	e->empty_ns = CCS_TIME_UNKNOWN;
	if (e->run++ == CCS_BATCH)
		switch_source(e);
	rc = next_of_source(cq, attr);
	if (rc == ENOENT) {
		switch_source(e);
		rc = next_of_source(cq, attr);
	}
	e->exhausted = rc == ENOENT;
	if (!rc) /* it is not known when the application continues */
		e->empty_ns = CCS_TIME_UNKNOWN;
	return rc;
}

/* Completions that are ready now were drained after the batch's last poll. */
static void end_batch(struct cq *cq, bool found)
{
	ccs_lock(&cq->lock);
	ccs_drain_end_poll(cq, found && !(cq->ex->exhausted && ccs_cq_ready_count(cq)));
	ccs_unlock(&cq->lock);
}

static void unlock_and_run_due(struct cq *cq, bool found)
{
	const bool spinning = cq->ex->spinning;
	const uint64_t now_ns = cq->ex->empty_ns;

	if (cq->channel)
		end_batch(cq, found);
	ccs_cq_ex_unlock(cq);
	ccs_mailbox_poll();
	ccs_pacer_thread_after_poll(cq, now_ns, spinning);
}

static int begin_batch(struct cq *cq, struct ibv_poll_cq_attr *attr, bool is_poll)
{
	int rc;

	ccs_cq_ex_lock(cq);
	cq->ex->is_poll = is_poll;
	switch_source(cq->ex);
	if (attr->comp_mask)
		cq->ex->ready_first = false;
	rc = next_completion(cq, attr);
	if (rc)
		unlock_and_run_due(cq, false);
	return rc;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct cq *cq = cq_of(ex);

	return ccs_forked() ? next_real(cq->ex, attr) : begin_batch(cq, attr, false);
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct cq *cq = cq_of(ex);

	return ccs_forked() ? next_real(cq->ex, &attr) : next_completion(cq, &attr);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct cq *cq = cq_of(ex);
	struct cq_ex *e = cq->ex;

	if (e->open)
		e->real.end_poll(ex);
	e->open = false;
	e->ours = false;
	if (!ccs_forked())
		unlock_and_run_due(cq, true);
}

/*
 * ibv_poll_cq() of a CQ with other than standard fields: a receive that follows ready completions
 * keeps all its fields until a batch shows it.
 */
static int poll_batch(struct cq *cq, int n, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct wc_more more;
	int got = 0, rc = begin_batch(cq, &attr, true);

	if (rc)
		return rc == ENOENT ? 0 : -rc;
	while (!rc) {
		if (cq->ex->ours)
			wc[got] = cq->ex->wc;
		else
			read_current(cq, &wc[got], &more);
		rc = ++got < n ? next_completion(cq, &attr) : ENOENT;
	}
	end_poll(cq->ex->app);
	return got;
}

#define READER(type, name, from) \
	static type read_##name(struct ibv_cq_ex *ex) \
	{ \
		const struct cq_ex *e = cq_of(ex)->ex; \
		return e->ours ? (type)e->from : e->real.read_##name(ex); \
	}
READERS(READER)
#undef READER

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	const struct cq_ex *e = cq_of(ex)->ex;

	if (e->ours)
		*info = e->more.tm_info;
	else
		e->real.read_tm_info(ex, info);
}

/* Readers that the provider left NULL stay NULL. Readers of fields not requested become NULL. */
static void install_functions(struct cq_ex *e, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = e->app;

#define REPLACE(name) \
	do { \
		e->real.name = ex->name; \
		if (ex->name) \
			ex->name = name; \
	} while (0)
#define REPLACE_READER(type, name, from) REPLACE(read_##name);
	REPLACE(start_poll);
	REPLACE(next_poll);
	REPLACE(end_poll);
	REPLACE(read_tm_info);
	READERS(REPLACE_READER)
#undef REPLACE_READER
#undef REPLACE
#define HIDE(flag, name) \
	if (!(wc_flags & IBV_WC_EX_WITH_##flag)) \
		ex->read_##name = NULL
	HIDE(BYTE_LEN, byte_len);
	HIDE(IMM, imm_data);
	HIDE(QP_NUM, qp_num);
	HIDE(SRC_QP, src_qp);
	HIDE(SLID, slid);
	HIDE(SL, sl);
	HIDE(DLID_PATH_BITS, dlid_path_bits);
#undef HIDE
}

static uint32_t flags_of(const struct ibv_cq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
}

static bool is_unsupported(const struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	const uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
			       IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const uint64_t values = 2 * (uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK - 1;

	return (attr->comp_mask & ~masks) || (flags_of(attr) & ~flags) ||
	       (attr->wc_flags & ~values);
}

/* NULL: no memory. Then the CQ is left as it is, and its QPs are uncontrolled. */
static struct cq *make_record(struct ibv_cq_ex *ex, const struct ibv_cq_init_attr_ex *attr)
{
	struct cq_ex *e = ccs_calloc_padded(1, sizeof(*e));
	struct cq *cq = e ? ccs_cq_new(ibv_cq_ex_to_cq(ex), attr->channel, attr->cq_context,
				       (int)attr->comp_vector) : NULL;

	if (!e)
		ccs_cq_warn_untracked();
	if (!cq) {
		free(e);
		return NULL;
	}
	e->app = ex;
	cq->ex = e;
	cq->one_thread = flags_of(attr) & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->wc_flags = attr->wc_flags;
	if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS)
		cq->poll_batch = poll_batch;
	cq->unsupported = is_unsupported(attr);
	return cq;
}

/*
 * Request all fields that ibv_poll_cq() returns: it may return a receive that a poll batch left in
 * the CQ.
 */
static struct ibv_cq_ex *create_with_all(struct ctx *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex all = *attr;
	struct ibv_cq_ex *ex = NULL;

	all.wc_flags |= IBV_WC_STANDARD_FLAGS;
	if (all.wc_flags != attr->wc_flags && !is_unsupported(attr))
		ex = ctx->create_cq_ex(ctx->context, &all);
	return ex ? ex : ctx->create_cq_ex(ctx->context, attr);
}

struct ibv_cq_ex *ccs_cq_ex_create(struct ctx *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *ex = create_with_all(ctx, attr);
	struct cq *cq = ex ? make_record(ex, attr) : NULL;

	if (cq && ccs_cq_track(cq) && !cq->unsupported)
		install_functions(cq->ex, attr->wc_flags);
	return ex;
}
