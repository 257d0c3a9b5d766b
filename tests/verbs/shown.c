/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Program for stat.bats, which reads its statistics while it runs. It executes the lines of its
 * stdin in order, prints "done" after each, and exits at the end of input.
 */
#include "rig.h"

#include <sys/wait.h>
#include <unistd.h>

enum { MORE = 1000, LEN = 12288 };

static struct rig rig;
static struct ibv_qp *more[MORE];
static unsigned count;

static void transfer(unsigned n, enum ibv_wr_opcode opcode)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(rig_post(&rig, i, opcode, 0, LEN, IBV_SEND_SIGNALED), 0);
		rig_poll(rig.scq, 1, &wc);
	}
}

/* The child uses its parent's queue pairs, which verbs forbid, and then exits. */
static void fork_one(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		ibv_modify_qp(rig.b, &attr, IBV_QP_STATE);
		rig.conf.type = IBV_QPT_UC;
		rig_qp(&rig, rig.scq, rig.rcq); /* uncontrolled */
		exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void create(unsigned n, bool connected)
{
	for (; n; n--) {
		assert_non_null(more[count++] = rig_qp(&rig, rig.scq, rig.rcq));
		if (connected)
			rig_to_rts(&rig, more[count - 1], rig.b->qp_num);
		else
			assert_int_equal(rig_state(more[count - 1], IBV_QPS_ERR), 0);
	}
}

static void obey(const char *line, char **argv)
{
	unsigned n = 0;

	if (sscanf(line, "write %u", &n) == 1)
		transfer(n, IBV_WR_RDMA_WRITE);
	else if (sscanf(line, "read %u", &n) == 1)
		transfer(n, IBV_WR_RDMA_READ);
	else if (sscanf(line, "create %u", &n) == 1)
		create(n, true);
	else if (sscanf(line, "prepare %u", &n) == 1)
		create(n, false);
	else if (sscanf(line, "destroy %u", &n) == 1)
		for (; n; n--)
			assert_int_equal(ibv_destroy_qp(more[--count]), 0);
	else if (strcmp(line, "fork\n") == 0)
		fork_one();
	else if (strcmp(line, "exec\n") == 0)
		execlp("cat", "cat", NULL);
	else
		fail_msg("%s: unknown command '%s'", argv[0], line);
}

int main(int argc, char **argv)
{
	char line[64];

	(void)argc;
	rig_exec(argv, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	rig_open(&rig, (struct rig_conf){ .cqe = 8 * MORE, .ipv6 = getenv("RIG_IPV6") });
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		obey(line, argv);
		puts("done");
	}
	return 0;
}
