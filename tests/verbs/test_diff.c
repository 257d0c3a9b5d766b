/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seeded random programs of posts, polls and modifies, run twice: on the bare
 * provider, and behind the shim with tiny segments, a tight window and slow
 * pacing. What the application sees of each QP must be the same.
 *
 * A program never decides by what it has polled so far, only by what it posted
 * and waited for, so both runs are the same program.
 */
#include "rig.h"

#include "seed.h"

enum { QPS = 3, DEPTH = 24, AREA = 64 * 1024, STEPS = 120, INLINE = 64 };

struct lane {
	struct ibv_qp *qp;
	unsigned posted;                 /* since everything was known to be done */
	unsigned owed, seen;             /* completions */
	bool failed;
	/* What happened, in order; when completions came relative to posts is nobody's right. */
	FILE *calls, *completions;
	char *calls_text, *completions_text;
	size_t calls_len, completions_len;
};

static struct rig rig;
static struct lane lane[QPS];
static uint64_t next_id;

static struct lane *lane_of(uint32_t qp_num)
{
	for (int i = 0; i < QPS; i++)
		if (lane[i].qp->qp_num == qp_num)
			return &lane[i];
	fail_msg("a completion of QP %u", qp_num);
	return NULL;
}

static bool extended; /* the CQ is */

static int poll_session(int most, struct ibv_wc *wc)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)(void *)rig.scq;
	struct ibv_poll_cq_attr attr = { 0 };
	int n = 0;

	if (ibv_start_poll(ex, &attr))
		return 0;
	do {
		wc[n].wr_id = ex->wr_id;
		wc[n].status = ex->status;
		wc[n].qp_num = ibv_wc_read_qp_num(ex);
		wc[n].byte_len = ibv_wc_read_byte_len(ex);
		if (ex->status == IBV_WC_SUCCESS)
			wc[n].opcode = ibv_wc_read_opcode(ex);
	} while (++n < most && !ibv_next_poll(ex));
	ibv_end_poll(ex);
	return n;
}

/* An extended CQ is polled both ways in turn. */
static int poll_once(void)
{
	static unsigned turn;
	const int most = 1 + (int)(next_id % 7);
	struct ibv_wc wc[7];
	const int n = extended && turn++ % 2 ? poll_session(most, wc)
					     : ibv_poll_cq(rig.scq, most, wc);

	for (int i = 0; i < n; i++) {
		struct lane *l = lane_of(wc[i].qp_num);

		l->seen++;
		fprintf(l->completions, "wc %llu %s", (unsigned long long)wc[i].wr_id,
			ibv_wc_status_str(wc[i].status));
		if (wc[i].status == IBV_WC_SUCCESS)
			fprintf(l->completions, " %d %u", wc[i].opcode, wc[i].byte_len);
		fprintf(l->completions, "\n");
	}
	return n;
}

static void wait_for(struct lane *l)
{
	unsigned spins = 0;

	while (l->seen < l->owed)
		if (poll_once() <= 0 && !rig_patience(&spins)) {
			printf("hang: %u of %u\n", l->seen, l->owed);
			exit(1);
		}
	l->posted = 0;
}

/*
 * Local and remote memory of a lane are its own. No READ goes to where inline
 * data comes from: that is taken when it is posted, so it would be a race.
 */
static void random_wr(struct lane *l, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_IMM,
	};
	static const unsigned flags[] = { 0, IBV_SEND_SIGNALED, IBV_SEND_FENCE,
					  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED };
	const uint64_t base = (uint64_t)(l - lane) * AREA;
	const enum ibv_wr_opcode op = ops[seed_below(10)];
	const bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP;
	const bool message = op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM;

	*wr = rig_wr(&rig, sge, ++next_id, op, base + INLINE + 8 * seed_below(AREA / 16), 8,
		     flags[seed_below(4)]);
	wr->imm_data = (uint32_t)next_id;
	wr->num_sge = atomic ? 1 : (int)seed_below(5);
	for (int i = 0; i < wr->num_sge && !atomic; i++)
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)rig.src + base + INLINE +
						   seed_below(AREA / 2),
					   .length = (uint32_t)(seed_below(4) ? seed_below(300)
								: seed_below(message ? 300 : 6000)),
					   .lkey = rig.smr->lkey };
	if ((op == IBV_WR_RDMA_WRITE || op == IBV_WR_SEND) && seed_below(4) == 0) {
		wr->send_flags |= IBV_SEND_INLINE;
		wr->num_sge = 1;
		sge[0].addr = (uintptr_t)rig.src + base;
		sge[0].length = (uint32_t)seed_below(INLINE);
	}
	if (!atomic && seed_below(60) == 0) /* a failure, in the middle of a split perhaps */
		wr->wr.rdma.rkey = 0xbad;
}

static bool will_fail(const struct ibv_send_wr *wr)
{
	uint64_t len = 0;

	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_READ ||
		wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) && wr->wr.rdma.rkey == 0xbad && len;
}

static void build(struct ibv_qp_ex *ex, const struct ibv_send_wr *wr)
{
	const uint32_t rkey = wr->wr.rdma.rkey;
	const uint64_t addr = wr->wr.rdma.remote_addr;

	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, rkey, addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, rkey, addr);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(ex, wr->wr.atomic.rkey, addr, wr->wr.atomic.compare_add);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(ex, wr->wr.atomic.rkey, addr, wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(ex, wr->imm_data);
		break;
	default:
		ibv_wr_send(ex);
		break;
	}
}

/* A list by the newer interface; -1: thought better of it. */
static int post_session(struct lane *l, const struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(l->qp);

	ibv_wr_start(ex);
	for (; wr; wr = wr->next) {
		ex->wr_id = wr->wr_id;
		ex->wr_flags = wr->send_flags;
		build(ex, wr);
		if (wr->send_flags & IBV_SEND_INLINE)
			ibv_wr_set_inline_data(ex, (void *)(uintptr_t)wr->sg_list->addr,
					       wr->sg_list->length);
		else if (wr->num_sge == 1)
			ibv_wr_set_sge(ex, wr->sg_list->lkey, wr->sg_list->addr,
				       wr->sg_list->length);
		else
			ibv_wr_set_sge_list(ex, (size_t)wr->num_sge, wr->sg_list);
	}
	if (seed_below(16))
		return ibv_wr_complete(ex);
	ibv_wr_abort(ex);
	return -1;
}

static void account(struct lane *l, const struct ibv_send_wr *wr)
{
	l->posted++;
	if (l->failed || will_fail(wr)) {
		l->failed = true;
		l->owed++;
	} else if (wr->send_flags & IBV_SEND_SIGNALED) {
		l->owed++;
	}
}

static void post_list(struct lane *l)
{
	struct ibv_send_wr wr[8], *bad = NULL;
	struct ibv_sge sge[8][5];
	const unsigned n = 1 + (unsigned)seed_below(8);
	int rc;

	if (l->posted + n + 1 > DEPTH)
		return;
	for (unsigned i = 0; i < n; i++) {
		random_wr(l, &wr[i], sge[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	rc = seed_below(2) ? post_session(l, wr) : ibv_post_send(l->qp, wr, &bad);
	for (unsigned i = 0; i < n && !rc; i++)
		account(l, &wr[i]);
	fprintf(l->calls, "post %u: %d %d\n", n, rc, bad ? (int)(bad - wr) : -1);
	/* of inline data and of the list nothing may be kept */
	memset(wr, 0xa5, sizeof(wr));
	memset(sge, 0xa5, sizeof(sge));
}

/* A signalled WR last, so that all before it is known to be done. */
static void quiesce(struct lane *l)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = rig_wr(&rig, &sge, ++next_id, IBV_WR_RDMA_WRITE,
				       (uint64_t)(l - lane) * AREA, 8, IBV_SEND_SIGNALED), *bad;

	account(l, &wr);
	fprintf(l->calls, "last: %d\n", ibv_post_send(l->qp, &wr, &bad));
	wait_for(l);
}

static void refused_list(struct lane *l)
{
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_sge sge[3];
	int rc;

	quiesce(l);
	for (unsigned i = 0; i < 3; i++) {
		wr[i] = rig_wr(&rig, &sge[i], ++next_id, IBV_WR_RDMA_WRITE,
			       (uint64_t)(l - lane) * AREA, 100, IBV_SEND_SIGNALED);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	switch (seed_below(3)) {
	case 0:
		wr[1].num_sge = 9;
		break;
	case 1:
		wr[1].opcode = IBV_WR_TSO;
		break;
	default:
		wr[1].send_flags |= IBV_SEND_INLINE;
		break;
	}
	if (wr[1].opcode != IBV_WR_TSO && seed_below(2)) {
		rc = post_session(l, wr);
	} else {
		rc = ibv_post_send(l->qp, wr, &bad);
		l->owed++;
	}
	fprintf(l->calls, "refused: %d %d\n", rc, bad ? (int)(bad - wr) : -1);
	wait_for(l);
}

static void raise_again(struct lane *l)
{
	quiesce(l);
	if (!l->failed) {
		fprintf(l->calls, "err: %d\n", rig_state(l->qp, IBV_QPS_ERR));
		l->failed = true;
	}
	post_list(l); /* flushed */
	wait_for(l);
	fprintf(l->calls, "reset: %d\n", rig_state(l->qp, IBV_QPS_RESET));
	rig_to_rts(&rig, l->qp, rig.b->qp_num);
	l->failed = false;
}

static void pause_and_resume(struct lane *l)
{
	if (l->failed)
		return;
	fprintf(l->calls, "sqd: %d\n", rig_state(l->qp, IBV_QPS_SQD));
	post_list(l);
	fprintf(l->calls, "rts: %d\n", rig_state(l->qp, IBV_QPS_RTS));
}

static void step(struct lane *l)
{
	switch (seed_below(20)) {
	case 0:
		raise_again(l);
		break;
	case 1:
		if (!l->failed)
			refused_list(l);
		break;
	case 2:
		pause_and_resume(l);
		break;
	case 3: case 4: case 5:
		poll_once();
		break;
	case 6: case 7:
		quiesce(l);
		break;
	default:
		post_list(l);
		break;
	}
	if (l->posted + 9 > DEPTH)
		quiesce(l);
}

/* Receives for everything: the peer is not what is tested. */
static void feed_peer(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)rig.dst + QPS * AREA, .length = 4096,
			       .lkey = rig.dmr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	while (ibv_post_recv(rig.b, &wr, &bad) == 0)
		;
	while (ibv_poll_cq(rig.rcq, 1, &wc) == 1)
		;
}

static void run_program(uint64_t seed)
{
	struct ibv_cq_init_attr_ex cq_ex = { .wc_flags = IBV_WC_STANDARD_FLAGS };
	uint64_t digest = 14695981039346656037ull;
	struct ibv_qp *first;

	seed_state = seed;
	extended = seed % 2;
	rig_open(&rig, (struct rig_conf){ .max_send_wr = DEPTH, .max_recv_wr = 512, .cqe = 4096,
					 .ex = true, .cq_ex = extended ? &cq_ex : NULL });
	first = rig.a;
	for (int i = 0; i < QPS; i++) {
		lane[i].qp = i ? rig_qp(&rig, rig.scq, rig.rcq) : first;
		if (i)
			rig_to_rts(&rig, lane[i].qp, rig.b->qp_num);
		lane[i].calls = open_memstream(&lane[i].calls_text, &lane[i].calls_len);
		lane[i].completions = open_memstream(&lane[i].completions_text,
						     &lane[i].completions_len);
	}
	for (unsigned n = 0; n < STEPS; n++) {
		feed_peer();
		step(&lane[seed_below(QPS)]);
	}
	for (int i = 0; i < QPS; i++) {
		quiesce(&lane[i]);
		fclose(lane[i].calls);
		fclose(lane[i].completions);
		printf("QP %d\n%s%s", i, lane[i].calls_text, lane[i].completions_text);
	}
	for (unsigned i = 0; i < QPS * AREA; i++)
		digest = ((digest ^ rig.dst[i]) * 1099511628211ull ^ rig.src[i]) * 1099511628211ull;
	printf("memory %llx, overruns %u\n", (unsigned long long)digest, fake_counts().overruns);
}

static void both_runs_look_the_same(void **state)
{
	unsigned lines = 0;

	(void)state;
	seed_start("differential");
	for (unsigned i = 0; i < 12; i++) {
		const uint64_t seed = getenv("CCS_SEED") && !i ? seed_state : seed_next();
		char arguments[64], *bare, *shim;

		snprintf(arguments, sizeof(arguments), "run %llu", (unsigned long long)seed);
		bare = rig_output("RIG_BARE=1", arguments);
		shim = rig_output("", arguments);
		rig_same(arguments, bare, shim);
		for (const char *c = bare; *c; c++)
			lines += *c == '\n';
		free(bare);
		free(shim);
	}
	assert_true(lines > 1000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(both_runs_look_the_same) };

	if (argc == 3 && strcmp(argv[1], "run") == 0) {
		rig_exec(argv, "CCSHIM_CC=fixed:rate=1g", "CCSHIM_SEGMENT=512", "CCSHIM_CAP=1k",
			 "CCSHIM_BASE_RTT=20us", "CCSHIM_LOG_LEVEL=error", NULL);
		run_program(strtoull(argv[2], NULL, 10));
		return 0;
	}
	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
