/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests communication between processes on the bare fake provider: this program and its peers,
 * which execute commands from a socket.
 */
#include "../verbs/rig.h"

#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUF = 1 << 20, SOCKET = 100, LONG = 700000 /* three pieces */ };

struct hello {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *buf;
	struct hello own, far;
	int sock;                        /* to the other process */
	pid_t pid;
};

struct retries {
	uint8_t timeout, retry_cnt, rnr_retry;
};

static const struct retries usual = { .timeout = 14, .retry_cnt = 7, .rnr_retry = 7 };
static struct ibv_wc wc[16];

static void end_open(struct end *e, int device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	e->ctx = ibv_open_device(list[device]);
	ibv_free_device_list(list);
	assert_non_null(e->ctx);
	e->pd = ibv_alloc_pd(e->ctx);
	e->buf = calloc(1, BUF);
	e->mr = ibv_reg_mr(e->pd, e->buf, BUF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	attr.send_cq = e->scq = ibv_create_cq(e->ctx, 16, NULL, NULL, 0);
	attr.recv_cq = e->rcq = ibv_create_cq(e->ctx, 16, NULL, NULL, 0);
	e->qp = ibv_create_qp(e->pd, &attr);
	assert_non_null(e->qp);
	e->own = (struct hello){ .qpn = e->qp->qp_num, .rkey = e->mr->rkey,
				 .addr = (uintptr_t)e->buf };
	ibv_query_gid(e->ctx, 1, 1, &e->own.gid);
}

static void send_all(const struct end *e, const void *what, size_t len)
{
	assert_int_equal(send(e->sock, what, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void receive_all(const struct end *e, void *what, size_t len)
{
	assert_int_equal(recv(e->sock, what, len, MSG_WAITALL), (ssize_t)len);
}

static void end_connect(struct end *e, struct retries p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
				       IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .dest_qp_num = e->far.qpn,
				     .path_mtu = IBV_MTU_4096, .max_dest_rd_atomic = 16 };
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = e->far.gid;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = p.timeout,
				     .retry_cnt = p.retry_cnt, .rnr_retry = p.rnr_retry,
				     .max_rd_atomic = 1 };
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				       IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

static void end_close(struct end *e)
{
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(ibv_destroy_cq(e->scq), 0);
	assert_int_equal(ibv_destroy_cq(e->rcq), 0);
	ibv_dereg_mr(e->mr);
	ibv_dealloc_pd(e->pd);
	assert_int_equal(ibv_close_device(e->ctx), 0);
	free(e->buf);
}

static void post(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, uint64_t offset,
		 uint32_t len)
{
	struct ibv_sge sge = { .addr = e->own.addr + offset, .length = len, .lkey = e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .imm_data = (uint32_t)wr_id }, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = e->far.addr;
		wr.wr.atomic.rkey = e->far.rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = e->far.addr + offset;
		wr.wr.rdma.rkey = e->far.rkey;
	}
	assert_int_equal(ibv_post_send(e->qp, &wr, &bad), 0);
}

static void post_recv(struct end *e, uint64_t offset, uint32_t len)
{
	struct ibv_sge sge = { .addr = e->own.addr + offset, .length = len, .lkey = e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = offset, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
}

static unsigned char pattern(unsigned i)
{
	return (unsigned char)(i * 2654435761u >> 24);
}

static void fill(struct end *e, unsigned from, unsigned len)
{
	for (unsigned i = from; i < from + len; i++)
		e->buf[i] = pattern(i);
}

static bool filled(const struct end *e, unsigned from, unsigned len)
{
	for (unsigned i = from; i < from + len; i++)
		if (e->buf[i] != pattern(i))
			return false;
	return true;
}

/* -- the other process ---------------------------------------------------- */

static char obey(struct end *e, char command)
{
	switch (command) {
	case 'r': /* a receive */
		post_recv(e, 0, LONG);
		return 'y';
	case 'R': /* wait for its completion and check the data */
		rig_poll(e->rcq, 1, wc);
		return wc->status == IBV_WC_SUCCESS && wc->byte_len == LONG && wc->wc_flags &&
		       wc->imm_data == 4 && filled(e, 0, LONG) ? 'y' : 'n';
	case 'f': /* prepare data to read */
		fill(e, 0, LONG);
		return 'y';
	case 'w': /* post eight WRITEs and wait for their completions in order */
	case 'W':
		fill(e, 0, LONG);
		fake_link(0, command == 'W' ? 1e9 : 0);
		for (unsigned i = 0; i < 8; i++)
			post(e, IBV_WR_RDMA_WRITE, i, 0, 100000);
		rig_poll(e->scq, 8, wc);
		for (unsigned i = 0; i < 8; i++)
			if (wc[i].status || wc[i].wr_id != i)
				return 'n';
		return 'y';
	case 'e': /* fail the QP */
		return rig_state(e->qp, IBV_QPS_ERR) ? 'n' : 'y';
	case 'k':
		raise(SIGKILL);
		return 'n';
	default:
		return 'n';
	}
}

static int peer(int device)
{
	struct end e = { .sock = SOCKET };
	char command, answer = 'y';

	end_open(&e, device);
	send_all(&e, &e.own, sizeof(e.own));
	receive_all(&e, &e.far, sizeof(e.far));
	end_connect(&e, usual);
	send_all(&e, &answer, 1);
	while (recv(e.sock, &command, 1, 0) == 1) {
		answer = obey(&e, command);
		send_all(&e, &answer, 1);
	}
	end_close(&e);
	return 0;
}

/* -- this one --------------------------------------------------------------- */

static void begin(struct end *e, int device, struct retries p)
{
	char number[2] = { (char)('0' + device) }, ready;
	int pair[2];

	memset(e, 0, sizeof(*e));
	end_open(e, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	e->sock = pair[0];
	e->pid = fork();
	if (!e->pid) {
		dup2(pair[1], SOCKET);
		execl("/proc/self/exe", "test_wire", "peer", number, NULL);
		_exit(99);
	}
	close(pair[1]);
	receive_all(e, &e->far, sizeof(e->far));
	send_all(e, &e->own, sizeof(e->own));
	end_connect(e, p);
	receive_all(e, &ready, 1);
}

static void send_command(struct end *e, char command)
{
	send_all(e, &command, 1);
}

static void expect_done(struct end *e)
{
	char answer;

	receive_all(e, &answer, 1);
	assert_int_equal(answer, 'y');
}

static void run_command(struct end *e, char command)
{
	send_command(e, command);
	expect_done(e);
}

static void finish(struct end *e)
{
	int status;

	close(e->sock);
	assert_int_equal(waitpid(e->pid, &status, 0), e->pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	end_close(e);
}

static void expect(struct end *e, int n, const enum ibv_wc_status *status)
{
	rig_poll(e->scq, n, wc);
	for (int i = 0; i < n; i++) {
		assert_int_equal(wc[i].wr_id, i);
		assert_int_equal(wc[i].status, status[i]);
	}
}

static void every_opcode_works_between_processes(void **state)
{
	const enum ibv_wc_status fine[8] = { IBV_WC_SUCCESS };
	uint64_t *word;
	struct end e;

	begin(&e, 1, usual);
	run_command(&e, 'f');
	word = (uint64_t *)(void *)e.buf;
	post(&e, IBV_WR_RDMA_READ, 0, 0, LONG);
	expect(&e, 1, fine);
	assert_true(filled(&e, 0, LONG));
	run_command(&e, 'r');
	word[1] = word[0];
	post(&e, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, 8);
	post(&e, IBV_WR_RDMA_READ, 1, 0, 8);
	expect(&e, 2, fine);
	assert_int_equal(word[0], word[1] + 5);
	fill(&e, 0, LONG);
	for (unsigned i = 0; i < 4; i++) /* in order: the last arrives last */
		post(&e, IBV_WR_RDMA_WRITE, i, 8 * i, 8);
	post(&e, IBV_WR_SEND_WITH_IMM, 4, 0, LONG);
	expect(&e, 5, fine);
	run_command(&e, 'R');
	run_command(&e, 'r');
	post(&e, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 0, 0);
	expect(&e, 1, fine);
	finish(&e);
}

static void both_sides_can_read_at_once(void **state)
{
	const enum ibv_wc_status fine[8] = { IBV_WC_SUCCESS };
	struct end e;

	begin(&e, 1, usual);
	send_command(&e, 'w');
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 8; i++)
			post(&e, IBV_WR_RDMA_READ, i, 200000, LONG / 2);
		expect(&e, 8, fine);
	}
	expect_done(&e);
	assert_true(filled(&e, 0, 100000));
	finish(&e);
}

static void a_send_is_retried_until_a_receive_is_posted(void **state)
{
	struct retries p = usual;
	struct end e;

	begin(&e, 1, usual);
	post(&e, IBV_WR_SEND, 0, 0, 8);
	post(&e, IBV_WR_RDMA_WRITE, 1, 0, 8);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ibv_poll_cq(e.scq, 1, wc), 0);
	run_command(&e, 'r');
	expect(&e, 2, (enum ibv_wc_status[]){ IBV_WC_SUCCESS, IBV_WC_SUCCESS });
	finish(&e);

	p.rnr_retry = 2;
	begin(&e, 1, p);
	post(&e, IBV_WR_SEND, 0, 0, 8);
	post(&e, IBV_WR_RDMA_WRITE, 1, 0, 8);
	expect(&e, 2, (enum ibv_wc_status[]){ IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR });
	finish(&e);
}

static void a_refusal_of_the_peer_fails_the_wr(void **state)
{
	struct retries p = { .timeout = 4, .retry_cnt = 2, .rnr_retry = 7 };
	struct end e;

	begin(&e, 1, p);
	e.far.rkey++;
	post(&e, IBV_WR_RDMA_WRITE, 0, 0, LONG);
	post(&e, IBV_WR_RDMA_WRITE, 1, 0, 8);
	expect(&e, 2, (enum ibv_wc_status[]){ IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR });
	finish(&e);

	begin(&e, 1, p);
	run_command(&e, 'e');
	post(&e, IBV_WR_RDMA_WRITE, 0, 0, 8);
	expect(&e, 1, (enum ibv_wc_status[]){ IBV_WC_RETRY_EXC_ERR });
	finish(&e);
}

static unsigned files(void)
{
	DIR *dir = opendir(getenv("FAKERDMA_WIRE"));
	const struct dirent *e;
	unsigned n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		n += strlen(e->d_name) == 4;
	closedir(dir);
	return n;
}

static void wrs_to_a_dead_peer_fail_and_its_file_is_reused(void **state)
{
	struct end e;

	begin(&e, 1, usual);
	assert_int_equal(files(), 2);
	post(&e, IBV_WR_SEND, 0, 0, 8); /* retried */
	post(&e, IBV_WR_RDMA_WRITE, 1, 0, 8);
	send_command(&e, 'k');
	expect(&e, 2, (enum ibv_wc_status[]){ IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR });
	assert_int_equal(files(), 2);
	finish(&e);
	begin(&e, 1, usual); /* takes the dead process's slot */
	assert_int_equal(files(), 2);
	post(&e, IBV_WR_RDMA_WRITE, 0, 0, LONG);
	expect(&e, 1, (enum ibv_wc_status[]){ IBV_WC_SUCCESS });
	finish(&e);
	assert_int_equal(files(), 1);
}

/* The peer is stopped, so it cannot answer, and then killed. */
static void requests_that_a_dead_peer_left_unanswered_fail(void **state)
{
	struct end e;

	begin(&e, 1, usual);
	kill(e.pid, SIGSTOP);
	waitpid(e.pid, NULL, WUNTRACED);
	for (unsigned i = 0; i < 3; i++)
		post(&e, IBV_WR_RDMA_WRITE, i, 0, 8);
	kill(e.pid, SIGKILL);
	expect(&e, 3, (enum ibv_wc_status[]){ IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR,
					      IBV_WC_WR_FLUSH_ERR });
	finish(&e);
}

/* Another process may take its slot before its death is noticed; it must not be mistaken for it. */
static void a_process_in_a_dead_peers_place_gets_none_of_its_requests(void **state)
{
	struct end old, new;

	begin(&old, 1, usual);
	kill(old.pid, SIGSTOP);
	waitpid(old.pid, NULL, WUNTRACED);
	post(&old, IBV_WR_RDMA_WRITE, 0, 0, 8);
	kill(old.pid, SIGKILL);
	assert_int_equal(waitpid(old.pid, NULL, 0), old.pid);
	begin(&new, 1, usual);
	assert_int_equal(new.far.qpn, old.far.qpn);
	expect(&old, 1, (enum ibv_wc_status[]){ IBV_WC_RETRY_EXC_ERR });
	post(&new, IBV_WR_RDMA_WRITE, 0, 0, 8);
	expect(&new, 1, (enum ibv_wc_status[]){ IBV_WC_SUCCESS });
	finish(&new);
	close(old.sock);
	end_close(&old);
}

/* Two senders at different ports are together not faster than the port that they send to. */
static void two_senders_share_the_receivers_port(void **state)
{
	struct timespec before, after;
	struct end e[2];
	double ns;

	for (int i = 0; i < 2; i++)
		begin(&e[i], 1 + i, usual);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < 2; i++)
		send_command(&e[i], 'W');
	for (int i = 0; i < 2; i++)
		expect_done(&e[i]);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ns = 1e9 * (double)(after.tv_sec - before.tv_sec) +
	     (double)(after.tv_nsec - before.tv_nsec);
	assert_true(ns >= 2 * 8 * 100000 * 8.0); /* at 1 Gbit/s a bit is a ns */
	for (int i = 0; i < 2; i++)
		finish(&e[i]);
}

static int clean_up(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", getenv("FAKERDMA_WIRE"));
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_opcode_works_between_processes),
		cmocka_unit_test(both_sides_can_read_at_once),
		cmocka_unit_test(a_send_is_retried_until_a_receive_is_posted),
		cmocka_unit_test(a_refusal_of_the_peer_fails_the_wr),
		cmocka_unit_test(wrs_to_a_dead_peer_fail_and_its_file_is_reused),
		cmocka_unit_test(requests_that_a_dead_peer_left_unanswered_fail),
		cmocka_unit_test(a_process_in_a_dead_peers_place_gets_none_of_its_requests),
		cmocka_unit_test(two_senders_share_the_receivers_port),
	};
	char wire[64] = "FAKERDMA_WIRE=";

	if (argc == 3 && strcmp(argv[1], "peer") == 0)
		return peer(argv[2][0] - '0');
	if (!fake_present()) {
		strcat(wire, "/tmp/fakerdma.XXXXXX");
		if (!mkdtemp(strchr(wire, '/')))
			return 99;
		setenv("RIG_BARE", "1", 1);
		rig_exec(argv, wire, "FAKERDMA_DEVICES=3", NULL);
	}
	return cmocka_run_group_tests_name("wire", tests, NULL, clean_up);
}
