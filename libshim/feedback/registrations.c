/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/registrations.h"

#include <stdlib.h>

#define REPLY_TIMEOUT_NS 1000000000ull   /* for a reply, or for a new agent */
#define LATE_NS 500000000ull             /* half of the agent's timeout */
#define RETRY_NS 5000000000ull           /* a refused flow is registered again after this */
#define REUSE_NS 1000000000ull           /* a freed slot is not reused before this */

static void append(struct ccs_registrations *r, struct ccs_reg_list *list, uint32_t slot)
{
	if (list->count++)
		r->entry[list->last].next = slot;
	else
		list->first = slot;
	list->last = slot;
}

static uint32_t pop_first(struct ccs_registrations *r, struct ccs_reg_list *list)
{
	const uint32_t slot = list->first;

	list->first = r->entry[slot].next;
	list->count--;
	return slot;
}

static void set_state(struct ccs_registration *e, enum ccs_reg_state state, uint64_t now_ns)
{
	e->state = (uint8_t)state;
	e->since_ns = now_ns;
}

static void queue_request(struct ccs_registrations *r, uint32_t slot)
{
	if (r->connected && !r->entry[slot].queued)
		append(r, &r->todo, slot);
	r->entry[slot].queued = r->connected;
}

static void release(struct ccs_registrations *r, uint32_t slot, uint64_t now_ns)
{
	set_state(&r->entry[slot], CCS_REG_FREE, now_ns);
	append(r, &r->unused, slot);
}

int ccs_reg_init(struct ccs_registrations *r, struct ccs_shm *shm)
{
	*r = (struct ccs_registrations){ .shm = shm };
	r->entry = calloc(CCS_SHM_SLOTS, sizeof(*r->entry));
	shm->magic = CCS_SHM_MAGIC;
	shm->version = CCS_SHM_VERSION;
	shm->slots = CCS_SHM_SLOTS;
	shm->paths = CCS_SHM_PATHS;
	return r->entry ? 0 : -1;
}

/*
 * An agent that has not yet processed a REMOVE would deliver that flow's feedback to the next flow
 * in the slot. Slots freed most recently are therefore reused last.
 */
static bool claim_slot(struct ccs_registrations *r, uint64_t now_ns, uint32_t *slot)
{
	const bool fresh = r->top < CCS_SHM_SLOTS;

	if (r->unused.count && (!fresh || now_ns > r->entry[r->unused.first].since_ns + REUSE_NS))
		*slot = pop_first(r, &r->unused);
	else if (fresh)
		*slot = r->top++;
	else
		return false;
	return true;
}

static void update_slot(const struct ccs_registrations *r, uint32_t slot, uint64_t now_ns);

struct ccs_slot *ccs_reg_add(struct ccs_registrations *r, const struct ccs_feedback_flow *flow,
			     uint64_t now_ns)
{
	struct ccs_slot *s;
	uint32_t slot;

	if (!claim_slot(r, now_ns, &slot))
		return NULL;
	s = &r->shm->slot[slot];
	r->entry[slot].flow = *flow;
	r->entry[slot].add_sent = r->entry[slot].refused = false;
	r->entry[slot].sends = r->entry[slot].reads = (struct ccs_progress){ 0 };
	set_state(&r->entry[slot], CCS_REG_NEW, now_ns);
	queue_request(r, slot);
	r->flows++;
	atomic_store_explicit(&s->rate, 0, memory_order_relaxed);
	atomic_store_explicit(&s->sent, 0, memory_order_relaxed);
	atomic_store_explicit(&s->read, 0, memory_order_relaxed);
	atomic_store_explicit(&s->requested, flow->requested, memory_order_relaxed);
	atomic_store_explicit(&s->segment, 0, memory_order_relaxed);
	atomic_store_explicit(&s->period_us, flow->period_us, memory_order_relaxed);
	update_slot(r, slot, now_ns);
	return s;
}

void ccs_reg_remove(struct ccs_registrations *r, const struct ccs_slot *s, uint64_t now_ns)
{
	const uint32_t slot = (uint32_t)(s - r->shm->slot);

	r->flows--;
	if (!r->connected) {
		release(r, slot, now_ns);
		return;
	}
	set_state(&r->entry[slot], CCS_REG_REMOVING, now_ns);
	queue_request(r, slot);
}

void ccs_reg_agent_connected(struct ccs_registrations *r, uint64_t now_ns)
{
	r->attempted = r->connected = true;
	r->process_refused = false;
	r->changed_ns = now_ns;
	for (uint32_t slot = 0; slot < r->top; slot++) {
		if (r->entry[slot].state == CCS_REG_FREE)
			continue;
		set_state(&r->entry[slot], CCS_REG_NEW, now_ns);
		r->entry[slot].refused = false;
		queue_request(r, slot);
	}
}

void ccs_reg_agent_lost(struct ccs_registrations *r, uint64_t now_ns)
{
	if (r->connected)
		r->changed_ns = now_ns;
	r->attempted = true;
	r->connected = false;
	r->replies_due = 0;
	r->todo.count = 0;
	for (uint32_t slot = 0; slot < r->top; slot++) {
		struct ccs_registration *e = &r->entry[slot];

		e->queued = e->add_sent = false;
		e->replies_due = 0;
		if (e->state == CCS_REG_REMOVING)
			release(r, slot, now_ns);
	}
}

bool ccs_reg_next_request(struct ccs_registrations *r, uint32_t *slot, bool *add)
{
	struct ccs_registration *e;

	while (r->todo.count) {
		e = &r->entry[r->todo.first];
		*slot = r->todo.first;
		*add = e->state == CCS_REG_NEW;
		if (*add || e->add_sent)
			return true;
		pop_first(r, &r->todo); /* removed before its ADD was sent */
		e->queued = false;
		release(r, *slot, e->since_ns);
	}
	return false;
}

void ccs_reg_request_sent(struct ccs_registrations *r, bool add, uint64_t now_ns)
{
	const uint32_t slot = pop_first(r, &r->todo);
	struct ccs_registration *e = &r->entry[slot];

	e->queued = false;
	if (!add) {
		release(r, slot, now_ns);
		return;
	}
	e->add_sent = true;
	e->replies_due++;
	r->replies_due++;
	if (e->state == CCS_REG_NEW)
		set_state(e, CCS_REG_REQUESTED, now_ns);
	else
		queue_request(r, slot);
}

int ccs_reg_reply(struct ccs_registrations *r, uint32_t slot, int error, uint64_t now_ns)
{
	struct ccs_registration *e = slot < r->top ? &r->entry[slot] : NULL;

	if (!e || !e->replies_due)
		return -1;
	r->replies_due--;
	if (--e->replies_due || e->state != CCS_REG_REQUESTED)
		return 0; /* the reply is for an earlier flow in the slot */
	e->refused = error;
	e->add_sent = !error;
	set_state(e, error ? CCS_REG_REFUSED : CCS_REG_ACCEPTED, now_ns);
	return 0;
}

const struct ccs_shm_path *ccs_reg_path(const struct ccs_shm *shm, const _Atomic uint32_t *index)
{
	const uint32_t at = atomic_load_explicit(index, memory_order_acquire);

	return at && at <= CCS_SHM_PATHS ? &shm->path[at - 1] : NULL;
}

/* Telemetry arrives only while a flow sends or READs, and starts with a short delay. */
static bool is_stale(const struct ccs_progress *p, const struct ccs_shm_path *path, uint64_t now_ns)
{
	struct ccs_path_telemetry t;

	if (!p->since_ns || now_ns < p->since_ns + CCS_TELEMETRY_LATE_NS)
		return false;
	return !path || !ccs_shm_path_read(path, &t) || (!t.nhops && !(t.advised_rate > 0)) ||
	       now_ns > t.updated_ns + CCS_TELEMETRY_LATE_NS;
}

/* The status of an accepted flow, from what the local agent reports about the peer's agent. */
static enum ccs_feedback_status peer_status(const struct ccs_registrations *r, uint32_t slot,
					    bool early, uint64_t now_ns)
{
	const struct ccs_shm_path *path = ccs_reg_path(r->shm, &r->shm->slot[slot].path);
	const uint32_t requested = r->entry[slot].flow.requested;
	const uint64_t seen_ns = path ? atomic_load_explicit(&path->last_seen_ns,
							     memory_order_acquire) : 0;

	if (!seen_ns || now_ns > seen_ns + CCS_PEER_SILENT_NS)
		return early ? CCS_FEEDBACK_WAITING : CCS_FEEDBACK_NO_PEER;
	if (requested & ~atomic_load_explicit(&path->flags, memory_order_relaxed))
		return CCS_FEEDBACK_UNABLE;
	if ((requested & CCS_PEER_RECORDS) && is_stale(&r->entry[slot].sends, path, now_ns))
		return CCS_FEEDBACK_STALE;
	return CCS_FEEDBACK_OK;
}

/* The status for data that the flow READs, about which the local agent reports. */
static enum ccs_feedback_status inbound_status(const struct ccs_registrations *r, uint32_t slot,
					       uint64_t now_ns)
{
	const struct ccs_slot *s = &r->shm->slot[slot];
	const uint32_t requested = r->entry[slot].flow.requested;

	if (requested & ~atomic_load_explicit(&s->inbound_flags, memory_order_relaxed))
		return CCS_FEEDBACK_UNABLE;
	if ((requested & CCS_PEER_RECORDS) &&
	    is_stale(&r->entry[slot].reads, ccs_reg_path(r->shm, &s->inbound), now_ns))
		return CCS_FEEDBACK_STALE;
	return CCS_FEEDBACK_OK;
}

static enum ccs_feedback_status agent_status(const struct ccs_registrations *r, uint32_t slot,
					     bool early, uint64_t now_ns)
{
	const struct ccs_registration *e = &r->entry[slot];
	uint64_t alive = atomic_load_explicit(&r->shm->heartbeat_ns, memory_order_relaxed);

	if (alive < r->changed_ns)
		alive = r->changed_ns;
	if (!r->attempted)
		return CCS_FEEDBACK_WAITING;
	if (r->process_refused)
		return CCS_FEEDBACK_REFUSED;
	if (!r->connected)
		return r->changed_ns && now_ns <= r->changed_ns + REPLY_TIMEOUT_NS
		       ? CCS_FEEDBACK_WAITING : CCS_FEEDBACK_NO_AGENT;
	if (now_ns > alive + CCS_HEARTBEAT_LATE_NS)
		return CCS_FEEDBACK_NO_AGENT;
	if (e->refused)
		return CCS_FEEDBACK_REFUSED;
	if (e->state != CCS_REG_ACCEPTED)
		return early ? CCS_FEEDBACK_WAITING : CCS_FEEDBACK_NO_AGENT;
	return CCS_FEEDBACK_OK;
}

static void write_status(_Atomic uint32_t *status, enum ccs_feedback_status now)
{
	if (atomic_load_explicit(status, memory_order_relaxed) != now)
		atomic_store_explicit(status, now, memory_order_relaxed);
}

static void update_slot(const struct ccs_registrations *r, uint32_t slot, uint64_t now_ns)
{
	const bool early = now_ns <= r->entry[slot].since_ns + REPLY_TIMEOUT_NS;
	const enum ccs_feedback_status agent = agent_status(r, slot, early, now_ns);
	struct ccs_slot *s = &r->shm->slot[slot];

	write_status(&s->status,
		     agent != CCS_FEEDBACK_OK ? agent : peer_status(r, slot, early, now_ns));
	write_status(&s->inbound_status,
		     agent != CCS_FEEDBACK_OK ? agent : inbound_status(r, slot, now_ns));
}

static void update_progress(struct ccs_progress *p, const _Atomic uint64_t *bytes, uint64_t now_ns)
{
	const uint64_t now = atomic_load_explicit(bytes, memory_order_relaxed);

	if (now == p->bytes)
		p->since_ns = 0;
	else if (!p->since_ns)
		p->since_ns = now_ns;
	p->bytes = now;
}

bool ccs_reg_update_late(struct ccs_registrations *r, uint64_t due_ns, uint64_t now_ns)
{
	r->last_update_late = !r->last_update_late && now_ns > due_ns && now_ns - due_ns > LATE_NS;
	return r->last_update_late;
}

uint32_t ccs_reg_update_status(struct ccs_registrations *r, uint32_t slot, uint32_t n,
			       uint64_t now_ns)
{
	for (; slot < r->top && n; slot++, n--) {
		struct ccs_registration *e = &r->entry[slot];

		if (e->state == CCS_REG_FREE || e->state == CCS_REG_REMOVING)
			continue;
		if (e->state == CCS_REG_REFUSED && now_ns > e->since_ns + RETRY_NS && r->connected) {
			set_state(e, CCS_REG_NEW, now_ns);
			queue_request(r, slot);
		}
		update_progress(&e->sends, &r->shm->slot[slot].sent, now_ns);
		update_progress(&e->reads, &r->shm->slot[slot].read, now_ns);
		update_slot(r, slot, now_ns);
	}
	return slot < r->top ? slot : 0;
}
