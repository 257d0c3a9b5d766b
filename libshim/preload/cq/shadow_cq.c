/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shadow CQs: their creation, and polling of completions. Where the device timestamps completions,
 * RTTs end when the completion was created; elsewhere they end when it was polled.
 */
#include "preload/cq/shadow_cq.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/pool.h"
#include "observe/log.h"
#include "preload/cq/cq.h"
#include "preload/cq/notify.h"
#include "preload/object/clock.h"
#include "preload/object/memlock.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/registry.h"
#include "preload/object/shim.h"

enum { LARGE = 1 << 12, MODERATION_US = 100 };

#define TIMESTAMP ((uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
#define BEYOND(flags) ((flags) & ~(uint64_t)IBV_WC_STANDARD_FLAGS)

static struct ibv_cq_ex *create_extended(struct cq *cq, uint32_t size, uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = size,
		.cq_context = cq->cq_context,
		.channel = cq->channel,
		.comp_vector = (uint32_t)cq->comp_vector,
		.wc_flags = IBV_WC_STANDARD_FLAGS | wc_flags,
	};

	return cq->ctx->create_cq_ex(cq->ctx->context, &attr);
}

/* Whether RTTs use timestamps. The application gets the timestamps that it requested anyway. */
static bool uses_timestamps(const struct cq *cq)
{
	return cq->ctx->has_timestamps && ccs_shim()->options.hw_timestamps;
}

/*
 * The CQ has the extended fields that the application reads, and timestamps for the shim. If the
 * device refuses the timestamps, that is not an error and errno is kept. The CQ is never created
 * for a single thread or in a parent domain, because the pacer thread polls it as well.
 */
static bool create_cq(struct cq *cq, struct shadow *s, uint32_t size)
{
	const uint64_t needed = BEYOND(cq->wc_flags);
	const uint64_t all = needed | (uses_timestamps(cq) ? TIMESTAMP : 0);
	const int saved = errno;

	if (all)
		s->ex = create_extended(cq, size, all);
	if (!s->ex && needed && needed != all)
		s->ex = create_extended(cq, size, needed);
	if (s->ex || needed) {
		s->cq = s->ex ? ibv_cq_ex_to_cq(s->ex) : NULL;
		errno = saved;
		return s->cq;
	}
	errno = saved;
	s->cq = ccs_real()->ibv_create_cq(cq->ctx->context, (int)size, cq->cq_context,
					  cq->channel, cq->comp_vector);
	return s->cq;
}

/*
 * An event may be early, but not late. Some of the completions that the application counts arrive
 * in shadow CQs, so with a count and no period an event might never be raised.
 */
int ccs_shadow_moderate(const struct cq *cq, struct ibv_cq *ibcq)
{
	struct ibv_modify_cq_attr attr = cq->moderation;

	if (!ibcq || !attr.attr_mask)
		return 0;
	if (attr.moderate.cq_count > 1 && !attr.moderate.cq_period)
		attr.moderate.cq_period = MODERATION_US;
	return cq->ctx->modify_cq(ibcq, &attr);
}

static bool has_timestamps(const struct cq *cq, const struct shadow *s)
{
	return s->ex && uses_timestamps(cq) && s->ex->read_completion_ts;
}

/* Providers add an entry and round up to a power of two. */
static uint32_t round_up(uint32_t entries)
{
	uint32_t size = 1;

	while (size < entries && size < UINT32_MAX / 2)
		size = 2 * size + 1;
	return size;
}

/*
 * At least the need of one QP, and at least the size of the application's CQ, which has space for
 * completions of all its QPs. Each further shadow CQ is larger than the previous: four times up to
 * LARGE, and then twice. So a CQ has few shadow CQs to poll.
 */
static uint32_t size_for(const struct cq *cq, uint32_t entries)
{
	const struct shadow *before = ccs_shadow_newest(cq);
	const uint32_t cqe = (uint32_t)atomic_load(&cq->cqe), max = cq->ctx->max_cqe;
	uint32_t size = round_up(entries > cqe ? entries : cqe), next = 0;

	if (before)
		next = round_up(before->size < LARGE ? 3 * before->size : before->size + 1);
	size = size > next ? size : next;
	return size < max ? size : max;
}

static bool create_of_size(struct cq *cq, struct shadow *s, uint32_t size)
{
	if (!ccs_memlock_reserve(cq->ctx, size))
		return false;
	s->size = size;
	if (create_cq(cq, s, size))
		return true;
	ccs_memlock_release(size);
	return false;
}

/* If the device refuses that size, use the smallest possible. */
static bool create_sized(struct cq *cq, struct shadow *s, uint32_t entries, uint32_t most)
{
	const uint32_t max = cq->ctx->max_cqe;
	const uint32_t least = round_up(entries) < max ? round_up(entries) : max;
	/* A QP must be able to grow although others have reserved entries. */
	const uint32_t size = size_for(cq, most > entries ? most + entries : entries);

	return least >= entries && (create_of_size(cq, s, size) ||
				    (least < size && create_of_size(cq, s, least)));
}

/* The WQEs in flight of a QP never exceed its reserved entries, so no shadow CQ can overflow. */
bool ccs_shadow_reserve(struct shadow *s, uint32_t entries)
{
	uint32_t used = atomic_load_explicit(&s->used, memory_order_relaxed);

	do {
		if (used > s->size || s->size - used < entries)
			return false;
	} while (!atomic_compare_exchange_weak(&s->used, &used, used + entries));
	return true;
}

/* Not inlined, because posts and polls rarely call it and must be short. */
__attribute__((noinline)) void ccs_shadow_count(struct qp *qp, bool busy)
{
	qp->counted = busy;
	atomic_fetch_add(&qp->shadow->busy, busy ? 1u : -1u);
}

__attribute__((noinline)) void ccs_shadow_wake(struct qp *qp)
{
	if (ccs_shadow_watch(qp->shadow) & CCS_SHADOW_RESTS)
		atomic_fetch_and(&qp->shadow->watch, ~(unsigned)CCS_SHADOW_RESTS);
	if (!qp->counted && (ccs_shadow_watch(qp->shadow) & CCS_SHADOW_COUNTED))
		ccs_shadow_count(qp, true);
	ccs_cq_end_idle(qp->cq);
}

/*
 * With a second shadow CQ the shim begins to count the busy QPs of each, so that a poll can skip
 * idle shadow CQs. For one shadow CQ that would cost more than it saves. A QP that is not in the
 * registry yet has not posted. Its creation takes cq->lock later and then reads the flag.
 */
static void count_busy(struct cq *cq)
{
	bool first = false;
	struct qp *qp;

	for (struct shadow *s = atomic_load(&cq->shadows); s; s = s->next)
		first |= s->size && !(atomic_fetch_or(&s->watch, CCS_SHADOW_COUNTED) &
				      CCS_SHADOW_COUNTED);
	if (!first)
		return;
	for (uint32_t slot = 0; (qp = ccs_registry_next(cq, &slot));) {
		ccs_lock(&qp->lock);
		if (!qp->counted && ccs_qp_is_busy(qp))
			ccs_shadow_count(qp, true);
		ccs_unlock(&qp->lock);
	}
}

struct shadow *ccs_shadow_new(struct cq *cq, uint32_t entries, uint32_t most)
{
	struct shadow *s = ccs_calloc_padded(1, sizeof(*s));

	if (!s || !create_sized(cq, s, entries, most))
		goto fail;
	if (ccs_ptrmap_put(&ccs_shim()->cqs, s->cq, cq)) {
		ccs_real()->ibv_destroy_cq(s->cq);
		ccs_memlock_release(s->size);
		goto fail;
	}
	atomic_store(&s->used, entries);
	s->empty_ns = ccs_now_ns();
	if (ccs_shadow_newest(cq)) {
		count_busy(cq);
		atomic_store(&s->watch, CCS_SHADOW_COUNTED);
	}
	s->next = atomic_load(&cq->shadows);
	atomic_store(&cq->shadows, s);
	ccs_cq_update_fast(cq);
	if (cq->moderation.attr_mask) {
		ccs_shadow_moderate(cq, s->cq);
		ccs_shadow_moderate(cq, cq->app);
	}
	ccs_notify_new_shadow(cq, s);
	return s;
fail:
	free(s);
	return NULL;
}

/* As ibv_poll_cq() returns it; the opcode of a failure is undefined there and not read here. */
static void read_wc(struct ibv_cq_ex *ex, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){
		.wr_id = ex->wr_id,
		.status = ex->status,
		.opcode = ex->status == IBV_WC_SUCCESS ? ibv_wc_read_opcode(ex) : IBV_WC_SEND,
		.vendor_err = ibv_wc_read_vendor_err(ex),
		.byte_len = ex->read_byte_len ? ibv_wc_read_byte_len(ex) : 0,
		.imm_data = ex->read_imm_data ? ibv_wc_read_imm_data(ex) : 0,
		.qp_num = ex->read_qp_num ? ibv_wc_read_qp_num(ex) : 0,
		.src_qp = ex->read_src_qp ? ibv_wc_read_src_qp(ex) : 0,
		.wc_flags = ibv_wc_read_wc_flags(ex),
		.slid = (uint16_t)(ex->read_slid ? ibv_wc_read_slid(ex) : 0),
		.sl = ex->read_sl ? ibv_wc_read_sl(ex) : 0,
		.dlid_path_bits = ex->read_dlid_path_bits ? ibv_wc_read_dlid_path_bits(ex) : 0,
	};
}

/* Only requested fields can be read, and only during the poll batch. */
static void read_more(struct ibv_cq_ex *ex, struct wc_more *more)
{
	*more = (struct wc_more){
		.completion_ts = ex->read_completion_ts ? ibv_wc_read_completion_ts(ex) : 0,
		.completion_wallclock_ns = ex->read_completion_wallclock_ns
			? ibv_wc_read_completion_wallclock_ns(ex) : 0,
		.flow_tag = ex->read_flow_tag ? ibv_wc_read_flow_tag(ex) : 0,
		.cvlan = ex->read_cvlan ? ibv_wc_read_cvlan(ex) : 0,
	};
	if (ex->read_tm_info)
		ibv_wc_read_tm_info(ex, &more->tm_info);
}

/*
 * EBUSY: the clock is being set, and no completion was polled. Providers hold the CQ's lock from
 * ibv_start_poll() to ibv_end_poll(), so the loop only reads.
 */
static int poll_extended(struct shadow *s, int n, struct shadow_batch *a)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int rc = ibv_start_poll(s->ex, &attr), got = 0;

	if (!rc) {
		do {
			read_wc(s->ex, &a->wc[got]);
			read_more(s->ex, &a->more[got]);
			got++;
		} while (got < n && !(rc = ibv_next_poll(s->ex)));
		ibv_end_poll(s->ex);
	}
	return got || rc == ENOENT || rc == EBUSY ? got : -rc;
}

static void report_clock(const struct cq *cq)
{
	if (cq->clock.broken)
		ccs_log_once(CCS_LOG_WARN, "%s: completion timestamps contradict the host's clock; "
			     "RTTs end when the application polls, from now on", cq->ctx->device);
}

/* Where the device's clock can be queried, it is known even if polls are always late. */
static void query_clock(struct cq *cq)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ccs_span span = { .earliest_ns = ccs_now_ns() };

	if (!cq->ctx->query_rt_values || !ccs_hwclock_wants(&cq->clock, span.earliest_ns) ||
	    cq->ctx->query_rt_values(cq->ctx->context, &values) ||
	    !(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return;
	span.latest_ns = ccs_now_ns();
	/* The seconds are 0: both providers that have this function return plain ticks. */
	ccs_hwclock_learn(&cq->clock, (uint64_t)values.raw_clock.tv_nsec, &span);
	report_clock(cq);
}

void ccs_shadow_now(struct cq *cq, struct wc_more *more)
{
	*more = (struct wc_more){ 0 };
	if (!cq->ex)
		return;
	more->completion_wallclock_ns = ccs_clock_ns(CLOCK_REALTIME);
	if (cq->ctx->has_timestamps) {
		query_clock(cq);
		more->completion_ts = ccs_hwclock_ticks(&cq->clock, ccs_now_ns());
	}
}

struct ccs_span ccs_shadow_completion_time(struct cq *cq, const struct shadow_batch *a, int i,
					   uint64_t post_ns)
{
	struct ccs_span when = { a->empty_ns, ccs_now(&cq->polled_ns) };

	/* A failed completion has no timestamp: libmlx5 returns what is in the CQE there. */
	if (a->has_timestamps && !cq->clock.broken && !a->wc[i].status) {
		if (post_ns > when.earliest_ns)
			when.earliest_ns = post_ns;
		ccs_hwclock_map(&cq->clock, a->more[i].completion_ts, &when);
		report_clock(cq);
	}
	if (cq->woken || !when.earliest_ns)
		when.earliest_ns = when.latest_ns;
	return when;
}

void ccs_shadow_note_error(struct shadow *s, int error)
{
	if (!s->errors++)
		ccs_log(CCS_LOG_WARN, "polling a shadow completion queue failed (%d): its QPs get "
			"no send completions", error);
}

/* The clock is read only while a segment is in flight whose RTT is measured. */
int ccs_shadow_poll(struct cq *cq, struct shadow *s, int n, struct shadow_batch *a)
{
	const bool timed = atomic_load_explicit(&cq->timed, memory_order_relaxed) > 0;
	const uint64_t before = s->ex && timed ? ccs_now_ns() : 0;
	const int got = s->ex ? poll_extended(s, n, a)
			      : cq->ctx->real.poll_cq(s->cq, n, a->wc);

	if (got < 0)
		ccs_shadow_note_error(s, got);
	a->n = got;
	a->has_timestamps = has_timestamps(cq, s);
	a->empty_ns = a->has_timestamps ? s->empty_ns : cq->empty_ns;
	if (got > 0 && timed && a->has_timestamps)
		query_clock(cq);
	cq->polled_ns = timed ? ccs_now_ns() : CCS_TIME_UNKNOWN;
	if (before && got < n)
		s->empty_ns = before;
	return got;
}
