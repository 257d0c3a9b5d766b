/* SPDX-License-Identifier: BSD-2-Clause */
#include "signal/book.h"

#include <stdlib.h>

#define PATIENCE_NS 1000000000ull        /* with an answer, or a new agent */
#define HELD_UP_NS 500000000ull          /* of a second that an agent has */
#define AGAIN_NS 5000000000ull           /* a flow that was refused is told anew */
#define REST_NS 1000000000ull            /* a slot is not given away again before that */

static void put(struct ccs_book *b, struct ccs_slots *list, uint32_t slot)
{
	if (list->count++)
		b->entry[list->last].next = slot;
	else
		list->first = slot;
	list->last = slot;
}

static uint32_t get(struct ccs_book *b, struct ccs_slots *list)
{
	const uint32_t slot = list->first;

	list->first = b->entry[slot].next;
	list->count--;
	return slot;
}

static void enter(struct ccs_entry *e, enum ccs_entry_state state, uint64_t now_ns)
{
	e->state = (uint8_t)state;
	e->since_ns = now_ns;
}

static void queue(struct ccs_book *b, uint32_t slot)
{
	if (b->open && !b->entry[slot].queued)
		put(b, &b->todo, slot);
	b->entry[slot].queued = b->open;
}

static void release(struct ccs_book *b, uint32_t slot, uint64_t now_ns)
{
	enter(&b->entry[slot], CCS_ENTRY_FREE, now_ns);
	put(b, &b->unused, slot);
}

int ccs_book_init(struct ccs_book *b, struct ccs_page *page)
{
	*b = (struct ccs_book){ .page = page };
	b->entry = calloc(CCS_PAGE_SLOTS, sizeof(*b->entry));
	page->magic = CCS_PAGE_MAGIC;
	page->version = CCS_PAGE_VERSION;
	page->slots = CCS_PAGE_SLOTS;
	page->paths = CCS_PAGE_PATHS;
	return b->entry ? 0 : -1;
}

void ccs_book_destroy(struct ccs_book *b)
{
	free(b->entry);
}

/*
 * An agent that has not heard yet that a flow left would give its signals to the next one
 * in that slot: so what was left last is the last to be used.
 */
static bool pick(struct ccs_book *b, uint64_t now_ns, uint32_t *slot)
{
	const bool fresh = b->top < CCS_PAGE_SLOTS;

	if (b->unused.count && (!fresh || now_ns > b->entry[b->unused.first].since_ns + REST_NS))
		*slot = get(b, &b->unused);
	else if (fresh)
		*slot = b->top++;
	else
		return false;
	return true;
}

static void judge(const struct ccs_book *b, uint32_t slot, uint64_t now_ns);

struct ccs_slot *ccs_book_take(struct ccs_book *b, const struct ccs_signal_flow *flow,
			       uint64_t now_ns)
{
	struct ccs_slot *s;
	uint32_t slot;

	if (!pick(b, now_ns, &slot))
		return NULL;
	s = &b->page->slot[slot];
	b->entry[slot].flow = *flow;
	b->entry[slot].told = b->entry[slot].refused = false;
	b->entry[slot].sends = b->entry[slot].reads = (struct ccs_progress){ 0 };
	enter(&b->entry[slot], CCS_ENTRY_NEW, now_ns);
	queue(b, slot);
	b->flows++;
	atomic_store_explicit(&s->rate, 0, memory_order_relaxed);
	atomic_store_explicit(&s->sent, 0, memory_order_relaxed);
	atomic_store_explicit(&s->read, 0, memory_order_relaxed);
	atomic_store_explicit(&s->wants, flow->wants, memory_order_relaxed);
	atomic_store_explicit(&s->segment, 0, memory_order_relaxed);
	atomic_store_explicit(&s->period_us, flow->period_us, memory_order_relaxed);
	judge(b, slot, now_ns);
	return s;
}

void ccs_book_leave(struct ccs_book *b, const struct ccs_slot *s, uint64_t now_ns)
{
	const uint32_t slot = (uint32_t)(s - b->page->slot);

	b->flows--;
	if (!b->open) {
		release(b, slot, now_ns);
		return;
	}
	enter(&b->entry[slot], CCS_ENTRY_LEAVING, now_ns);
	queue(b, slot);
}

void ccs_book_open(struct ccs_book *b, uint64_t now_ns)
{
	b->sought = b->open = true;
	b->refuses = false;
	b->open_ns = now_ns;
	for (uint32_t slot = 0; slot < b->top; slot++) {
		if (b->entry[slot].state == CCS_ENTRY_FREE)
			continue;
		enter(&b->entry[slot], CCS_ENTRY_NEW, now_ns);
		b->entry[slot].refused = false;
		queue(b, slot);
	}
}

void ccs_book_close(struct ccs_book *b, uint64_t now_ns)
{
	if (b->open)
		b->open_ns = now_ns;
	b->sought = true;
	b->open = false;
	b->awaited = 0;
	b->todo.count = 0;
	for (uint32_t slot = 0; slot < b->top; slot++) {
		struct ccs_entry *e = &b->entry[slot];

		e->queued = e->told = false;
		e->awaited = 0;
		if (e->state == CCS_ENTRY_LEAVING)
			release(b, slot, now_ns);
	}
}

bool ccs_book_next(struct ccs_book *b, uint32_t *slot, bool *came)
{
	struct ccs_entry *e;

	while (b->todo.count) {
		e = &b->entry[b->todo.first];
		*slot = b->todo.first;
		*came = e->state == CCS_ENTRY_NEW;
		if (*came || e->told)
			return true;
		get(b, &b->todo); /* it came and left unnoticed */
		e->queued = false;
		release(b, *slot, e->since_ns);
	}
	return false;
}

void ccs_book_told(struct ccs_book *b, bool came, uint64_t now_ns)
{
	const uint32_t slot = get(b, &b->todo);
	struct ccs_entry *e = &b->entry[slot];

	e->queued = false;
	if (!came) {
		release(b, slot, now_ns);
		return;
	}
	e->told = true;
	e->awaited++;
	b->awaited++;
	if (e->state == CCS_ENTRY_NEW)
		enter(e, CCS_ENTRY_ASKED, now_ns);
	else
		queue(b, slot);
}

int ccs_book_answer(struct ccs_book *b, uint32_t slot, int error, uint64_t now_ns)
{
	struct ccs_entry *e = slot < b->top ? &b->entry[slot] : NULL;

	if (!e || !e->awaited)
		return -1;
	b->awaited--;
	if (--e->awaited || e->state != CCS_ENTRY_ASKED)
		return 0; /* of a flow that was there before */
	e->refused = error;
	e->told = !error;
	enter(e, error ? CCS_ENTRY_REFUSED : CCS_ENTRY_TAKEN, now_ns);
	return 0;
}

static const struct ccs_path *path_at(const struct ccs_page *page, const _Atomic uint32_t *index)
{
	const uint32_t at = atomic_load_explicit(index, memory_order_acquire);

	return at && at <= CCS_PAGE_PATHS ? &page->path[at - 1] : NULL;
}

const struct ccs_path *ccs_book_path(const struct ccs_page *page, const struct ccs_slot *slot)
{
	return path_at(page, &slot->path);
}

const struct ccs_path *ccs_book_inbound(const struct ccs_page *page, const struct ccs_slot *slot)
{
	return path_at(page, &slot->inbound);
}

/* Telemetry comes while a flow sends, or reads, and a little later at first. */
static bool is_stale(const struct ccs_progress *p, const struct ccs_path *path, uint64_t now_ns)
{
	struct ccs_path_telemetry t;

	if (!p->since_ns || now_ns < p->since_ns + CCS_TELEMETRY_LATE_NS)
		return false;
	return !path || !ccs_path_read(path, &t) || (!t.nhops && !(t.advised_rate > 0)) ||
	       now_ns > t.updated_ns + CCS_TELEMETRY_LATE_NS;
}

/* Of a flow that the agent has: the peer's, as this one says. */
static enum ccs_verdict judge_peer(const struct ccs_book *b, uint32_t slot, bool early,
				   uint64_t now_ns)
{
	const struct ccs_path *path = ccs_book_path(b->page, &b->page->slot[slot]);
	const uint32_t wants = b->entry[slot].flow.wants;
	const uint64_t heard = path ? atomic_load_explicit(&path->heard_ns, memory_order_acquire)
				    : 0;

	if (!heard || now_ns > heard + CCS_HEARD_LATE_NS)
		return early ? CCS_SIGNAL_WAITING : CCS_SIGNAL_NO_PEER;
	if (wants & ~atomic_load_explicit(&path->flags, memory_order_relaxed))
		return CCS_SIGNAL_UNABLE;
	if ((wants & CCS_PEER_RECORDS) && is_stale(&b->entry[slot].sends, path, now_ns))
		return CCS_SIGNAL_STALE;
	return CCS_SIGNAL_OK;
}

/* The same of data that it READs: what this host's agent can report of them. */
static enum ccs_verdict judge_inbound(const struct ccs_book *b, uint32_t slot, uint64_t now_ns)
{
	const struct ccs_slot *s = &b->page->slot[slot];
	const uint32_t wants = b->entry[slot].flow.wants;

	if (wants & ~atomic_load_explicit(&s->inbound_flags, memory_order_relaxed))
		return CCS_SIGNAL_UNABLE;
	if ((wants & CCS_PEER_RECORDS) &&
	    is_stale(&b->entry[slot].reads, ccs_book_inbound(b->page, s), now_ns))
		return CCS_SIGNAL_STALE;
	return CCS_SIGNAL_OK;
}

/* Whether this host's agent serves the flow. */
static enum ccs_verdict judge_agent(const struct ccs_book *b, uint32_t slot, bool early,
				    uint64_t now_ns)
{
	const struct ccs_entry *e = &b->entry[slot];
	uint64_t alive = atomic_load_explicit(&b->page->beat_ns, memory_order_relaxed);

	if (alive < b->open_ns)
		alive = b->open_ns;
	if (!b->sought)
		return CCS_SIGNAL_WAITING;
	if (b->refuses)
		return CCS_SIGNAL_REFUSED;
	if (!b->open)
		return b->open_ns && now_ns <= b->open_ns + PATIENCE_NS ? CCS_SIGNAL_WAITING
									: CCS_SIGNAL_NO_AGENT;
	if (now_ns > alive + CCS_BEAT_LATE_NS)
		return CCS_SIGNAL_NO_AGENT;
	if (e->refused)
		return CCS_SIGNAL_REFUSED;
	if (e->state != CCS_ENTRY_TAKEN)
		return early ? CCS_SIGNAL_WAITING : CCS_SIGNAL_NO_AGENT;
	return CCS_SIGNAL_OK;
}

static void set(_Atomic uint32_t *verdict, enum ccs_verdict now)
{
	if (atomic_load_explicit(verdict, memory_order_relaxed) != now)
		atomic_store_explicit(verdict, now, memory_order_relaxed);
}

static void judge(const struct ccs_book *b, uint32_t slot, uint64_t now_ns)
{
	const bool early = now_ns <= b->entry[slot].since_ns + PATIENCE_NS;
	const enum ccs_verdict agent = judge_agent(b, slot, early, now_ns);
	struct ccs_slot *s = &b->page->slot[slot];

	set(&s->verdict, agent != CCS_SIGNAL_OK ? agent : judge_peer(b, slot, early, now_ns));
	set(&s->inbound_verdict, agent != CCS_SIGNAL_OK ? agent : judge_inbound(b, slot, now_ns));
}

/* Whether its bytes change from one judgement to the next. */
static void watch(struct ccs_progress *p, const _Atomic uint64_t *bytes, uint64_t now_ns)
{
	const uint64_t now = atomic_load_explicit(bytes, memory_order_relaxed);

	if (now == p->bytes)
		p->since_ns = 0;
	else if (!p->since_ns)
		p->since_ns = now_ns;
	p->bytes = now;
}

bool ccs_book_held_up(struct ccs_book *b, uint64_t due_ns, uint64_t now_ns)
{
	b->held_up = !b->held_up && now_ns > due_ns && now_ns - due_ns > HELD_UP_NS;
	return b->held_up;
}

uint32_t ccs_book_judge(struct ccs_book *b, uint32_t slot, uint32_t n, uint64_t now_ns)
{
	for (; slot < b->top && n; slot++, n--) {
		struct ccs_entry *e = &b->entry[slot];

		if (e->state == CCS_ENTRY_FREE || e->state == CCS_ENTRY_LEAVING)
			continue;
		if (e->state == CCS_ENTRY_REFUSED && now_ns > e->since_ns + AGAIN_NS && b->open) {
			enter(e, CCS_ENTRY_NEW, now_ns);
			queue(b, slot);
		}
		watch(&e->sends, &b->page->slot[slot].sent, now_ns);
		watch(&e->reads, &b->page->slot[slot].read, now_ns);
		judge(b, slot, now_ns);
	}
	return slot < b->top ? slot : 0;
}
