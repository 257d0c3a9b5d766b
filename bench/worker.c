/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

int worker_send(struct worker *w, uint32_t type, const void *data, size_t len)
{
	if (xchg_send(&w->x, type, data, len))
		return endpoint_fail(&w->e, 1, errno, "the orchestrator does not listen");
	return 0;
}

/* The next message, which must be of that type and at least of that length. */
static int expect(struct worker *w, uint32_t type, size_t len, struct xchg_msg *m)
{
	if (xchg_recv(&w->x, m))
		return endpoint_fail(&w->e, 1, errno, "no word from the orchestrator");
	if (m->type == type && m->len >= len)
		return 0;
	free(m->data);
	return endpoint_fail(&w->e, 1, 0, "message %u instead of %u", m->type, type);
}

static int send_local(struct worker *w)
{
	size_t qps = w->cfg.nqps * sizeof(struct proto_qp);
	char *buf = malloc(sizeof(w->e.local) + qps);
	int ret;

	if (!buf)
		return endpoint_fail(&w->e, 1, ENOMEM, "%u QPs", w->cfg.nqps);
	memcpy(buf, &w->e.local, sizeof(w->e.local));
	memcpy(buf + sizeof(w->e.local), w->e.mine, qps);
	ret = worker_send(w, PROTO_LOCAL, buf, sizeof(w->e.local) + qps);
	free(buf);
	return ret;
}

static int work(struct worker *w)
{
	if (w->cfg.role == ROLE_VICTIM)
		return victim_run(w) || worker_send(w, PROTO_DONE, NULL, 0) || passive_run(w);
	if (w->cfg.active)
		return traffic_run(w) || worker_send(w, PROTO_DONE, NULL, 0) || passive_run(w);
	return passive_run(w);
}

/* Everything between CONFIG and STOP. */
static int serve(struct worker *w)
{
	struct proto_local *local;
	struct xchg_msg peers, start;
	int ret;

	w->rng = rng_of(w->cfg.seed, w->cfg.rank);
	if (endpoint_open(&w->e, &w->cfg, &w->rng) || send_local(w))
		return -1;
	if (expect(w, PROTO_PEERS, sizeof(*local) + w->cfg.nqps * sizeof(struct proto_qp), &peers))
		return -1;
	local = peers.data;
	ret = endpoint_connect(&w->e, (struct proto_qp *)(local + 1), local->mtu) ||
	      worker_send(w, PROTO_READY, NULL, 0);
	if (!ret)
		ret = expect(w, PROTO_START, sizeof(w->start), &start);
	if (!ret) {
		memcpy(&w->start, start.data, sizeof(w->start));
		free(start.data);
		ret = work(w);
	}
	free(peers.data);
	return ret;
}

/* Memory and receives for the other ends, until STOP. */
int passive_run(struct worker *w)
{
	struct pollfd p[2] = { { .fd = w->x.fd, .events = POLLIN },
			       { .fd = -1, .events = POLLIN } };
	struct ibv_wc wc[32];
	struct xchg_msg m;
	int i, n;

	if (w->cfg.receives && w->e.recv_channel)
		p[1].fd = w->e.recv_channel->fd;
	do {
		/* Spinning, it must look at the receives all the time. */
		n = poll(p, 2, w->cfg.receives && w->cfg.poll ? 0 : -1);
		if (n < 0 && errno != EINTR)
			return endpoint_fail(&w->e, 1, errno, "poll");
		if (p[1].revents && endpoint_wait(&w->e, true))
			return -1;
		while (w->cfg.receives && (n = ibv_poll_cq(w->e.recv_cq, 32, wc)) > 0)
			for (i = 0; i < n; i++)
				if (wc[i].status == IBV_WC_SUCCESS &&
				    endpoint_receive(&w->e, (uint32_t)wc[i].wr_id))
					return -1;
	} while (!(p[0].revents & (POLLIN | POLLHUP)));
	if (expect(w, PROTO_STOP, 0, &m))
		return -1;
	free(m.data);
	return 0;
}

int worker_main(int argc, char **argv)
{
	struct worker w = { 0 };
	struct xchg_msg m;
	int ret;

	if (argc != 2) {
		fputs("ccbench worker: for ccbench's own use\n", stderr);
		return 2;
	}
	/* Whatever happens to the orchestrator, nobody is left behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A pause of 1 ms is meant to be one: not 50 us more. */
	prctl(PR_SET_TIMERSLACK, 1);
	w.x.fd = atoi(argv[1]);
	w.e.cfg = &w.cfg;
	if (expect(&w, PROTO_CONFIG, sizeof(w.cfg), &m))
		return 1;
	memcpy(&w.cfg, m.data, sizeof(w.cfg));
	free(m.data);
	ret = serve(&w);
	if (ret)
		xchg_send(&w.x, PROTO_ERROR, &w.e.error, sizeof(w.e.error));
	endpoint_close(&w.e);
	return ret ? 1 : 0;
}
