/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects that a program uses, and the record and checks of its results; see world.h. */
#include "world.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "virtual.h"

enum { PATIENCE = 20000, PATCH_NS = 2000, LONG_PATCH_NS = 1000000 };

struct world w;
static unsigned char memory[ENDS][3][AREA * 2];

static void __attribute__((format(printf, 2, 0))) append_va(struct text *t, const char *fmt,
							va_list ap)
{
	char line[256];
	const int n = vsnprintf(line, sizeof(line), fmt, ap);
	const size_t len = n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1;

	if (t->len + len + 1 > t->size) {
		t->size = 2 * (t->len + len) + 1024;
		t->at = realloc(t->at, t->size);
		if (!t->at)
			abort();
	}
	memcpy(t->at + t->len, line, len + 1);
	t->len += len;
}

void append(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append_va(t, fmt, ap);
	va_end(ap);
}

void trace_step(const char *fmt, ...)
{
	va_list ap;

	if (!w.trace)
		return;
	va_start(ap, fmt);
	vfprintf(w.trace, fmt, ap);
	va_end(ap);
	fputc('\n', w.trace);
}

void violation(const struct end *e, const char *fmt, ...)
{
	va_list ap;
	char line[200];

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	append(&w.violations, "VIOLATION at %c: %s\n", e ? 'A' + (int)e->place : '-', line);
	trace_step("  VIOLATION at %c: %s", e ? 'A' + (int)e->place : '-', line);
}

int untouched(const char *call, int rc)
{
	w.set_errno = errno != UNTOUCHED;
	/* a refusal may set errno to the code that it returns */
	if (errno != UNTOUCHED && !(rc && errno == abs(rc)))
		violation(NULL, "errno is %d after %s", errno, call);
	return rc;
}

/* -- completions ------------------------------------------------------------- */

uint64_t wr_id_of(const struct end *e, uint32_t number, bool receive)
{
	return (uint64_t)e->place << 60 | (uint64_t)receive << 56 | (uint64_t)e->life << 32 |
	       number;
}

static uint64_t mixed(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 1099511628211ull;
	return h ^ h >> 29;
}

/* Four at a time, which do not wait for each other. */
static uint64_t digest(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t lane[4] = { h, 1, 2, 3 }, word[4];

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(word, p, sizeof(word));
#pragma GCC unroll 4
		for (unsigned i = 0; i < 4; i++)
			lane[i] = mixed(lane[i], word[i]);
	}
	while (len--)
		lane[0] = mixed(lane[0], *p++);
	return mixed(mixed(mixed(lane[0], lane[1]), lane[2]), lane[3]);
}

/*
 * Check what verbs promise of a send queue: completions are in the order of the posts, at most
 * one per WR, one for each signalled WR and for each that fails; before the first failure all
 * are successes, after it all are flushed.
 */
static bool plausible(struct end *e, uint32_t n, enum ibv_wc_status status)
{
	if (n >= e->posted)
		violation(e, "WR %u completed, %u were posted", n, e->posted);
	else if (n < e->reported && e->stale)
		return false; /* a device may report it late, for a QP that is destroyed */
	else if (n < e->reported)
		violation(e, "WR %u completed again, or too late", n);
	else if (e->failed && status != IBV_WC_WR_FLUSH_ERR)
		violation(e, "WR %u behind a failed one: status %d", n, status);
	else if (!status && n >= e->doomed)
		violation(e, "WR %u, posted to a failed QP, succeeded", n);
	else if (!status && !e->visible[n % KNOWN])
		violation(e, "WR %u is not signalled", n);
	else
		return true;
	return false;
}

static void on_send(struct end *e, uint32_t n, const struct ibv_wc *wc)
{
	if (!plausible(e, n, wc->status))
		return;
	for (; e->reported < n; e->reported++)
		if ((e->failed || e->visible[e->reported % KNOWN]) && !e->unsure)
			violation(e, "WR %u completed before %u", n, e->reported);
	e->reported = n + 1;
	e->status = wc->status;
	e->failed |= wc->status != IBV_WC_SUCCESS;
	if (!wc->status && e->arrives[n % KNOWN] > e->peer->received)
		w.early++;
	if (wc->status)
		append(&e->sends, "%u: %s, %#x\n", n, ibv_wc_status_str(wc->status),
		       wc->vendor_err);
	else
		append(&e->sends, "%u: opcode %d, %u bytes, flags %#x\n", n, wc->opcode, wc->byte_len,
		    wc->wc_flags);
}

static void on_recv(struct end *e, uint32_t n, const struct ibv_wc *wc)
{
	const unsigned char *slot = e->messages + n % SLOTS * SLOT;

	if (n != e->received)
		violation(e, "receive %u completed, not %u", n, e->received);
	e->received = n + 1;
	if (wc->status)
		append(&e->recvs, "receive %u: %s\n", n, ibv_wc_status_str(wc->status));
	else
		append(&e->recvs, "receive %u: opcode %d, %u bytes, flags %#x, imm %#x, %llx\n", n,
		    wc->opcode, wc->byte_len, wc->wc_flags,
		    wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) ? wc->imm_data : 0,
		    wc->opcode == IBV_WC_RECV && wc->byte_len <= SLOT
		    ? (unsigned long long)digest(0, slot, wc->byte_len) : 0);
}

static void on_completion(const struct ibv_wc *wc)
{
	struct end *e = &w.end[wc->wr_id >> 60 & (ENDS - 1)];
	const bool receive = wc->wr_id >> 56 & 1;
	const uint32_t n = (uint32_t)wc->wr_id;

	trace_step("  %c %s %u: status %d", 'A' + (int)e->place, receive ? "receive" : "WR", n,
	     wc->status);
	if (wc->wr_id != wr_id_of(e, n, receive))
		violation(NULL, "wr_id %#llx: nothing of that name is left",
			  (unsigned long long)wc->wr_id);
	else if (wc->qp_num != e->num)
		violation(e, "WR %u completed at another QP number", n);
	else if (receive)
		on_recv(e, n, wc);
	else
		on_send(e, n, wc);
	e->late += e->gone;
}

static struct ibv_wc read_ex(struct ibv_cq_ex *ex)
{
	struct ibv_wc wc = { .wr_id = ex->wr_id, .status = ex->status,
			     .qp_num = ibv_wc_read_qp_num(ex) };

	wc.vendor_err = ibv_wc_read_vendor_err(ex);
	if (wc.status)
		return wc;
	wc.opcode = ibv_wc_read_opcode(ex);
	wc.byte_len = ibv_wc_read_byte_len(ex);
	wc.wc_flags = ibv_wc_read_wc_flags(ex);
	if (wc.wc_flags & IBV_WC_WITH_INV)
		wc.invalidated_rkey = ibv_wc_read_invalidated_rkey(ex);
	else if (wc.wc_flags & IBV_WC_WITH_IMM)
		wc.imm_data = ibv_wc_read_imm_data(ex);
	return wc;
}

static int poll_ex(struct ibv_cq_ex *ex, int n, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int rc = CALL(ibv_start_poll(ex, &attr)), got = 0;

	if (rc == ENOENT)
		return 0;
	if (rc)
		return -1;
	do
		wc[got++] = read_ex(ex);
	while (got < n && !(rc = CALL(ibv_next_poll(ex))));
	ibv_end_poll(ex);
	return rc && rc != ENOENT ? -1 : got;
}

/* ibv_poll_cq() does not, and an extended CQ is polled in both ways. */
static void hide_sent_imm(struct ibv_wc *wc, int n)
{
	for (int k = 0; k < n; k++)
		if (wc[k].opcode < IBV_WC_RECV)
			wc[k].wc_flags &= ~(unsigned)IBV_WC_WITH_IMM;
}

int poll_some(unsigned i, int n, bool classic)
{
	struct ibv_wc wc[LONGEST];
	int got = w.cqx[i] && !classic ? poll_ex(w.cqx[i], n, wc)
				       : CALL(ibv_poll_cq(w.cq[i], n, wc));

	if (got < 0 || got > n) {
		violation(NULL, "a poll for %d returned %d", n, got);
		w.hung = true;
		return 0;
	}
	if (w.cqx[i] && fake_profile()->hides_sent_imm)
		hide_sent_imm(wc, got);
	got = mutate(wc, got, LONGEST);
	for (int k = 0; k < got; k++)
		on_completion(&wc[k]);
	return got;
}

void drain(void)
{
	for (unsigned i = 0; i < w.cqs; i++)
		while (poll_some(i, 16, false))
			;
}

/* Let time pass in growing steps, as throttled queues are slow. */
bool wait_for(struct end *e, uint32_t number)
{
	uint64_t patch = PATCH_NS;

	for (unsigned spins = 0; e->reported <= number && !w.hung; spins++) {
		for (unsigned i = 0; i < w.cqs; i++)
			poll_some(i, 7, false);
		if (w.held)
			step(1);
		virtual_pass(patch);
		patch += patch < LONG_PATCH_NS ? patch / 4 : 0;
		if (spins > PATIENCE) {
			violation(e, "WR %u never completes", number);
			w.hung = true;
		}
	}
	return !w.hung;
}

/* -- events ------------------------------------------------------------------ */

void arm(struct ibv_cq *cq, bool solicited)
{
	unsigned i = 0;

	while (w.cq[i] != cq)
		i++;
	w.arms[i]++;
	if (mutate_arm() && CALL(ibv_req_notify_cq(cq, solicited)))
		violation(NULL, "a CQ cannot be armed");
}

static bool event_waits(void)
{
	struct pollfd p = { .fd = w.channel->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

void read_cq_events(bool ack)
{
	struct ibv_cq *cq;
	void *context;

	while (w.channel && event_waits()) {
		unsigned i = 0;

		if (CALL(ibv_get_cq_event(w.channel, &cq, &context)))
			break;
		while (i < w.cqs && w.cq[i] != cq)
			i++;
		if (i == w.cqs || context != &w.cq[i]) {
			violation(NULL, "an event of no CQ of ours");
			continue;
		}
		w.unacked[i]++;
		w.events[i] += mutate_events();
	}
	for (unsigned i = 0; ack && i < w.cqs; i++) {
		if (w.unacked[i])
			ibv_ack_cq_events(w.cq[i], w.unacked[i]);
		w.unacked[i] = 0;
	}
}

bool wait_for_event(unsigned ms)
{
	for (unsigned naps = 0; !event_waits(); naps++) {
		if (naps > ms)
			return false;
		virtual_pass(LONG_PATCH_NS);
	}
	return true;
}

bool sleep_for_event(void)
{
	if (wait_for_event(PATIENCE))
		return true;
	violation(NULL, "a pending event was not delivered");
	w.hung = true;
	return false;
}

void read_async_events(void)
{
	struct pollfd p = { .fd = w.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&p, 1, 0) == 1 && !CALL(ibv_get_async_event(w.ctx, &event))) {
		struct end *e = w.end;

		while (e < w.end + ENDS && e->qp != event.element.qp)
			e++;
		if (e < w.end + ENDS && event.event_type == IBV_EVENT_SQ_DRAINED && e->pauses)
			e->pauses--; /* it is undefined whether it drains before it continues */
		else if (e < w.end + ENDS && event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED &&
			 e->srq)
			w.lasts[e->place]++;
		else
			violation(NULL, "asynchronous event %d", event.event_type);
		ibv_ack_async_event(&event);
	}
}

/* -- states ------------------------------------------------------------------ */

static void mark_begun(void)
{
	for (unsigned i = 0; i < ENDS; i++)
		w.end[i].held_since = false;
}

void hold(bool held)
{
	w.held = held;
	if (!held)
		mark_begun();
	fake_hold(held);
}

void step(unsigned n)
{
	mark_begun();
	fake_step(n);
}

void late(unsigned n)
{
	mark_begun();
	fake_late(n);
}

int to_state(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return CALL(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
}

/* Fill the queue to its depth, as counted at the last sync, not by polled completions. */
void post_receives(struct end *e, uint32_t n)
{
	for (; n && e->receives - e->used < RECEIVES; n--) {
		struct ibv_sge sge = { .addr = (uintptr_t)e->messages + e->receives % SLOTS * SLOT,
				       .length = SLOT, .lkey = w.mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = wr_id_of(e, e->receives, true),
					  .sg_list = &sge, .num_sge = 1 }, *bad;

		if (e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad)
			   : ibv_post_recv(e->qp, &wr, &bad)) {
			violation(e, "a receive is refused");
			return;
		}
		e->receives++;
	}
}

static void fill(unsigned char *p, uint32_t x)
{
	static unsigned char pattern[AREA * 4];

	if (!pattern[1])
		for (unsigned i = 0; i < sizeof(pattern); i++) {
			x = x * 1664525 + 1013904223;
			pattern[i] = (unsigned char)(x >> 24) | 1;
		}
	memcpy(p, pattern + x % 7 * 1024, AREA);
}

static void modify(struct end *e, struct ibv_qp_attr attr, int mask)
{
	const int rc = CALL(ibv_modify_qp(e->qp, &attr, mask | IBV_QP_STATE));

	if (rc)
		violation(e, "modify to %d is refused: %d", attr.qp_state, rc);
}

void to_rts(struct end *e)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR, .dest_qp_num = e->peer->num,
				   .path_mtu = IBV_MTU_1024, .max_dest_rd_atomic = 16,
				   .ah_attr = { .is_global = 1, .port_num = 1 } };

	modify(e, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 },
	       IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
	ibv_query_gid(w.ctx, 1, 1, &rtr.ah_attr.grh.dgid);
	modify(e, rtr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(e, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
					.rnr_retry = 7, .max_rd_atomic = w.reads },
	       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	       IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Results that are undefined at the end of a life are not compared. */
static void begin_life(struct end *e)
{
	if (e->cut) {
		e->sends.len = e->sends_mark;
		e->peer->recvs.len = e->peer->recvs_mark;
		e->recvs.len = e->recvs_mark; /* flushed or dropped */
		append(&e->sends, "cut\n");
	}
	e->sends_mark = e->sends.len;
	e->peer->recvs_mark = e->peer->recvs.len;
	e->life = (e->life + 1) & 0xffffff;
	e->posted = e->reported = e->synced = 0;
	e->doomed = UINT32_MAX;
	e->failed = e->unsure = e->paused = e->cut = e->stale = e->gone = false;
	e->late = 0;
	e->held_since = w.held;
	e->receives = e->needed = e->received = e->used = 0;
	fill(e->local, 1);
	fill(e->remote, 2);
	memset(e->messages, 0, SLOTS * SLOT);
}

static void srq_create(struct end *e)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = RECEIVES, .max_sge = 1 } };

	e->srq = w.srqs ? ibv_create_srq(w.pd, &attr) : NULL;
	if (w.srqs && !e->srq)
		abort();
}

/* rxe raises the event again with each post in the error state. */
static void record_lasts(struct end *e)
{
	const unsigned n = w.lasts[e->place];

	if (!e->cut && !e->peer->cut)
		append(&e->calls, "last WQE: %u\n", fake_profile()->repeats_last_wqe ? n > 0 : n);
}

/* Receives stay in an SRQ when its QP is reset: both are replaced. */
static void renew(struct end *e)
{
	if (!e->srq)
		return;
	if (CALL(ibv_destroy_qp(e->qp)) || ibv_destroy_srq(e->srq))
		violation(e, "its SRQ cannot be destroyed");
	srq_create(e);
	end_create(e);
	w.lasts[e->place] = 0;
}

void raise_pair(struct end *e)
{
	read_async_events();
	if (e->srq) {
		record_lasts(e);
		record_lasts(e->peer);
	}
	modify(e, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, 0);
	modify(e->peer, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, 0);
	drain();
	renew(e);
	renew(e->peer);
	begin_life(e);
	begin_life(e->peer);
	to_rts(e);
	to_rts(e->peer);
}

/* The memory that the end's WRs have written. */
static void record_memory(struct end *e)
{
	const uint64_t h = digest(digest(1, e->local, AREA), e->peer->remote, AREA);

	append(&e->calls, "memory %#llx\n", (unsigned long long)h);
}

/* Everything is known now except the peer's receives of this life. */
static void sync_end(struct end *e)
{
	e->synced = e->posted;
	e->held_since = w.held;
	e->sends_mark = e->sends.len;
	e->peer->recvs_mark = e->peer->recvs.len;
	e->peer->used = e->peer->needed;
	if (e->peer->received < e->peer->needed)
		violation(e->peer, "%u messages came, not %u", e->peer->received,
			  e->peer->needed);
	record_memory(e);
}

void quiesce(struct end *e)
{
	struct list l;
	uint32_t last;

	if (!w.hung && is_down(e->peer))
		quiesce(e->peer);
	if (w.hung)
		return;
	if (e->paused && !is_down(e)) {
		e->paused = false;
		append(&e->calls, "resume: %d\n", to_state(e, IBV_QPS_RTS));
	}
	if (e->peer->needed > e->peer->receives)
		post_receives(e->peer, e->peer->needed - e->peer->receives);
	list_plain(e, &l, 1, IBV_SEND_SIGNALED);
	last = e->posted;
	list_submit(e, &l, false);
	if (!wait_for(e, last))
		return;
	drain();
	read_async_events();
	if (e->failed && !e->cut)
		record_memory(e);
	if (e->failed)
		raise_pair(e);
	else if (!w.hung)
		sync_end(e);
}

void quiesce_peer(struct end *e)
{
	if (e->peer->posted != e->peer->synced || e->peer->paused)
		quiesce(e->peer);
}

/* -- objects ----------------------------------------------------------------- */

void end_create(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = e, .send_cq = e->scq, .recv_cq = e->rcq, .srq = e->srq,
		.cap = { .max_send_wr = e->depth, .max_recv_wr = RECEIVES, .max_send_sge = w.sges,
			 .max_recv_sge = 1, .max_inline_data = INLINE },
		.qp_type = IBV_QPT_RC, .sq_sig_all = w.sig_all, .pd = w.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
				  IBV_QP_EX_WITH_SEND_WITH_INV |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_qp_init_attr plain = {
		.qp_context = e, .send_cq = attr.send_cq, .recv_cq = attr.recv_cq,
		.srq = attr.srq,
		.cap = attr.cap, .qp_type = attr.qp_type, .sq_sig_all = attr.sq_sig_all,
	};

	errno = UNTOUCHED;
	e->qp = w.new_posts ? ibv_create_qp_ex(w.ctx, &attr) : ibv_create_qp(w.pd, &plain);
	if (!e->qp) {
		violation(e, "no QP: %d", errno);
		abort();
	}
	untouched("ibv_create_qp", 0);
	e->ex = w.new_posts ? ibv_qp_to_qp_ex(e->qp) : NULL;
	e->num = e->qp->qp_num;
	e->granted = w.new_posts ? attr.cap.max_send_wr : plain.cap.max_send_wr;
	append(&e->calls, "created: %u\n~caps %u\n",
	       w.new_posts ? attr.cap.max_inline_data : plain.cap.max_inline_data,
	       e->granted - e->depth);
}

static void cq_create(unsigned i, int cqe, bool extended)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe, .cq_context = &w.cq[i], .channel = w.channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};

	errno = UNTOUCHED;
	w.cqx[i] = extended ? ibv_create_cq_ex(w.ctx, &attr) : NULL;
	w.cq[i] = extended ? ibv_cq_ex_to_cq(w.cqx[i])
			   : ibv_create_cq(w.ctx, cqe, &w.cq[i], w.channel, 0);
	if (!w.cq[i])
		abort();
	untouched("ibv_create_cq", 0);
}

static void device_open(bool channel)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	w.ctx = list ? ibv_open_device(list[0]) : NULL;
	w.pd = w.ctx ? ibv_alloc_pd(w.ctx) : NULL;
	if (!w.pd)
		abort();
	ibv_free_device_list(list);
	w.channel = channel ? ibv_create_comp_channel(w.ctx) : NULL;
	w.mw = ibv_alloc_mw(w.pd, IBV_MW_TYPE_2);
	w.mr = ibv_reg_mr(w.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE |
			  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
}

static void end_open(unsigned i, unsigned layout, uint32_t depth)
{
	static const uint8_t send_cq[4][ENDS] = {
		{ 0, 0, 0, 0 }, { 0, 0, 1, 1 }, { 0, 1, 2, 3 }, { 0, 0, 0, 0 },
	}, recv_cq[4][ENDS] = {
		{ 0, 0, 0, 0 }, { 0, 0, 1, 1 }, { 0, 1, 2, 3 }, { 1, 1, 1, 1 },
	};
	struct end *e = &w.end[i];

	e->place = i;
	e->peer = &w.end[i ^ 1];
	e->local = memory[i][0];
	e->remote = memory[i][1];
	e->messages = memory[i][2];
	e->depth = depth;
	e->scq = w.cq[send_cq[layout][i]];
	e->rcq = w.cq[recv_cq[layout][i]];
	e->calls.len = e->sends.len = e->recvs.len = 0;
	e->sends_mark = e->recvs_mark = 0;
	e->cut = false;
	e->pauses = w.lasts[i] = 0;
	e->tight = false;
	srq_create(e);
	end_create(e);
}

/*
 * A CQ has space for exactly what the application may have outstanding; where the device grants
 * deeper queues, one of them may be filled.
 */
void world_open(const uint8_t *head)
{
	static const uint32_t depths[] = { 24, 3, 12, 40 };
	static const uint32_t sges[] = { SGES, SGES, 1, 0 };
	static const double latency[] = { 0, 0, 0, 5 }, rate[] = { 0, 0, 0, 1e10 };
	const unsigned layout = head[0] % 4, link = head[5] % 4;
	const uint32_t depth = depths[head[3] % 4];
	int extra;

	fake_reset();
	w.held = w.hung = false;
	w.violations.len = 0;
	w.sig_all = head[1] & 1;
	w.atomics = (head[1] & 12) != 12;
	fake_atomics(w.atomics);
	w.early = 0;
	w.reads = (uint8_t)(1 + head[4] % 4);
	w.sges = sges[head[6] % 4];
	w.new_posts = head[1] & 2 && w.sges; /* without SGEs they are uncontrolled */
	w.srqs = head[7] % 4 == 3;
	w.cqs = layout == 2 ? ENDS : layout == 0 ? 1 : 2;
	device_open(head[2] & 1);
	extra = fake_profile()->rounds_up ? (int)depth : 0;
	if (w.channel)
		fcntl(w.channel->fd, F_SETFL, O_NONBLOCK);
	for (unsigned i = 0; i < w.cqs; i++) {
		w.unacked[i] = w.arms[i] = w.events[i] = 0;
		w.cqe = (int)(ENDS * (depth + RECEIVES)) + extra;
		cq_create(i, w.cqe, head[2] & 2);
	}
	for (unsigned i = 0; i < ENDS; i++)
		end_open(i, layout, depth);
	raise_pair(&w.end[0]);
	raise_pair(&w.end[2]);
	fake_link(latency[link], rate[link]);
	trace_step("layout %u, depth %u, %u SGEs, %s%s%s%s%s%u READs, link %u", layout, depth, w.sges,
	     w.srqs ? "SRQs, " : "", w.sig_all ? "all signalled, " : "", w.new_posts ? "ibv_wr_*, " : "",
	     w.channel ? "events, " : "", w.cqx[0] ? "start_poll, " : "", w.reads, link);
}

/* Each arming of a CQ may raise one event. */
static void record_events(void)
{
	unsigned surplus = 0;

	for (unsigned i = 0; i < w.cqs; i++)
		surplus += w.events[i] > w.arms[i] ? w.events[i] - w.arms[i] : 0;
	append(&w.end[0].calls, "~events %u\n", surplus);
	if (w.cqs == 1)
		append(&w.end[0].calls, "~order %u\n", w.early);
}

void world_close(void)
{
	fake_hold(false);
	read_async_events();
	read_cq_events(true);
	record_events();
	for (unsigned i = 0; i < ENDS; i++)
		if (CALL(ibv_destroy_qp(w.end[i].qp)) ||
		    (w.srqs && ibv_destroy_srq(w.end[i].srq)))
			violation(&w.end[i], "it cannot be destroyed");
	read_cq_events(true);
	for (unsigned i = 0; i < w.cqs; i++)
		if (CALL(ibv_destroy_cq(w.cq[i])))
			violation(NULL, "CQ %u cannot be destroyed", i);
	if (w.channel && ibv_destroy_comp_channel(w.channel))
		violation(NULL, "the channel cannot be destroyed");
	ibv_dealloc_mw(w.mw);
	ibv_dereg_mr(w.mr);
	ibv_dealloc_pd(w.pd);
	if (CALL(ibv_close_device(w.ctx)))
		violation(NULL, "the device cannot be closed");
	if (fake_counts().overruns || fake_counts().cqs || fake_counts().qps)
		violation(NULL, "%u overruns, %u CQs and %u QPs left", fake_counts().overruns,
			  fake_counts().cqs, fake_counts().qps);
}
