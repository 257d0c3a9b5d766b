/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_mpi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "bench/common/clock.h"
#include "bench/ccbench/scenario/opts.h"

/*
 * Message tags. Each START is answered by one ENDED. While an agent may be sending, rank 0 sends
 * only messages so small that every MPI sends them without waiting for the receiver.
 */
enum {
	START = 1, KILL, CLOCK, QUIT, /* to an agent; START with a setting's name */
	TO_WORKER,                    /* to a worker: type, data */
	FROM_WORKER,                  /* from a worker: the same */
	ENDED,                        /* struct ended, then the shim's report */
};

struct ended {
	int32_t failed;
	char how[252];
};

#define NAP 200000        /* ns between two checks for messages */
#define CLOCK_ROUNDS 16

struct remote {
	struct ended ended;
	char *report;
	bool running;     /* started, and ENDED has not come */
};

struct mpi_place {
	struct place place;   /* first member, for casts */
	struct place *local;  /* of host 0 */
	struct remote remote[MAX_HOSTS];
};

static struct remote *remote_of(struct place *p, unsigned host)
{
	return &((struct mpi_place *)p)->remote[host];
}

static struct place *local_of(struct place *p)
{
	return ((struct mpi_place *)p)->local;
}

static void send_bytes(int rank, int tag, const void *data, size_t len)
{
	MPI_Send(data, (int)len, MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}

/* Receive the message that a probe found; zero-terminated, to be freed; NULL without memory. */
static char *receive(MPI_Status *st, size_t *len)
{
	char *buf;
	int n;

	MPI_Get_count(st, MPI_BYTE, &n);
	buf = malloc((size_t)n + 1);
	if (!buf)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Recv(buf, n, MPI_BYTE, st->MPI_SOURCE, st->MPI_TAG, MPI_COMM_WORLD, st);
	buf[n] = '\0';
	*len = (size_t)n;
	return buf;
}

/* Send a typed message as one MPI message. */
static int pass(int rank, int tag, uint32_t type, const void *data, size_t len)
{
	char *buf = malloc(sizeof(type) + len);

	if (!buf)
		return -1;
	memcpy(buf, &type, sizeof(type));
	if (len)
		memcpy(buf + sizeof(type), data, len);
	send_bytes(rank, tag, buf, sizeof(type) + len);
	free(buf);
	return 0;
}

/* The reverse: data is copied to aligned memory, zero-terminated. */
static int unpack(const char *buf, size_t len, struct xchg_msg *m)
{
	m->len = (uint32_t)(len - sizeof(m->type));
	m->data = malloc(m->len + 1);
	if (!m->data)
		return -1;
	memcpy(&m->type, buf, sizeof(m->type));
	memcpy(m->data, buf + sizeof(m->type), m->len + 1);
	return 0;
}

/* -- rank 0 -------------------------------------------------------------------- */

static int mpi_start(struct place *p, unsigned host, const struct setting *s)
{
	struct remote *r = remote_of(p, host);

	if (!host)
		return local_of(p)->start(local_of(p), 0, s);
	r->running = true;
	send_bytes((int)host, START, s->name, strlen(s->name));
	return 0;
}

/* As NTP does: take the middle of the shortest of some round trips. */
static int64_t offset(struct place *p, unsigned host)
{
	int64_t sent, back, there, best = INT64_MAX, is = 0;

	(void)p;
	for (unsigned i = 0; host && i < CLOCK_ROUNDS; i++) {
		sent = now_ns();
		send_bytes((int)host, CLOCK, NULL, 0);
		MPI_Recv(&there, sizeof(there), MPI_BYTE, (int)host, CLOCK, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		back = now_ns();
		if (back - sent < best) {
			best = back - sent;
			is = sent + best / 2 - there;
		}
	}
	return is;
}

static int mpi_send(struct place *p, unsigned host, uint32_t type, const void *data, size_t len)
{
	if (!host)
		return local_of(p)->send(local_of(p), 0, type, data, len);
	return pass((int)host, TO_WORKER, type, data, len);
}

/* MPI has no descriptor to wait for: poll it, and wait for the local worker between polls. */
static int await(struct place *p, unsigned hosts, int64_t ns)
{
	int64_t end = now_ns() + ns;
	MPI_Status st;
	int there, ready;

	(void)hosts;
	do {
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &st);
		if (there)
			return st.MPI_SOURCE;
		ready = local_of(p)->wait(local_of(p), 1, NAP);
		if (ready == 0 || errno != ETIMEDOUT)
			return ready;
	} while (now_ns() < end);
	errno = ETIMEDOUT;
	return -1;
}

static int mpi_recv(struct place *p, unsigned host, struct xchg_msg *m)
{
	struct remote *r = remote_of(p, host);
	MPI_Status st;
	size_t len;
	char *buf;
	int ret;

	if (!host)
		return local_of(p)->recv(local_of(p), 0, m);
	MPI_Probe((int)host, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
	buf = receive(&st, &len);
	if (st.MPI_TAG == FROM_WORKER) {
		ret = unpack(buf, len, m);
		free(buf);
		return ret;
	}
	r->running = false;
	memcpy(&r->ended, buf, sizeof(r->ended));
	free(r->report);
	r->report = len > sizeof(r->ended) ? strdup(buf + sizeof(r->ended)) : NULL;
	free(buf);
	errno = ECONNRESET;
	return -1;
}

static int reap(struct place *p, unsigned host, char *err, size_t errlen)
{
	struct remote *r = remote_of(p, host);
	struct xchg_msg m;

	if (!host)
		return local_of(p)->end(local_of(p), 0, err, errlen);
	while (r->running)
		if (!mpi_recv(p, host, &m))
			free(m.data);
	if (r->ended.failed)
		snprintf(err, errlen, "%s", r->ended.how);
	return r->ended.failed ? -1 : 0;
}

static void end_now(struct place *p, unsigned host)
{
	char unused[256];

	if (!host) {
		local_of(p)->kill(local_of(p), 0);
		return;
	}
	send_bytes((int)host, KILL, NULL, 0);
	reap(p, host, unused, sizeof(unused));
}

static char *report(struct place *p, unsigned host)
{
	struct remote *r = remote_of(p, host);
	char *text = r->report;

	if (!host)
		return local_of(p)->report(local_of(p), 0);
	r->report = NULL;
	return text;
}

static void release(struct place *p)
{
	for (unsigned host = 0; host < MAX_HOSTS; host++)
		free(remote_of(p, host)->report);
	local_of(p)->release(local_of(p));
	free(p);
}

struct place *place_mpi(const char *preload, const char *dir)
{
	struct mpi_place *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->local = place_local(preload, dir);
	if (!m->local) {
		free(m);
		return NULL;
	}
	m->place = (struct place){
		.start = mpi_start, .offset = offset, .send = mpi_send, .wait = await, .recv = mpi_recv,
		.end = reap, .kill = end_now, .report = report, .release = release,
		.lead = 100000000, .dir = dir,
	};
	return &m->place;
}

void place_mpi_end(int ranks)
{
	for (int rank = 1; rank < ranks; rank++)
		send_bytes(rank, QUIT, NULL, 0);
}

/* -- the other ranks ----------------------------------------------------------- */

/* Report that the worker has ended or could not be started, with the shim's report. */
static void report_end(struct place *local, const char *trouble)
{
	struct ended e = { .failed = trouble != NULL };
	char *text, *buf;
	size_t len;

	if (trouble)
		snprintf(e.how, sizeof(e.how), "cannot start a worker: %s", trouble);
	else
		e.failed = local->end(local, 0, e.how, sizeof(e.how)) != 0;
	text = local->report(local, 0);
	len = text ? strlen(text) : 0;
	buf = malloc(sizeof(e) + len);
	if (!buf)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memcpy(buf, &e, sizeof(e));
	if (len)
		memcpy(buf + sizeof(e), text, len);
	send_bytes(0, ENDED, buf, sizeof(e) + len);
	free(buf);
	free(text);
}

/* False if the worker could not be started. */
static bool start_local_worker(struct place *local, const char *name)
{
	static struct settings settings; /* a worker's environment points into it */
	char err[256];

	settings.n = 0;
	if (!settings_add(&settings, name, err, sizeof(err)) &&
	    !local->start(local, 0, &settings.v[0]))
		return true;
	report_end(local, strerror(errno));
	return false;
}

/* Handle a message of rank 0: false after QUIT. *running: does a worker run? */
static bool obey(struct place *local, MPI_Status *st, bool *running)
{
	struct xchg_msg m;
	int64_t now;
	size_t len;
	char *buf = receive(st, &len);

	switch (st->MPI_TAG) {
	case START:
		*running = start_local_worker(local, buf);
		break;
	case CLOCK:
		now = now_ns();
		send_bytes(0, CLOCK, &now, sizeof(now));
		break;
	case TO_WORKER: /* if the worker has gone, ENDED reports it */
		if (*running && !unpack(buf, len, &m)) {
			local->send(local, 0, m.type, m.data, m.len);
			free(m.data);
		}
		break;
	case KILL:
		if (*running)
			local->kill(local, 0);
		if (*running)
			report_end(local, NULL);
		*running = false;
		break;
	}
	free(buf);
	return st->MPI_TAG != QUIT;
}

/* Pass on the worker's message, or its end. */
static bool pass_on(struct place *local)
{
	struct xchg_msg m;

	if (local->recv(local, 0, &m)) {
		report_end(local, NULL);
		return false;
	}
	pass(0, FROM_WORKER, m.type, m.data, m.len);
	free(m.data);
	return true;
}

void agent_mpi(struct place *local)
{
	bool running = false;
	MPI_Status st;
	int there;

	do {
		MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &st);
		if (!there && local->wait(local, 1, NAP) == 0)
			running = pass_on(local);
	} while (!there || obey(local, &st, &running));
}
