/* SPDX-License-Identifier: BSD-2-Clause */
/* Registrations: the requests to an agent, and the results of its replies. Time is an argument. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "seed.h"
#include "feedback/registrations.h"

#define MS 1000000ull
#define S 1000000000ull

struct fixture {
	struct ccs_registrations book;
	struct ccs_shm *page;
	uint64_t now;
};

static int open_book(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	x->page = mmap(NULL, sizeof(*x->page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(x->page, MAP_FAILED);
	x->now = 1000 * S;
	*state = x;
	return ccs_reg_init(&x->book, x->page);
}

static int close_book(void **state)
{
	struct fixture *x = *state;

	free(x->book.entry);
	munmap(x->page, sizeof(*x->page));
	free(x);
	return 0;
}

static struct ccs_slot *take_wanting(struct fixture *x, uint32_t qpn, uint32_t wants)
{
	const struct ccs_feedback_flow flow = { .device = "fake0", .port = 1, .local_qpn = qpn,
					      .requested = wants };

	return ccs_reg_add(&x->book, &flow, x->now);
}

static struct ccs_slot *take(struct fixture *x, uint32_t qpn)
{
	return take_wanting(x, qpn, CCS_PEER_NP);
}

static uint32_t number(const struct fixture *x, const struct ccs_slot *s)
{
	return (uint32_t)(s - x->page->slot);
}

/* Send the agent all changes, and count the flows added and removed. */
static void tell(struct fixture *x, unsigned *came, unsigned *left)
{
	uint32_t slot;
	bool is_new;

	*came = *left = 0;
	while (ccs_reg_next_request(&x->book, &slot, &is_new)) {
		ccs_reg_request_sent(&x->book, is_new, x->now);
		++*(is_new ? came : left);
	}
}

static void expect_sent(struct fixture *x, unsigned came, unsigned left)
{
	unsigned n, m;

	tell(x, &n, &m);
	assert_int_equal(n, came);
	assert_int_equal(m, left);
}

static void peer(struct fixture *x, struct ccs_slot *s, uint32_t flags)
{
	atomic_store(&s->path, 7);
	atomic_store(&x->page->path[6].last_seen_ns, x->now);
	atomic_store(&x->page->path[6].flags, flags);
}

static enum ccs_feedback_status status(struct fixture *x, struct ccs_slot *s)
{
	uint32_t at = 0;

	while ((at = ccs_reg_update_status(&x->book, at, 3, x->now)))
		;
	return atomic_load(&s->status);
}

static void beat(struct fixture *x)
{
	atomic_store(&x->page->heartbeat_ns, x->now);
}

/* A flow that the agent has, with telemetry wanted. */
static struct ccs_slot *take_with_telemetry(struct fixture *x)
{
	struct ccs_slot *s;

	s = take_wanting(x, 5, CCS_PEER_TELEMETRY);
	ccs_reg_agent_connected(&x->book, x->now);
	expect_sent(x, 1, 0);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), 0, x->now), 0);
	return s;
}

/* Tenths of a second later, of which it has sent in each; what is the verdict? */
static enum ccs_feedback_status sends_for(struct fixture *x, struct ccs_slot *s, unsigned tenths, bool told)
{
	struct ccs_path_telemetry t = { .nhops = 1, .hops = { { .capacity = 1e9 } } };
	enum ccs_feedback_status v = CCS_FEEDBACK_WAITING;

	while (tenths--) {
		x->now += 100 * MS;
		atomic_fetch_add(&s->sent, 1000);
		beat(x);
		peer(x, s, CCS_PEER_TELEMETRY);
		t.updated_ns = x->now;
		if (told)
			ccs_shm_path_write(&x->page->path[6], &t);
		v = status(x, s);
	}
	return v;
}

#define with_book(name_) TEST_WITH(name_, open_book, close_book)

with_book(telemetry_has_to_come_while_it_sends)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take_with_telemetry(x);

	peer(x, s, CCS_PEER_NP);
	assert_int_equal(status(x, s), CCS_FEEDBACK_UNABLE);
	assert_int_equal(sends_for(x, s, 3, false), CCS_FEEDBACK_OK);
	assert_int_equal(sends_for(x, s, 4, false), CCS_FEEDBACK_STALE);
	assert_int_equal(sends_for(x, s, 1, true), CCS_FEEDBACK_OK);
	assert_int_equal(sends_for(x, s, 4, false), CCS_FEEDBACK_OK);
	assert_int_equal(sends_for(x, s, 3, false), CCS_FEEDBACK_STALE);
	x->now += 100 * MS;                      /* it is idle, and may begin again */
	beat(x);
	peer(x, s, CCS_PEER_TELEMETRY);
	assert_int_equal(status(x, s), CCS_FEEDBACK_OK);
	assert_int_equal(sends_for(x, s, 4, false), CCS_FEEDBACK_OK);
}

static void taken(struct fixture *x, struct ccs_slot *s)
{
	ccs_reg_agent_connected(&x->book, x->now);
	expect_sent(x, 1, 0);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), 0, x->now), 0);
}

static enum ccs_feedback_status inbound_status(struct fixture *x, struct ccs_slot *s)
{
	status(x, s);
	return atomic_load(&s->inbound_status);
}

/* Marks on data from a peer are seen here, whatever the peer's agent supports. */
with_book(of_reads_this_hosts_agent_is_asked)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take(x, 5);

	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_WAITING);
	taken(x, s);
	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_UNABLE); /* as an older agent is */
	peer(x, s, CCS_PEER_NP);
	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_UNABLE);
	assert_int_equal(atomic_load(&s->status), CCS_FEEDBACK_OK);
	peer(x, s, 0);
	atomic_store(&s->inbound_flags, CCS_PEER_NP);
	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_OK);
	assert_int_equal(atomic_load(&s->status), CCS_FEEDBACK_UNABLE);
	x->now += CCS_PEER_SILENT_NS + MS;
	beat(x);
	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_OK);
	assert_int_equal(atomic_load(&s->status), CCS_FEEDBACK_NO_PEER);
	x->now += CCS_HEARTBEAT_LATE_NS + MS;
	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_NO_AGENT);
}

/* Tenths of a second, in each of which it has READ; records are in another place than 6. */
static enum ccs_feedback_status reads_for(struct fixture *x, struct ccs_slot *s, unsigned tenths, bool told)
{
	struct ccs_path_telemetry t = { .nhops = 1, .hops = { { .capacity = 1e9 } } };
	enum ccs_feedback_status v = CCS_FEEDBACK_WAITING;

	while (tenths--) {
		x->now += 100 * MS;
		atomic_fetch_add(&s->read, 1000);
		beat(x);
		t.updated_ns = x->now;
		if (told)
			ccs_shm_path_write(&x->page->path[8], &t);
		v = inbound_status(x, s);
	}
	return v;
}

with_book(telemetry_of_reads_has_to_come_while_it_reads)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take_with_telemetry(x);

	peer(x, s, CCS_PEER_TELEMETRY);
	atomic_store(&s->inbound_flags, CCS_PEER_NP);
	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_UNABLE);
	atomic_store(&s->inbound_flags, CCS_PEER_TELEMETRY);
	assert_int_equal(sends_for(x, s, 7, true), CCS_FEEDBACK_OK);
	assert_int_equal(inbound_status(x, s), CCS_FEEDBACK_OK); /* it has had no READ */
	assert_int_equal(reads_for(x, s, 5, false), CCS_FEEDBACK_OK);
	assert_int_equal(reads_for(x, s, 2, false), CCS_FEEDBACK_STALE);
	atomic_store(&s->inbound, 9);
	assert_int_equal(reads_for(x, s, 1, false), CCS_FEEDBACK_STALE);
	assert_int_equal(reads_for(x, s, 1, true), CCS_FEEDBACK_OK);
	assert_int_equal(reads_for(x, s, 7, false), CCS_FEEDBACK_STALE);
	atomic_store(&s->inbound, CCS_SHM_PATHS + 1);
	assert_int_equal(reads_for(x, s, 1, true), CCS_FEEDBACK_STALE);
	assert_int_equal(sends_for(x, s, 1, true), CCS_FEEDBACK_OK);
}

with_book(one_flow_from_end_to_end)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take(x, 5);

	assert_int_equal(x->page->magic, CCS_SHM_MAGIC);
	assert_int_equal(status(x, s), CCS_FEEDBACK_WAITING);
	expect_sent(x, 0, 0);                    /* no agent exists */
	ccs_reg_agent_connected(&x->book, x->now);
	expect_sent(x, 1, 0);
	assert_int_equal(status(x, s), CCS_FEEDBACK_WAITING);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), 0, x->now), 0);
	assert_int_equal(status(x, s), CCS_FEEDBACK_WAITING);
	peer(x, s, CCS_PEER_NP);
	assert_int_equal(status(x, s), CCS_FEEDBACK_OK);
	ccs_reg_remove(&x->book, s, x->now);
	expect_sent(x, 0, 1);
	expect_sent(x, 0, 0);
	assert_int_equal(x->book.flows, 0);
}

with_book(each_verdict_has_its_cause)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take(x, 5);

	ccs_reg_agent_lost(&x->book, x->now);        /* no agent listens */
	assert_int_equal(status(x, s), CCS_FEEDBACK_NO_AGENT);
	assert_int_equal(atomic_load(&take(x, 6)->status), CCS_FEEDBACK_NO_AGENT);
	ccs_reg_remove(&x->book, s + 1, x->now);
	x->book.process_refused = true;
	assert_int_equal(status(x, s), CCS_FEEDBACK_REFUSED);
	taken(x, s);
	assert_int_equal(status(x, s), CCS_FEEDBACK_WAITING);
	peer(x, s, 0);
	assert_int_equal(status(x, s), CCS_FEEDBACK_UNABLE);
	peer(x, s, CCS_PEER_NP | CCS_PEER_TELEMETRY);
	assert_int_equal(status(x, s), CCS_FEEDBACK_OK);
	x->now += CCS_PEER_SILENT_NS;
	beat(x);
	assert_int_equal(status(x, s), CCS_FEEDBACK_OK);
	x->now += MS;
	assert_int_equal(status(x, s), CCS_FEEDBACK_NO_PEER);
	peer(x, s, CCS_PEER_NP);
	assert_int_equal(status(x, s), CCS_FEEDBACK_OK);
	x->now += CCS_HEARTBEAT_LATE_NS;
	assert_int_equal(status(x, s), CCS_FEEDBACK_NO_AGENT); /* it hangs */
	beat(x);
	assert_int_equal(status(x, s), CCS_FEEDBACK_OK);
	ccs_reg_agent_lost(&x->book, x->now);        /* it died: another agent may start soon */
	assert_int_equal(status(x, s), CCS_FEEDBACK_WAITING);
	x->now += S;
	ccs_reg_agent_lost(&x->book, x->now);        /* no */
	assert_int_equal(status(x, s), CCS_FEEDBACK_WAITING);
	x->now += MS;
	assert_int_equal(status(x, s), CCS_FEEDBACK_NO_AGENT);
	taken(x, s);
	peer(x, s, CCS_PEER_NP);
	assert_int_equal(status(x, s), CCS_FEEDBACK_OK);
}

/* An update is late after half a second, but not twice in a row. */
with_book(an_update_is_late_once)
{
	struct fixture *x = *state;
	const uint64_t due = x->now;

	assert_false(ccs_reg_update_late(&x->book, UINT64_MAX, x->now)); /* no update was due */
	assert_false(ccs_reg_update_late(&x->book, due, due));
	assert_false(ccs_reg_update_late(&x->book, due + S, due));
	assert_false(ccs_reg_update_late(&x->book, due, due + S / 2));
	assert_true(ccs_reg_update_late(&x->book, due, due + S / 2 + 1));
	assert_false(ccs_reg_update_late(&x->book, due, due + 3 * S));
	assert_true(ccs_reg_update_late(&x->book, due, due + 3 * S));
}

with_book(a_peer_that_does_not_answer_is_missing)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take(x, 5);

	ccs_reg_agent_connected(&x->book, x->now);
	expect_sent(x, 1, 0);
	x->now += S + MS;
	beat(x);
	assert_int_equal(status(x, s), CCS_FEEDBACK_NO_AGENT);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), 0, x->now), 0);
	assert_int_equal(status(x, s), CCS_FEEDBACK_WAITING); /* for the peer */
	x->now += S + MS;
	beat(x);
	assert_int_equal(status(x, s), CCS_FEEDBACK_NO_PEER);
	atomic_store(&s->path, CCS_SHM_PATHS + 1);
	assert_int_equal(status(x, s), CCS_FEEDBACK_NO_PEER);
}

with_book(what_is_refused_is_tried_again)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take(x, 5);

	ccs_reg_agent_connected(&x->book, x->now);
	expect_sent(x, 1, 0);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), EPERM, x->now), 0);
	assert_int_equal(status(x, s), CCS_FEEDBACK_REFUSED);
	expect_sent(x, 0, 0);
	x->now += 5 * S + MS;
	beat(x);
	assert_int_equal(status(x, s), CCS_FEEDBACK_REFUSED);
	expect_sent(x, 1, 0);
	assert_int_equal(status(x, s), CCS_FEEDBACK_REFUSED);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), EPERM, x->now), 0);
	ccs_reg_remove(&x->book, s, x->now);
	expect_sent(x, 0, 0);                    /* it does not have it */
}

with_book(malformed_replies_are_refused)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take(x, 5);

	ccs_reg_agent_connected(&x->book, x->now);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), 0, x->now), -1);
	expect_sent(x, 1, 0);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s) + 1, 0, x->now), -1);
	assert_int_equal(ccs_reg_reply(&x->book, UINT32_MAX, 0, x->now), -1);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), 0, x->now), 0);
	assert_int_equal(ccs_reg_reply(&x->book, number(x, s), 0, x->now), -1);
}

/* While its request is sent, or before. */
with_book(a_flow_may_leave_at_any_time)
{
	struct fixture *x = *state;
	struct ccs_slot *s = take(x, 5);
	uint32_t slot;
	bool came;

	ccs_reg_agent_connected(&x->book, x->now);
	assert_true(ccs_reg_next_request(&x->book, &slot, &came) && came);
	ccs_reg_remove(&x->book, s, x->now);     /* before the reply */
	ccs_reg_request_sent(&x->book, came, x->now);
	assert_true(ccs_reg_next_request(&x->book, &slot, &came) && !came);
	ccs_reg_request_sent(&x->book, came, x->now);
	assert_int_equal(ccs_reg_reply(&x->book, slot, 0, x->now), 0);
	s = take(x, 6);
	ccs_reg_remove(&x->book, s, x->now);
	expect_sent(x, 0, 0);                    /* it came and left unnoticed */
}

/* An agent that is late gives no signals to the slot's next owner. */
with_book(slots_rest_before_they_are_used_again)
{
	struct fixture *x = *state;
	struct ccs_slot *a = take(x, 1), *b;

	ccs_reg_remove(&x->book, a, x->now);
	b = take(x, 2);
	assert_ptr_not_equal(a, b);
	x->now += S + MS;
	assert_ptr_equal(take(x, 3), a);
	for (uint32_t i = 2; i < CCS_SHM_SLOTS; i++)
		assert_non_null(take(x, 10 + i));
	assert_null(take(x, 4));
	ccs_reg_remove(&x->book, b, x->now);
	assert_ptr_equal(take(x, 4), b);         /* at once, if no other slot is free */
	assert_null(take(x, 5));
	assert_int_equal(x->book.flows, CCS_SHM_SLOTS);
}

/* -- any order of everything: the agent ends up with exactly the flows that there are -- */

enum { MANY = 300, STEPS = 20000 };

struct world {
	struct fixture *x;
	struct ccs_slot *mine[MANY];
	bool has[CCS_SHM_SLOTS];        /* the agent */
	uint32_t due[STEPS], ndue;       /* answers */
};

static void agent_receives(struct world *w)
{
	uint32_t slot;
	bool came;

	if (!w->x->book.connected || !ccs_reg_next_request(&w->x->book, &slot, &came))
		return;
	assert_int_equal(w->has[slot], !came);
	w->has[slot] = came;
	if (came)
		w->due[w->ndue++] = slot;
	if (seed_below(4) == 0) { /* a flow is removed while its request is sent */
		const uint32_t i = (uint32_t)seed_below(MANY);

		if (w->mine[i])
			ccs_reg_remove(&w->x->book, w->mine[i], w->x->now);
		w->mine[i] = NULL;
	}
	ccs_reg_request_sent(&w->x->book, came, w->x->now);
}

static void agent_answers(struct world *w)
{
	if (!w->ndue)
		return;
	assert_int_equal(ccs_reg_reply(&w->x->book, w->due[0], 0, w->x->now), 0);
	memmove(w->due, w->due + 1, --w->ndue * sizeof(*w->due));
}

static void agent_comes_or_goes(struct world *w)
{
	memset(w->has, 0, sizeof(w->has));
	w->ndue = 0;
	if (w->x->book.connected)
		ccs_reg_agent_lost(&w->x->book, w->x->now);
	else
		ccs_reg_agent_connected(&w->x->book, w->x->now);
}

static void flow_comes_or_leaves(struct world *w)
{
	struct ccs_slot **s = &w->mine[seed_below(MANY)];

	if (*s)
		ccs_reg_remove(&w->x->book, *s, w->x->now);
	*s = *s ? NULL : take(w->x, (uint32_t)seed_below(1 << 24));
}

with_book(any_order)
{
	struct world *w = calloc(1, sizeof(*w));
	uint32_t has = 0;

	w->x = *state;
	seed_start("book");
	for (unsigned i = 0; i < STEPS; i++) {
		const uint64_t what = seed_below(100);

		w->x->now += seed_below(50) * MS;
		beat(w->x);
		if (what < 40)
			flow_comes_or_leaves(w);
		else if (what < 80)
			agent_receives(w);
		else if (what < 98)
			agent_answers(w);
		else
			agent_comes_or_goes(w);
	}
	if (!w->x->book.connected)
		agent_comes_or_goes(w);
	while (w->x->book.todo.count || w->ndue) {
		agent_receives(w);
		agent_answers(w);
	}
	for (unsigned i = 0; i < MANY; i++)
		if (w->mine[i]) {
			assert_true(w->has[number(w->x, w->mine[i])]);
			has++;
		}
	for (uint32_t i = 0; i < CCS_SHM_SLOTS; i++)
		has -= w->has[i];
	assert_int_equal(has, 0);
	assert_int_equal(w->x->book.replies_due, 0);
	free(w);
}
