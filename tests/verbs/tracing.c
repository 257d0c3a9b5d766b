/* SPDX-License-Identifier: BSD-2-Clause */
/* Program for trace.bats: both QPs send, through a send queue that one of them could fill. */
#include "rig.h"

#include <sys/wait.h>
#include <unistd.h>

#define K16 16384u

/*
 * Fewer events than the trace's ring takes, so that no event is lost however late its thread runs.
 */
enum { EACH = 400, DEEP = 8 };

static int post(const struct rig *r, struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = rig_wr(r, &sge, wr_id, IBV_WR_RDMA_WRITE, 0, K16,
				       IBV_SEND_SIGNALED), *bad;

	return ibv_post_send(qp, &wr, &bad);
}

static void traffic(struct rig *r)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < DEEP; i++) {
		assert_int_equal(post(r, r->a, 0), 0);
		assert_int_equal(post(r, r->b, 1), 0);
	}
	for (unsigned done = 0; done < 2 * EACH; done++) {
		rig_poll(r->scq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (done < 2 * (EACH - DEEP))
			assert_int_equal(post(r, wc.wr_id ? r->b : r->a, wc.wr_id), 0);
	}
}

/* The child creates a QP, ends and runs its exit handlers. */
static void child(struct rig *r)
{
	const pid_t pid = fork();
	int status;

	if (!pid) {
		rig_qp(r, r->scq, r->rcq);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	struct rig r;

	rig_exec(argv, NULL);
	rig_open(&r, (struct rig_conf){ .ipv6 = argc > 1 && strcmp(argv[1], "ipv6") == 0 });
	fake_link(20, 1e9);
	traffic(&r);
	if (argc > 1 && strcmp(argv[1], "fork") == 0)
		child(&r);
	printf("%u %u\n", r.a->qp_num, r.b->qp_num);
	return 0;
}
