/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests extended CQs. Each scenario runs in separate processes: on the bare provider, in mode
 * observe and in mode enforce. Their output per QP must be equal.
 */
#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define K4 4096u
#define EVERYTHING (IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
		    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

enum { QPS = 4 };

static struct rig rig;
static struct ibv_cq_init_attr_ex cq_attr = { .wc_flags = EVERYTHING };

/* The completions of each QP, in order. */
static struct lane {
	uint32_t qp_num;
	FILE *file;
	char *text;
	size_t len;
	uint64_t ts;
} lane[QPS];

static bool is_behind_shim(void)
{
	return !getenv("RIG_BARE");
}

static void begin(struct rig_conf conf)
{
	conf.cq_ex = &cq_attr;
	rig_open(&rig, conf);
	assert_true((fake_send_cq(rig.a) != rig.scq) == is_behind_shim());
	memset(lane, 0, sizeof(lane));
	lane[0].qp_num = rig.a->qp_num;
	lane[1].qp_num = rig.b->qp_num;
}

static struct lane *lane_of(uint32_t qp_num)
{
	for (int i = 0; i < QPS; i++) {
		if (lane[i].qp_num != qp_num)
			continue;
		if (!lane[i].file)
			lane[i].file = open_memstream(&lane[i].text, &lane[i].len);
		return &lane[i];
	}
	fail_msg("a completion of QP %u", qp_num);
	return NULL;
}

static void print_lanes(void)
{
	for (int i = 0; i < QPS; i++) {
		if (!lane[i].file)
			continue;
		fclose(lane[i].file);
		printf("QP %d:\n%s", i, lane[i].text);
		free(lane[i].text);
		lane[i].file = NULL;
	}
}

static void end(void)
{
	print_lanes();
	printf("misread %u, overruns %u\n", fake_counts().misread, fake_counts().overruns);
	rig_close(&rig);
}

static struct ibv_cq_ex *scq(void)
{
	return (struct ibv_cq_ex *)(void *)rig.scq;
}

static struct ibv_cq_ex *rcq(void)
{
	return (struct ibv_cq_ex *)(void *)rig.rcq;
}

/* Print every field of the current completion. */
static void print_completion(struct ibv_cq_ex *cq)
{
	struct lane *l = lane_of(ibv_wc_read_qp_num(cq));

	fprintf(l->file, "%llu %s", (unsigned long long)cq->wr_id, ibv_wc_status_str(cq->status));
	fprintf(l->file, " err %u", ibv_wc_read_vendor_err(cq));
	if (cq->status == IBV_WC_SUCCESS) {
		fprintf(l->file, " op %d len %u imm %#x flags %u", ibv_wc_read_opcode(cq),
			ibv_wc_read_byte_len(cq), ibv_wc_read_imm_data(cq),
			ibv_wc_read_wc_flags(cq));
		fprintf(l->file, " src %u slid %u sl %u dlid %u", ibv_wc_read_src_qp(cq),
			ibv_wc_read_slid(cq), ibv_wc_read_sl(cq), ibv_wc_read_dlid_path_bits(cq));
	}
	if (cq_attr.wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) {
		const uint64_t ts = ibv_wc_read_completion_ts(cq);

		fprintf(l->file, " ts %s, wallclock %s", ts >= l->ts && ts ? "rises" : "falls",
			ibv_wc_read_completion_wallclock_ns(cq) > 1600000000000000000ull
			? "now" : "never");
		l->ts = ts;
	}
	fprintf(l->file, "\n");
}

/* Poll one batch of at most `most` completions. */
static int poll_batch(struct ibv_cq_ex *cq, int most)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int n = 0, rc = ibv_start_poll(cq, &attr);

	if (rc) {
		assert_int_equal(rc, ENOENT);
		return 0;
	}
	do {
		print_completion(cq);
		n++;
	} while (n < most && !(rc = ibv_next_poll(cq)));
	if (rc)
		assert_int_equal(rc, ENOENT);
	ibv_end_poll(cq);
	return n;
}

static void gather(struct ibv_cq_ex *cq, int n, int most)
{
	unsigned spins = 0;

	while (n > 0) {
		const int some = poll_batch(cq, most);

		n -= some;
		if (!some && !rig_keep_waiting(&spins))
			fail_msg("%d completions are missing", n);
	}
}

static void post_all_kinds(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_recv(&rig, 50 + i, 0, 4 * K4), 0);
	for (unsigned i = 0; i < 14; i++) {
		const enum ibv_wr_opcode op = opcodes[i % 7];
		const bool atomic = i % 7 >= 5, message = i % 7 >= 2 && !atomic;
		struct ibv_sge sge;
		struct ibv_send_wr wr = rig_wr(&rig, &sge, 100 + i, op, 0,
					       atomic ? 8 : 3 * K4 + i,
					       i % 7 == 3 ? 0 : IBV_SEND_SIGNALED), *bad;

		wr.imm_data = 0x12345678 + i;
		if (i >= 7 && message)
			continue;
		assert_int_equal(ibv_post_send(rig.a, &wr, &bad), 0);
	}
}

/* 10 sends and 3 receives are reported. */
static void every_field(void)
{
	begin((struct rig_conf){ 0 });
	post_all_kinds();
	gather(scq(), 10, 3);
	gather(rcq(), 3, 3);
	end();
}

static void both_sides_on_one_cq(void)
{
	for (int most = 1; most < 20; most += 6) {
		begin((struct rig_conf){ .one_cq = true });
		post_all_kinds();
		gather(scq(), 13, most);
		assert_int_equal(poll_batch(scq(), 1), 0);
		end();
	}
}

static void failures_and_what_they_flush(void)
{
	begin((struct rig_conf){ .one_cq = true });
	for (unsigned i = 0; i < 4; i++)
		rig_recv(&rig, i, 0, K4);
	for (unsigned i = 0; i < 8; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = rig_wr(&rig, &sge, i, IBV_WR_RDMA_WRITE, 0, 2 * K4,
					       i % 2 ? 0 : IBV_SEND_SIGNALED), *bad;

		if (i == 3)
			wr.wr.rdma.rkey = 0xbad;
		assert_int_equal(ibv_post_send(rig.a, &wr, &bad), 0);
	}
	gather(scq(), 7, 2);
	assert_int_equal(rig_state(rig.b, IBV_QPS_ERR), 0);
	gather(scq(), 4, 8);
	end();
}

static void what_is_there_to_read(void)
{
	static const uint64_t flags[] = {
		0, IBV_WC_EX_WITH_BYTE_LEN, IBV_WC_STANDARD_FLAGS,
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, EVERYTHING,
		EVERYTHING & ~IBV_WC_EX_WITH_QP_NUM,
	};

	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const struct ibv_cq_ex *cq;
		struct ibv_wc wc[1];

		cq_attr.wc_flags = flags[i];
		begin((struct rig_conf){ 0 });
		cq = scq();
		printf("%#llx:", (unsigned long long)flags[i]);
#define THERE(name) printf(" %s", cq->read_##name ? #name : "-")
		THERE(opcode);
		THERE(vendor_err);
		THERE(byte_len);
		THERE(imm_data);
		THERE(qp_num);
		THERE(src_qp);
		THERE(wc_flags);
		THERE(slid);
		THERE(sl);
		THERE(dlid_path_bits);
		THERE(completion_ts);
		THERE(cvlan);
		THERE(flow_tag);
		THERE(tm_info);
		THERE(completion_wallclock_ns);
#undef THERE
		/* ibv_poll_cq also returns every field */
		rig_post(&rig, 7, IBV_WR_RDMA_READ, 0, 3 * K4, IBV_SEND_SIGNALED);
		rig_poll(rig.scq, 1, wc);
		printf("\n%llu %d %u %d\n", (unsigned long long)wc->wr_id, wc->opcode, wc->byte_len,
		       wc->qp_num == rig.a->qp_num);
		end();
	}
	cq_attr.wc_flags = 1ull << 60;
	cq_attr.cqe = 8;
	errno = 0;
	assert_null(ibv_create_cq_ex((rig.ctx = rig_device()), &cq_attr));
	printf("refused: %d\n", errno);
	ibv_close_device(rig.ctx);
}

static void codes_of_the_calls(void)
{
	struct ibv_poll_cq_attr attr = { 0 }, unknown = { .comp_mask = 1 };

	begin((struct rig_conf){ .one_cq = true });
	printf("empty: %d, unknown: %d\n", ibv_start_poll(scq(), &attr),
	       ibv_start_poll(scq(), &unknown));
	rig_post(&rig, 1, IBV_WR_RDMA_WRITE, 0, 100, IBV_SEND_SIGNALED);
	rig_recv(&rig, 2, 0, K4);
	rig_post(&rig, 3, IBV_WR_SEND, 0, 100, 0);
	printf("unknown: %d\n", ibv_start_poll(scq(), &unknown));
	gather(scq(), 2, 1);
	for (unsigned i = 5; i < 9; i++)
		rig_post(&rig, i, IBV_WR_RDMA_WRITE, 0, 100, IBV_SEND_SIGNALED);
	gather(scq(), 1, 1); /* the others have been polled from the shadow CQ */
	printf("unknown: %d\n", ibv_start_poll(scq(), &unknown));
	gather(scq(), 3, 1);
	printf("empty: %d %d\n", ibv_start_poll(scq(), &attr), ibv_start_poll(scq(), &attr));
	rig_post(&rig, 4, IBV_WR_RDMA_WRITE, 0, 100, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_start_poll(scq(), &attr), 0);
	print_completion(scq());
	printf("next: %d\n", ibv_next_poll(scq()));
	ibv_end_poll(scq());
	end();
}

/* A closed loop: each completion posts the next request within the batch. */
static void posting_in_a_batch(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned posted = 0, spins = 0;

	begin((struct rig_conf){ .one_cq = true });
	for (; posted < 8; posted++)
		rig_post(&rig, posted, IBV_WR_RDMA_WRITE, 0, 2 * K4, IBV_SEND_SIGNALED);
	for (unsigned got = 0; got < 200;) {
		if (ibv_start_poll(scq(), &attr)) {
			assert_true(rig_keep_waiting(&spins));
			continue;
		}
		spins = 0;
		do {
			print_completion(scq());
			got++;
			if (posted < 200)
				assert_int_equal(rig_post(&rig, posted++, IBV_WR_RDMA_READ, 0,
							  K4, IBV_SEND_SIGNALED), 0);
		} while (!ibv_next_poll(scq()));
		ibv_end_poll(scq());
	}
	end();
}

/* Sends of two QPs, receives of an SRQ, both ways of polling in turn. */
static void everything_at_once(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct ibv_sge sge = { .length = K4 };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *peer, *sender = NULL;
	struct ibv_srq *srq;
	unsigned spins = 0;

	begin((struct rig_conf){ .one_cq = true, .max_send_wr = 64 });
	srq = ibv_create_srq(rig.pd, &srq_attr);
	assert_non_null(srq);
	attr.send_cq = attr.recv_cq = rig.scq;
	attr.srq = srq;
	attr.cap.max_send_wr = 4;
	attr.cap.max_send_sge = 1;
	peer = ibv_create_qp(rig.pd, &attr);
	sender = rig_qp(&rig, rig.scq, rig.scq);
	assert_true(peer && sender);
	lane[2].qp_num = sender->qp_num;
	lane[3].qp_num = peer->qp_num;
	rig_to_rts(&rig, peer, sender->qp_num);
	rig_to_rts(&rig, sender, peer->qp_num);
	sge.addr = (uintptr_t)rig.dst + 512 * 1024;
	sge.lkey = rig.dmr->lkey;
	for (recv.wr_id = 500; recv.wr_id < 540; recv.wr_id++)
		assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), 0);
	for (unsigned i = 0; i < 40; i++) {
		struct ibv_qp *a = rig.a;

		assert_int_equal(rig_post(&rig, i, IBV_WR_RDMA_WRITE, 0, 2 * K4,
					  i % 3 ? IBV_SEND_SIGNALED : 0), 0);
		rig.a = sender;
		assert_int_equal(rig_post(&rig, 1000 + i, IBV_WR_SEND, 0, 100 + i,
					  IBV_SEND_SIGNALED), 0);
		rig.a = a;
	}
	for (int left = 40 + 40 + 26, turn = 0; left; turn++) {
		struct ibv_wc wc[5];
		const int n = turn % 2 ? poll_batch(scq(), 3) : ibv_poll_cq(rig.scq, 5, wc);

		for (int i = 0; i < n && !(turn % 2); i++)
			fprintf(lane_of(wc[i].qp_num)->file,
				"%llu %s err %u op %d len %u imm %#x flags %u src %u slid %u sl %u "
				"dlid %u ts rises, wallclock now\n",
				(unsigned long long)wc[i].wr_id, ibv_wc_status_str(wc[i].status),
				wc[i].vendor_err, wc[i].opcode, wc[i].byte_len, wc[i].imm_data,
				wc[i].wc_flags, wc[i].src_qp, wc[i].slid, wc[i].sl,
				wc[i].dlid_path_bits);
		left -= n;
		if (!n)
			assert_true(rig_keep_waiting(&spins));
	}
	assert_int_equal(ibv_destroy_qp(sender), 0);
	assert_int_equal(ibv_destroy_qp(peer), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	end();
}

/*
 * The CQ was created without fields. A poll batch gets the completion of a SEND, or of its receive,
 * and ibv_poll_cq() the other completion, with all fields, including the immediate data of a SEND.
 */
static void a_batch_and_then_a_poll(void)
{
	cq_attr.wc_flags = 0;
	begin((struct rig_conf){ .one_cq = true });
	for (unsigned i = 0; i < 40; i++) {
		struct ibv_poll_cq_attr attr = { 0 };
		unsigned spins = 0;
		struct ibv_wc wc;

		assert_int_equal(rig_recv(&rig, 1000 + i, 0, K4), 0);
		assert_int_equal(rig_post(&rig, i, IBV_WR_SEND_WITH_IMM, 0, 100 + i,
					  IBV_SEND_SIGNALED), 0);
		while (ibv_start_poll(scq(), &attr))
			assert_true(rig_keep_waiting(&spins));
		wc.wr_id = scq()->wr_id;
		assert_int_equal(ibv_wc_read_wc_flags(scq()) & IBV_WC_WITH_IMM,
				 wc.wr_id >= 1000 ? IBV_WC_WITH_IMM : 0);
		fprintf(lane_of(lane[wc.wr_id >= 1000].qp_num)->file, "%llu\n", (unsigned long long)wc.wr_id);
		ibv_end_poll(scq());
		rig_poll(rig.scq, 1, &wc);
		fprintf(lane_of(wc.qp_num)->file, "%llu\n", (unsigned long long)wc.wr_id);
		assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
		if (wc.wr_id >= 1000)
			assert_int_equal(wc.byte_len, 100 + i);
	}
	end();
}

/* A CQ that a single thread uses. */
static void single_threaded(void)
{
	cq_attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	cq_attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	both_sides_on_one_cq();
	posting_in_a_batch();
	cq_attr.comp_mask = 0;
}

static void a_number_used_again(void)
{
	begin((struct rig_conf){ 0 });
	for (unsigned i = 0; i < 20; i++) {
		const uint32_t number = rig.a->qp_num;

		for (unsigned k = 0; k < 6; k++)
			rig_post(&rig, 10 * i + k, IBV_WR_RDMA_WRITE, 0, 2 * K4, IBV_SEND_SIGNALED);
		gather(scq(), 6, 4);
		if (is_behind_shim())
			fake_stale_cqe(0); /* the shim discards it, as mlx5 does */
		assert_int_equal(ibv_destroy_qp(rig.a), 0);
		fake_next_qp_num(number);
		rig.a = rig_qp(&rig, rig.scq, rig.rcq);
		assert_int_equal(rig.a->qp_num, number);
		rig_to_rts(&rig, rig.a, rig.b->qp_num);
	}
	end();
}

/* Batches of several threads exclude each other, and no completion is read twice. */
enum { THREADS = 4, TOTAL = 2000 };
static atomic_uint seen[TOTAL], gathered;

static void *poll_some(void *arg)
{
	struct ibv_poll_cq_attr attr = { 0 };
	const bool plain = arg;

	while (atomic_load(&gathered) < TOTAL) {
		struct ibv_wc wc;
		int n = 0;

		if (plain) {
			n = ibv_poll_cq(rig.scq, 1, &wc);
			if (n == 1)
				atomic_fetch_add(&seen[wc.wr_id], 1);
		} else if (!ibv_start_poll(scq(), &attr)) {
			do
				atomic_fetch_add(&seen[scq()->wr_id], 1);
			while (++n < 5 && !ibv_next_poll(scq()));
			ibv_end_poll(scq());
		}
		atomic_fetch_add(&gathered, (unsigned)n);
		if (!n)
			sched_yield(); /* to the thread that posts */
	}
	return NULL;
}

static void several_threads(void)
{
	pthread_t thread[THREADS];
	unsigned wrong = 0;

	begin((struct rig_conf){ .one_cq = true, .max_send_wr = 64, .cqe = 4096 });
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, poll_some, i ? NULL : (void *)1);
	for (unsigned i = 0; i < TOTAL; i++) {
		unsigned spins = 0;

		while (i % 2 && rig_recv(&rig, i, 0, K4))
			assert_true(rig_keep_waiting(&spins));
		while (i % 2 ? rig_post(&rig, i, IBV_WR_SEND, 0, 64, 0)
			     : rig_post(&rig, i, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED))
			assert_true(rig_keep_waiting(&spins));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < TOTAL; i++)
		wrong += seen[i] != 1;
	printf("%u wrong\n", wrong);
	end();
}

static void *to_reset(void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	(void)arg;
	assert_int_equal(ibv_modify_qp(rig.a, &attr, IBV_QP_STATE), 0);
	return NULL;
}

/*
 * More completions than a batch reads from one source at a time, so that the source stays open
 * while the CQ is polled.
 */
static void a_reset_waits_for_a_batch(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned spins = 0;
	pthread_t thread;

	begin((struct rig_conf){ .one_cq = true, .max_send_wr = 64, .cqe = 256 });
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(rig_recv(&rig, i, 0, 64), 0);
		assert_int_equal(rig_post(&rig, i, IBV_WR_SEND, 0, 64, 0), 0);
	}
	while (fake_seen_count() < 20 || fake_pending())
		assert_true(rig_keep_waiting(&spins));
	fake_hold(true);
	assert_int_equal(rig_post(&rig, 100, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED), 0);
	while (!fake_pending())
		assert_true(rig_keep_waiting(&spins));
	assert_int_equal(ibv_start_poll(scq(), &attr), 0);
	pthread_create(&thread, NULL, to_reset, NULL);
	rig_until_others_sleep();
	fake_step(1);
	do {
		print_completion(scq());
	} while (!ibv_next_poll(scq()));
	ibv_end_poll(scq());
	pthread_join(thread, NULL);
	fake_hold(false);
	end();
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
#define STORY(name) { #name, name }
	STORY(every_field), STORY(both_sides_on_one_cq), STORY(failures_and_what_they_flush),
	STORY(what_is_there_to_read), STORY(codes_of_the_calls), STORY(posting_in_a_batch),
	STORY(everything_at_once), STORY(a_batch_and_then_a_poll), STORY(single_threaded),
	STORY(a_number_used_again), STORY(a_reset_waits_for_a_batch), STORY(several_threads),
#undef STORY
};

static char *output_of(const char *how, const char *scenario)
{
	char command[4096], exe[2048], *text = NULL;
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	FILE *p, *out;
	size_t size;
	int c;

	assert_true(n > 0);
	exe[n] = '\0';
	snprintf(command, sizeof(command), "%s '%s' %s", how, exe, scenario);
	out = open_memstream(&text, &size);
	p = popen(command, "r");
	assert_true(out && p);
	while ((c = fgetc(p)) != EOF)
		fputc(c, out);
	fclose(out);
	if (pclose(p))
		fail_msg("'%s' failed", command);
	return text;
}

static void seen_as_without(void **state)
{
	static const char *const modes[] = {
		"RIG_MODE=observe", "RIG_MODE=enforce", "RIG_CC=fixed:rate=1g", "RIG_CC=timely",
	};
	char *bare = output_of("RIG_BARE=1", *state);

	assert_true(strlen(bare) > 20);
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		char *shim = output_of(modes[i], *state);
		size_t at = 0;

		while (bare[at] && bare[at] == shim[at])
			at++;
		if (bare[at] || shim[at])
			fail_msg("%s: bare \"%.80s\", behind the shim \"%.80s\"", modes[i],
				 bare + (at > 30 ? at - 30 : 0), shim + (at > 30 ? at - 30 : 0));
		free(shim);
	}
	free(bare);
}

int main(int argc, char **argv)
{
	enum { N = sizeof(scenarios) / sizeof(*scenarios) };
	const char *mode = getenv("RIG_MODE"), *cc = getenv("RIG_CC");
	char mode_setting[64], cc_setting[64];
	struct CMUnitTest tests[N];

	snprintf(mode_setting, sizeof(mode_setting), "CCSHIM_MODE=%s", mode ? mode : "enforce");
	snprintf(cc_setting, sizeof(cc_setting), "CCSHIM_CC=%s", cc ? cc : "none");
	for (unsigned i = 0; i < N; i++) {
		tests[i] = (struct CMUnitTest){ .name = scenarios[i].name,
						.test_func = seen_as_without,
						.initial_state = (void *)(uintptr_t)scenarios[i].name };
		if (argc < 2 || strcmp(argv[1], scenarios[i].name) != 0)
			continue;
		rig_exec(argv, mode_setting, cc_setting, "CCSHIM_SEGMENT=1k", "CCSHIM_MAX_INFLIGHT=2k",
			 "CCSHIM_BASE_RTT=20us", "FAKERDMA_CLOCK=156250",
			 "FAKERDMA_CLOCK_QUERY=1", NULL);
		scenarios[i].run();
		return 0;
	}
	return cmocka_run_group_tests_name("cq_ex", tests, NULL, NULL);
}
