/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two programs whose connections are made to fail, one at each end.
 *
 * failing serve DEVICE SOCKET: waits for one client, and posts receives again as they complete. It
 * obeys the lines of its standard input: "quiet" (post no receive again), "unreadable" and "shorter"
 * (post receives of no memory, or of a byte), "forbid" (end the memory region), "disable N" (WRITEs),
 * "destroy N" and "break N" (to ERR) for queue pair N, counted from 0, and "exit". It ends with its
 * client otherwise.
 *
 * failing send DEVICE NAME=VALUE... SOCKET...: the client of these servers. It makes qps=
 * queue pairs to each, and sends messages= of size= bytes on each, window= at a time. sends=1: SENDs,
 * otherwise WRITEs. gid= is another GID than the servers'. When each queue pair has sent mark=
 * messages, it prints "mark", and continues. After a failure each of the others sends some messages more.
 * end= says what it does last: destroy its queue pairs, first make requests and then destroy them
 * (hasty) or move them to ERR (flush), wait for the end of its standard input, or exit.
 * It prints "pair", the index and the two queue pair numbers of each connection; with record=1 also
 * what the application sees of its first queue pair, on which it sends more after the failure.
 */
#include "side.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORT = 1, GID_INDEX = 1, MAX_QPS = 64, RECVS = 16, MEMORY = 1 << 20, MORE = 20, LATE = 3 };

/* Options; all are numbers but those that main() knows. */
struct options {
	uint32_t qps, messages, size, window, mark, timeout, retry, rnr, mtu, sends, record;
};

struct hello {
	struct options o;
	union ibv_gid gid;
	uint64_t addr;
	uint32_t rkey, qpn[MAX_QPS];
};

struct qp {
	struct ibv_qp *ibqp;
	const struct hello *peer;
	uint32_t posted, done, last;     /* last: how many messages it sends */
	uint32_t receives;               /* that are posted */
	bool failed;
};

static struct side side;
static struct hello mine = { .o = { .qps = 1, .messages = 100, .size = 1024, .window = 2, .timeout = 12,
				    .retry = 2, .rnr = 7, .mtu = IBV_MTU_1024 } };
static struct qp qps[MAX_QPS];
static uint32_t count;
static bool stopped, unreadable, marked, shorter;

/* -- queue pairs ----------------------------------------------------------------------------- */

static void post_receive(struct qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)side.memory, shorter ? 1 : MEMORY / 2, unreadable ? 0 : side.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check(!ibv_post_recv(qp->ibqp, &wr, &bad), "a receive");
	qp->receives++;
}

static void make(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = side.scq, .recv_cq = side.rcq,
		.cap = { .max_send_wr = 64, .max_recv_wr = RECVS, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = PORT,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct qp *qp = &qps[count];

	check(count < MAX_QPS, "too many queue pairs");
	qp->ibqp = ibv_create_qp(side.pd, &init);
	check(qp->ibqp, "a queue pair");
	check(!ibv_modify_qp(qp->ibqp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS),
	      "to INIT");
	for (unsigned i = 0; i < RECVS; i++)
		post_receive(qp);
	mine.qpn[count++] = qp->ibqp->qp_num;
}

static void connect_to(struct qp *qp, const struct hello *peer, uint32_t qpn, const struct options *o)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR, .path_mtu = o->mtu, .dest_qp_num = qpn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = PORT,
			     .grh = { .dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 64 } } };

	qp->peer = peer;
	check(!ibv_modify_qp(qp->ibqp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "to RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = o->timeout, .retry_cnt = o->retry,
				  .rnr_retry = o->rnr, .max_rd_atomic = 1 };
	check(!ibv_modify_qp(qp->ibqp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "to RTS");
}

static void to_error(struct qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };

	check(!ibv_modify_qp(qp->ibqp, &a, IBV_QP_STATE), "to ERR");
}

static void disable_writes(struct qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS };

	check(!ibv_modify_qp(qp->ibqp, &a, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), "access flags");
}

static void destroy(struct qp *qp)
{
	check(!qp->ibqp || !ibv_destroy_qp(qp->ibqp), "destroying");
	qp->ibqp = NULL;
}

static struct qp *find(uint32_t qpn)
{
	struct qp *qp = qps;

	while (qp < qps + count && !(qp->ibqp && qp->ibqp->qp_num == qpn))
		qp++;
	return qp < qps + count ? qp : NULL;
}

/* -- what is seen ---------------------------------------------------------------------------- */

static char seen[80];
static unsigned times;

/* One line for equal lines in a row, with their number; NULL: the end. */
static void see(const char *line)
{
	if (line && strcmp(line, seen) == 0) {
		times++;
		return;
	}
	if (times && mine.o.record)
		printf("%u %s\n", times, seen);
	times = !!line;
	snprintf(seen, sizeof(seen), "%s", line ? line : "");
}

static void see_completion(const struct qp *qp, const char *of, const struct ibv_wc *wc)
{
	char line[80];

	snprintf(line, sizeof(line), "%s %s, vendor_err %#x", of, ibv_wc_status_str(wc->status), wc->vendor_err);
	if (qp == qps)
		see(line);
}

static void read_events(void)
{
	struct ibv_async_event event;
	char line[80];

	while (!ibv_get_async_event(side.ctx, &event)) {
		snprintf(line, sizeof(line), "event %s", ibv_event_type_str(event.event_type));
		if (mine.o.record)
			see(line);
		ibv_ack_async_event(&event);
	}
}

/* -- traffic --------------------------------------------------------------------------------- */

static void send_on(struct qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)side.memory + MEMORY / 2, mine.o.size, side.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
				  .opcode = mine.o.sends ? IBV_WR_SEND : IBV_WR_RDMA_WRITE }, *bad;

	wr.wr.rdma.remote_addr = qp->peer->addr;
	wr.wr.rdma.rkey = qp->peer->rkey;
	check(!ibv_post_send(qp->ibqp, &wr, &bad), "a request");
	qp->posted++;
}

static void fail_one(struct qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	char line[32];

	qp->failed = true;
	for (struct qp *other = qps; other < qps + count; other++)
		if (other->last > other->posted + MORE)
			other->last = other->posted + MORE;
	check(!ibv_query_qp(qp->ibqp, &a, IBV_QP_STATE, &init), "querying");
	snprintf(line, sizeof(line), "state %d", a.qp_state);
	if (qp != qps)
		return;
	see(line);
	for (unsigned i = 0; i < LATE && mine.o.record; i++)
		send_on(qp);
}

static void complete(const struct ibv_wc *wc)
{
	struct qp *qp = find(wc->qp_num);

	if (!qp)
		return; /* it was destroyed */
	if (wc->status != IBV_WC_SUCCESS)
		see_completion(qp, wc->wr_id ? "request" : "receive", wc);
	if (wc->wr_id)
		qp->done++;
	else
		qp->receives--;
	if (!wc->wr_id && wc->status == IBV_WC_SUCCESS && !stopped)
		post_receive(qp);
	if (wc->status != IBV_WC_SUCCESS && !qp->failed)
		fail_one(qp);
}

static unsigned poll_all(void)
{
	unsigned n = 0;
	struct ibv_wc wc;

	for (; ibv_poll_cq(side.scq, 1, &wc) > 0 || ibv_poll_cq(side.rcq, 1, &wc) > 0; n++)
		complete(&wc);
	return n;
}

/* Until there is a completion, an event or input; returns the descriptor that has input, or -1. */
static int wait_for(int input, int other)
{
	struct pollfd p[] = { { input, POLLIN, 0 }, { other, POLLIN, 0 }, { side.channel->fd, POLLIN, 0 },
			      { side.ctx->async_fd, POLLIN, 0 } };
	struct ibv_cq *cq;
	void *context;

	check(!ibv_req_notify_cq(side.scq, 0) && !ibv_req_notify_cq(side.rcq, 0), "arming");
	if (poll_all())
		return -1;
	check(poll(p, 4, -1) > 0, "waiting");
	read_events();
	while (!ibv_get_cq_event(side.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	poll_all();
	return p[0].revents ? input : p[1].revents ? other : -1;
}

static void open_side(const char *device)
{
	side_open(&side, device, MEMORY);
	side.channel = ibv_create_comp_channel(side.ctx);
	check(side.channel, "a channel");
	side.scq = ibv_create_cq(side.ctx, 64 * MAX_QPS, NULL, side.channel, 0);
	side.rcq = ibv_create_cq(side.ctx, RECVS * MAX_QPS, NULL, side.channel, 0);
	check(side.scq && side.rcq, "completion queues");
	fcntl(side.channel->fd, F_SETFL, O_NONBLOCK);
	fcntl(side.ctx->async_fd, F_SETFL, O_NONBLOCK);
	mine.gid = side.gid;
	mine.addr = (uintptr_t)side.memory;
	mine.rkey = side.mr->rkey;
}

static struct sockaddr_un address(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", name);
	return a;
}

/* -- the server ------------------------------------------------------------------------------ */

static void obey(const char *line)
{
	const char *space = strchr(line, ' ');
	struct qp *qp = &qps[space ? atoi(space) % MAX_QPS : 0];

	if (strncmp(line, "quiet", 5) == 0)
		stopped = true;
	else if (strncmp(line, "unreadable", 10) == 0)
		unreadable = true;
	else if (strncmp(line, "shorter", 7) == 0)
		shorter = true;
	else if (strncmp(line, "disable", 7) == 0)
		disable_writes(qp);
	else if (strncmp(line, "forbid", 6) == 0)
		check(!ibv_dereg_mr(side.mr), "deregistering");
	else if (strncmp(line, "destroy", 7) == 0)
		destroy(qp);
	else if (strncmp(line, "break", 5) == 0)
		to_error(qp);
	else
		exit(strncmp(line, "exit", 4) != 0);
}

/* False at the end of the input. */
static bool obey_input(void)
{
	char text[256], *at = text;
	const ssize_t n = read(0, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	for (const char *line; (line = strsep(&at, "\n")) && *line;)
		obey(line);
	return n > 0;
}

static void serve(const char *name)
{
	const struct sockaddr_un a = address(name);
	const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	static struct hello client;
	int fd, input = 0, ready;

	check(!bind(listener, (const void *)&a, sizeof(a)) && !listen(listener, 1), "%s", name);
	fd = accept(listener, NULL, NULL);
	check(recv(fd, &client, sizeof(client), MSG_WAITALL) == sizeof(client), "the client");
	for (unsigned i = 0; i < client.o.qps; i++) {
		make();
		connect_to(&qps[i], &client, client.qpn[i], &client.o);
	}
	check(send(fd, &mine, sizeof(mine), 0) == sizeof(mine), "the client");
	while ((ready = wait_for(input, fd)) != fd)
		if (ready == input && input >= 0 && !obey_input())
			input = -1;
}

/* -- the client ------------------------------------------------------------------------------ */

static void connect_client(const char *name, const char *gid)
{
	const struct sockaddr_un a = address(name);
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct hello *peer = calloc(1, sizeof(*peer));
	const uint32_t first = count;

	check(peer && !connect(fd, (const void *)&a, sizeof(a)), "%s", name);
	while (count < first + mine.o.qps)
		make();
	memmove(mine.qpn, mine.qpn + first, mine.o.qps * sizeof(*mine.qpn));
	check(send(fd, &mine, sizeof(mine), 0) == sizeof(mine), "%s", name);
	check(recv(fd, peer, sizeof(*peer), MSG_WAITALL) == sizeof(*peer), "%s", name);
	check(!gid || inet_pton(AF_INET6, gid, &peer->gid) == 1, "%s", gid);
	for (uint32_t i = 0; i < mine.o.qps; i++) {
		connect_to(&qps[first + i], peer, peer->qpn[i], &mine.o);
		qps[first + i].last = mine.o.messages;
		printf("pair %u %u %u\n", first + i, qps[first + i].ibqp->qp_num, peer->qpn[i]);
	}
}

/* Returns whether a queue pair has more to do. */
static bool send_all(void)
{
	uint32_t busy = 0, least = UINT32_MAX;

	for (struct qp *qp = qps; qp < qps + count; qp++) {
		while (!qp->failed && qp->posted < qp->last && qp->posted < qp->done + mine.o.window)
			send_on(qp);
		busy += qp->failed ? mine.o.record && (qp->done < qp->posted || qp->receives)
				   : qp->done < qp->last;
		if (!qp->failed && qp->done < least)
			least = qp->done;
	}
	if (mine.o.mark && !marked && least >= mine.o.mark) {
		marked = true;
		printf("mark\n");
	}
	return busy;
}

static void finish(const char *end)
{
	const bool flush = strcmp(end, "flush") == 0;
	uint32_t failed = 0;

	for (struct qp *qp = qps; qp < qps + count; qp++)
		failed += qp->failed;
	see(NULL);
	printf("%u of %u failed\n", failed, count);
	for (struct qp *qp = qps; qp < qps + count && (flush || strcmp(end, "hasty") == 0); qp++) {
		for (qp->last = qp->posted + mine.o.window; qp->posted < qp->last;)
			send_on(qp);
		if (flush)
			to_error(qp);
	}
	while (flush && send_all())
		wait_for(-1, -1);
	while (strcmp(end, "wait") == 0 && wait_for(0, -1) != 0)
		;
	if (strcmp(end, "exit") == 0)
		exit(0);
}

/* Sets the option if it is one with a number. */
static bool set(const char *name)
{
	static const struct { const char *name; uint32_t *value; } options[] = {
#define OPTION(name) { #name "=", &mine.o.name }
		OPTION(qps), OPTION(messages), OPTION(size), OPTION(window), OPTION(mark), OPTION(timeout),
		OPTION(retry), OPTION(rnr), OPTION(mtu), OPTION(sends), OPTION(record),
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strncmp(name, options[i].name, strlen(options[i].name)) == 0) {
			*options[i].value = (uint32_t)atoi(strchr(name, '=') + 1);
			return true;
		}
	return false;
}

static void run_client(char **arg)
{
	const char *gid = NULL, *end = "destroy";

	for (; *arg; arg++) {
		if (strncmp(*arg, "gid=", 4) == 0)
			gid = *arg + 4;
		else if (strncmp(*arg, "end=", 4) == 0)
			end = *arg + 4;
		else if (!set(*arg))
			connect_client(*arg, gid);
	}
	while (send_all())
		wait_for(-1, -1);
	finish(end);
}

int main(int argc, char **argv)
{
	if (argc < 4 || (strcmp(argv[1], "serve") && strcmp(argv[1], "send"))) {
		fprintf(stderr, "usage: failing serve DEVICE SOCKET | failing send DEVICE [NAME=VALUE...] SOCKET...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_side(argv[2]);
	if (strcmp(argv[1], "serve") == 0)
		serve(argv[3]);
	else
		run_client(argv + 3);
	for (struct qp *qp = qps; qp < qps + count; qp++)
		destroy(qp);
	return 0;
}
