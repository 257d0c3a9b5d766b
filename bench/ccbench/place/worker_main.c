/* SPDX-License-Identifier: BSD-2-Clause */
/* The main function of a worker process, which follows the protocol of proto.h. */
#include "bench/ccbench/traffic/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

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

/* Agents know a tenant's processes by this name. */
static void set_name(unsigned tenant)
{
	char name[24];

	snprintf(name, sizeof(name), "tenant-%u", tenant);
	prctl(PR_SET_NAME, name);
}

/* Run the protocol from CONFIG to the end. */
static int run_protocol(struct worker *w)
{
	struct proto_local *local;
	struct xchg_msg peers, start;
	struct rng rng;
	int ret;

	rng = rng_of(w->cfg.seed, w->cfg.rank);
	if (endpoint_open(&w->e, &w->cfg, w->end, &rng) || send_local(w))
		return -1;
	if (worker_expect(w, PROTO_PEERS, sizeof(*local) + w->cfg.nqps * sizeof(struct proto_qp),
			  &peers))
		return -1;
	local = peers.data;
	ret = endpoint_connect(&w->e, (struct proto_qp *)(local + 1), local->mtu) ||
	      worker_send(w, PROTO_READY, NULL, 0);
	if (!ret)
		ret = worker_expect(w, PROTO_START, sizeof(w->start), &start);
	if (!ret) {
		memcpy(&w->start, start.data, sizeof(w->start));
		free(start.data);
		ret = traffic_run(w);
	}
	free(peers.data);
	return ret;
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
	/* End with the orchestrator, however it ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Timer slack would add 50 us to a pause of 1 ms. */
	prctl(PR_SET_TIMERSLACK, 1);
	w.x.fd = atoi(argv[1]);
	w.e.cfg = &w.cfg;
	if (worker_expect(&w, PROTO_CONFIG, sizeof(w.cfg), &m))
		return 1;
	memcpy(&w.cfg, m.data, sizeof(w.cfg));
	if (m.len < sizeof(w.cfg) + w.cfg.nqps * sizeof(*w.end))
		return 1;
	w.end = (struct proto_end *)(void *)((char *)m.data + sizeof(w.cfg));
	if (w.cfg.tenant)
		set_name(w.cfg.tenant);
	ret = run_protocol(&w);
	if (ret)
		xchg_send(&w.x, PROTO_ERROR, &w.e.error, sizeof(w.e.error));
	endpoint_close(&w.e);
	free(m.data);
	return ret ? 1 : 0;
}
