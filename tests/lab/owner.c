/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner DEVICE PEER: queue pairs of this process on a real device, connected to another
 * one, and whose the kernel says they are. A line for each case: what it is, and the errno
 * of the answer, 0 for "its own".
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/kernel_qps.h"

static struct ccs_kernel_qps owner = { .netlink.fd = -1 };
static struct ibv_context *context, *peer;
static const char *device;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d = list;

	struct ibv_context *opened;

	while (d && *d && strcmp(ibv_get_device_name(*d), name) != 0)
		d++;
	opened = d && *d ? ibv_open_device(*d) : NULL;
	if (!opened)
		die(name);
	return opened;
}

/* An RC queue pair in INIT. */
static void *make_qp(void *arg)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { 1, 1, 1, 1, 0 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;

	(void)arg;
	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 IBV_QP_ACCESS_FLAGS))
		die("queue pair");
	return qp;
}

/* RTR towards that one of the peer, which need not be there. */
static void connect_to(struct ibv_qp *qp, uint32_t peer_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer_qpn,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 9 } },
	};

	if (ibv_query_gid(peer, 1, 1, &attr.ah_attr.grh.dgid) ||
	    ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("connection");
}

static void ask_agent(const char *what, const char *name, uint32_t qpn, uint32_t peer_qpn,
		      pid_t pid)
{
	struct ccs_ipc_add qp = { .port = 1, .local_qpn = qpn, .peer_qpn = peer_qpn };

	snprintf(qp.device, sizeof(qp.device), "%s", name);
	printf("%s: %d\n", what, ccs_kernel_qps_check_owner(&owner, &qp, pid, getuid()));
}

static pthread_barrier_t made, asked;

static void *make_qp_and_wait(void *qp)
{
	*(struct ibv_qp **)qp = make_qp(NULL);
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&asked);
	return NULL;
}

/* The kernel knows a queue pair by the thread that made it. */
static void ask_about_threads(void)
{
	struct ibv_qp *qp;
	pthread_t thread;

	pthread_barrier_init(&made, NULL, 2);
	pthread_barrier_init(&asked, NULL, 2);
	if (pthread_create(&thread, NULL, make_qp_and_wait, &qp))
		die("thread");
	pthread_barrier_wait(&made);
	ask_agent("a thread's", device, qp->qp_num, 7, getpid());
	ask_agent("a thread's, for another process", device, qp->qp_num, 7, getppid());
	pthread_barrier_wait(&asked);
	pthread_join(thread, NULL);
	ask_agent("an ended thread's", device, qp->qp_num, 7, getpid());
}

static uint32_t count_qps(void)
{
	struct ccs_kernel_qps live = { .netlink.fd = -1 };
	uint32_t n = 0;

	errno = ccs_kernel_qps_count(&live, &n);
	if (errno)
		die("count");
	ccs_netlink_close(&live.netlink);
	return n;
}

int main(int argc, char **argv)
{
	struct ibv_qp *qp;
	uint32_t before;

	if (argc != 3)
		return 2;
	device = argv[1];
	context = open_device(device);
	peer = open_device(argv[2]);
	before = count_qps();
	qp = make_qp(NULL);
	printf("counted more: %d\n", (int)(count_qps() - before));
	ask_agent("own", device, qp->qp_num, 7, getpid());
	ask_agent("for another process", device, qp->qp_num, 7, getppid());
	connect_to(qp, 7);
	ask_agent("connected", device, qp->qp_num, 7, getpid());
	ask_agent("connected to another", device, qp->qp_num, 8, getpid());
	ask_agent("no queue pair", device, qp->qp_num + 1000, 7, getpid());
	ask_agent("no device", "mlx5_77", qp->qp_num, 7, getpid());
	ask_about_threads();
	ibv_destroy_qp(qp);
	ask_agent("destroyed", device, qp->qp_num, 7, getpid());
	return 0;
}
