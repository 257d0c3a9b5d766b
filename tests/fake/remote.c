/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to QPs of other processes, and their requests to this process. A QP has one piece of one
 * message in flight, which keeps its order; QPs do not wait for each other.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "wire.h"

/* A request without an answer; its block is free again once the answer arrives or cannot arrive. */
static struct flight {
	bool busy, is_rtt_outlier;
	struct fake_qp *qp;              /* NULL: the QP no longer waits */
	uint32_t slot, serial;
	uint64_t id;                     /* id of the process that was asked */
} flight[WIRE_BLOCKS];

bool fake_is_remote(uint32_t qp_num)
{
	return wire_slot() && qp_num >> WIRE_SLOT_SHIFT != wire_slot();
}

uint32_t fake_qp_base(void)
{
	return wire_slot() << WIRE_SLOT_SHIFT;
}

/* A thread that polls without result may keep the process that it waits for from running. */
void fake_idle(void)
{
	if (wire_on())
		sched_yield();
}

static struct flight *free_flight(void)
{
	for (int i = 0; i < WIRE_BLOCKS; i++)
		if (!flight[i].busy)
			return &flight[i];
	return NULL;
}

int fake_remote_ask(struct fake_qp *qp, struct fake_wqe *wqe, const struct fake_request *req)
{
	const uint32_t slot = req->dst_qp >> WIRE_SLOT_SHIFT;
	struct wire_file *peer = wire_of(slot);
	struct flight *f = free_flight();
	struct wire_msg msg = { .kind = WIRE_REQUEST, .from = wire_slot(),
				.id = wire_id(wire_own()), .req = *req };

	if (!peer)
		return ANSWER_DEAD;
	if (!f)
		return ANSWER_NO_ROOM;
	msg.block = (uint32_t)(f - flight);
	msg.serial = f->serial + 1;
	fake_move_out(wqe, req, wire_block(wire_own(), msg.block));
	if (!wire_push(peer, &msg))
		return ANSWER_NO_ROOM;
	*f = (struct flight){ .busy = true, .qp = qp, .slot = slot, .serial = msg.serial,
			      .id = wire_id(peer) };
	qp->in_flight = true;
	return ANSWER_LATER;
}

void fake_remote_forget(struct fake_qp *qp)
{
	qp->in_flight = false;
	qp->offset = 0;
	for (int i = 0; i < WIRE_BLOCKS; i++)
		if (flight[i].qp == qp)
			flight[i].qp = NULL;
}

static void end_flight(struct flight *f, int answer)
{
	struct fake_qp *qp = f->qp;

	f->busy = false;
	f->qp = NULL;
	if (!qp)
		return;
	qp->in_flight = false;
	fake_answered(qp, answer, wire_block(wire_own(), (uint32_t)(f - flight)));
}

/*
 * Annotations of ThreadSanitizer, if it is present. Programs synchronise with a device's writes to
 * their memory by means that it cannot see, as another process does the copy.
 */
void AnnotateIgnoreReadsBegin(const char *, int) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *, int) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char *, int) __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char *, int) __attribute__((weak));

static int respond(const struct fake_request *req, unsigned char *data)
{
	int answer;

	if (!AnnotateIgnoreReadsBegin)
		return fake_respond(req, data);
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	answer = fake_respond(req, data);
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	return answer;
}

/* This QP must be connected to the QP that asks, as its number may have been reused. */
static int answer_to(const struct fake_request *req, unsigned char *data)
{
	const struct fake_qp *qp = fake_qp_by_num(req->dst_qp);

	if (req->piece > PIECE || (qp && req->type != IBV_QPT_UD &&
				   qp->attr.dest_qp_num != req->src_qp))
		return ANSWER_NO_PEER;
	return respond(req, data);
}

static void serve(struct wire_msg *msg)
{
	struct wire_file *peer = wire_of(msg->from);

	if (wire_id(peer) != msg->id)
		return;
	msg->answer = answer_to(&msg->req, wire_block(peer, msg->block));
	msg->kind = WIRE_ANSWER;
	wire_push(peer, msg);
}

void fake_remote_progress(void)
{
	struct wire_msg msg;

	while (wire_slot() && wire_pop(&msg)) {
		struct flight *f = &flight[msg.block % WIRE_BLOCKS];

		if (msg.kind == WIRE_REQUEST)
			serve(&msg);
		else if (f->busy && f->serial == msg.serial)
			end_flight(f, msg.answer);
	}
}

/* Dead processes do not answer. Their last answers are received before the second check. */
static void find_dead_peers(void)
{
	for (int i = 0; i < WIRE_BLOCKS; i++) {
		struct flight *f = &flight[i];

		if (!f->busy || wire_id(wire_of(f->slot)) == f->id)
			continue;
		if (f->is_rtt_outlier)
			end_flight(f, ANSWER_DEAD);
		else
			f->is_rtt_outlier = true;
	}
}

static void *work(void *arg)
{
	uint64_t looked = 0;

	(void)arg;
	for (;;) {
		wire_wait();
		pthread_mutex_lock(&fake_lock);
		fake_run();
		if (fake_now_ns() - looked > 5000000) {
			looked = fake_now_ns();
			find_dead_peers();
		}
		pthread_mutex_unlock(&fake_lock);
	}
	return NULL;
}

/* A child is a new process, and may join itself. */
void fake_remote_forked(void)
{
	memset(flight, 0, sizeof(flight));
	wire_forked();
}

int fake_thread(void *(*main)(void *))
{
	sigset_t all, old;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		pthread_detach(thread);
	return rc;
}

int fake_remote_open(void)
{
	int rc;

	if (wire_slot())
		return 0;
	rc = wire_join();
	if (!rc && wire_slot()) {
		fake_engine_start();
		rc = fake_thread(work);
	}
	return rc;
}
