/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Program for sections.bats: creates a QP for each argument PEER[,DSCP[,SL]] ("-": no address)
 * and writes 40 KiB on it. It prints the QP numbers and traffic classes and keeps the QPs. For
 * set.bats it then polls and executes the lines of its input: "new PEER" creates another QP,
 * "write" writes, "sleep" stops polling until the next line. It prints "done" after each.
 */
#include "rig.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

enum { LEN = 40960 };

/* The fake provider identifies a peer by the last byte of its address. */
static void name_peer(struct ibv_ah_attr *ah, char *text)
{
	char *dscp = strchr(text, ','), *sl = dscp ? strchr(dscp + 1, ',') : NULL;
	const uint8_t last = ah->grh.dgid.raw[15];

	if (dscp)
		*dscp++ = '\0';
	if (sl)
		*sl++ = '\0';
	ah->is_global = *text != '-';
	memset(ah->grh.dgid.raw, 0, 16);
	if (inet_pton(AF_INET, text, ah->grh.dgid.raw + 12) == 1)
		memset(ah->grh.dgid.raw + 10, 0xff, 2);
	else if (ah->is_global)
		assert_int_equal(inet_pton(AF_INET6, text, ah->grh.dgid.raw), 1);
	ah->grh.dgid.raw[15] = last;
	ah->grh.traffic_class = (uint8_t)(dscp ? atoi(dscp) << 2 : 0);
	ah->sl = (uint8_t)(sl ? atoi(sl) : 0);
}

static void connect_to(struct rig *r, struct ibv_qp *qp, uint32_t dest, char *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				       IBV_QP_ACCESS_FLAGS), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .dest_qp_num = dest,
				     .path_mtu = IBV_MTU_4096, .max_dest_rd_atomic = 16 };
	attr.ah_attr.port_num = 1;
	assert_int_equal(ibv_query_gid(r->ctx, 1, 1, &attr.ah_attr.grh.dgid), 0);
	name_peer(&attr.ah_attr, peer);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				     .rnr_retry = 7, .max_rd_atomic = 1 };
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				       IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

static void write_one(struct rig *r)
{
	struct ibv_wc wc;

	assert_int_equal(rig_post(r, 0, IBV_WR_RDMA_WRITE, 0, LEN, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_memory_equal(r->src, r->dst, LEN);
}

static void new_one(struct rig *r, const char *text)
{
	char peer[64];

	r->a = rig_qp(r, r->scq, r->rcq);
	r->b = rig_qp(r, r->scq, r->rcq);
	rig_to_rts(r, r->b, r->a->qp_num);
	snprintf(peer, sizeof(peer), "%s", text);
	connect_to(r, r->a, r->b->qp_num, peer);
	write_one(r);
	printf("%u %u\n", r->a->qp_num, fake_tclass(r->a));
	fflush(stdout);
}

/* The input is unbuffered, so that poll() is accurate. Returns false at its end. */
static bool read_line(char *line, size_t len)
{
	size_t n = 0;

	while (n < len - 1 && read(STDIN_FILENO, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return n;
}

static void obey(struct rig *r)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	bool asleep = false;
	struct ibv_wc wc;
	char line[64];

	for (;;) {
		if (poll(&in, 1, asleep ? -1 : 0) == 0) {
			assert_int_equal(ibv_poll_cq(r->scq, 1, &wc), 0);
			sched_yield();
			continue;
		}
		if (!read_line(line, sizeof(line)))
			return;
		asleep = strcmp(line, "sleep") == 0;
		if (strncmp(line, "new ", 4) == 0)
			new_one(r, line + 4);
		else if (strcmp(line, "write") == 0)
			write_one(r);
		printf("done\n");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	char config[4096];
	struct rig r;

	snprintf(config, sizeof(config), "CCSHIM_CONFIG=%s", getenv("CCSHIM_CONFIG"));
	rig_exec(argv, config, NULL);
	rig_open(&r, (struct rig_conf){ 0 });
	for (int i = 1; i < argc; i++)
		new_one(&r, argv[i]);
	obey(&r);
	return 0;
}
