/* SPDX-License-Identifier: BSD-2-Clause */
/* The test rig: processes with the shim preloaded, and two connected QPs; see rig.h. */
#include "rig.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

_Thread_local struct ibv_qp_cap rig_cap;

static void forget_settings(void)
{
	char name[256];

	for (char **e = environ; *e;) {
		if (strncmp(*e, "CCSHIM_", 7) != 0 && strncmp(*e, "FAKERDMA_", 9) != 0) {
			e++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		unsetenv(name);
		e = environ;
	}
}

/* A sanitizer's runtime must be the first library in LD_PRELOAD. */
static void add_sanitizer(char *preload, size_t len)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], *path;

	while (maps && fgets(line, sizeof(line), maps)) {
		path = strchr(line, '/');
		if (!path || (!strstr(path, "libasan.so") && !strstr(path, "libtsan.so")))
			continue;
		path[strcspn(path, "\n")] = '\0';
		snprintf(preload, len, "%s ", path);
		break;
	}
	if (maps)
		fclose(maps);
}

void rig_exec(char **argv, ...)
{
	const char *dir = getenv("top_builddir"), *setting;
	char preload[2048] = "", exe[1024];
	ssize_t n;
	va_list ap;

	if (fake_present())
		return;
	if (getenv("RIG_AGAIN")) { /* repeat until killed */
		fprintf(stderr, "Bail out! top_builddir has no libraries to preload\n");
		exit(99);
	}
	setenv("RIG_AGAIN", "1", 1);
	if (!getenv("RIG_KEEP"))
		forget_settings();
	setenv("CCSHIM_CONFIG", "", 1);
	/* the settings of this host must not apply */
	setenv("CCSHIM_AGENT", "/nowhere/agent.sock", 0);
	va_start(ap, argv);
	while ((setting = va_arg(ap, const char *))) {
		const size_t len = strcspn(setting, "=");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)len, setting);
		setenv(name, setting + len + 1, 1);
	}
	va_end(ap);
	add_sanitizer(preload, sizeof(preload));
	snprintf(preload + strlen(preload), sizeof(preload) - strlen(preload),
		 "%s%s%s/.libs/libfakerdma.so", getenv("RIG_BARE") ? "" : dir ? dir : ".",
		 getenv("RIG_BARE") ? "" : "/.libs/libccshim.so ", dir ? dir : ".");
	setenv("LD_PRELOAD", preload, 1);
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		execv(exe, argv);
	}
	perror("Bail out! cannot start again");
	exit(99);
}

const struct rig_mode rig_modes[] = {
	{ "bare", { "RIG_BARE=1" } },
	{ "observe", { "CCSHIM_MODE=observe" } },
	{ "open", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=1m", "CCSHIM_MAX_INFLIGHT=16m" } },
	{ "gated", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		     "CCSHIM_BASE_RTT=20us" } },
};
const struct rig_mode *rig_mode_now;

static void in_its_own_process(void **state)
{
	const struct rig_mode *mode = *state;
	char command[4096], exe[2048];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0);
	exe[n] = '\0';
	snprintf(command, sizeof(command), "'%s' %s >&2", exe, mode->name);
	if (system(command))
		fail_msg("mode %s failed: run %s %s", mode->name, exe, mode->name);
}

int rig_run_in(int argc, char **argv, const char *group, const struct rig_mode *modes,
	       size_t nmodes, const struct CMUnitTest *tests, size_t n)
{
	struct CMUnitTest all[16];

	for (size_t i = 0; i < nmodes && i < sizeof(all) / sizeof(*all); i++) {
		const struct rig_mode *m = &modes[i];

		all[i] = (struct CMUnitTest){ .name = m->name, .test_func = in_its_own_process,
					      .initial_state = (void *)(uintptr_t)m };
		if (argc < 2 || strcmp(argv[1], m->name) != 0)
			continue;
		rig_mode_now = m;
		if (strcmp(m->settings[0], "RIG_BARE=1") == 0)
			setenv("RIG_BARE", "1", 1);
		rig_exec(argv, m->settings[0], m->settings[1], m->settings[2], m->settings[3],
			 m->settings[4], m->settings[5], NULL);
		return _cmocka_run_group_tests(m->name, tests, n, NULL, NULL);
	}
	return _cmocka_run_group_tests(group, all, nmodes, NULL, NULL);
}

int rig_run_modes(int argc, char **argv, const char *group, const struct CMUnitTest *tests,
		  size_t n)
{
	return rig_run_in(argc, argv, group, rig_modes, sizeof(rig_modes) / sizeof(*rig_modes),
			  tests, n);
}

static void defaults(struct rig_conf *c)
{
	if (!c->max_send_wr)
		c->max_send_wr = 16;
	if (!c->max_recv_wr)
		c->max_recv_wr = 16;
	if (!c->max_send_sge)
		c->max_send_sge = 4;
	if (!c->max_inline)
		c->max_inline = 64;
	if (!c->cqe)
		c->cqe = (int)c->max_send_wr + 64;
	if (!c->max_rd_atomic)
		c->max_rd_atomic = 4;
	if (!c->type)
		c->type = IBV_QPT_RC;
}

struct ibv_context *rig_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;

	assert_non_null(ctx);
	assert_string_equal(ibv_get_device_name(ctx->device), "fake0");
	ibv_free_device_list(list);
	return ctx;
}

struct ibv_qp *rig_qp(struct rig *r, struct ibv_cq *scq, struct ibv_cq *rcq)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = r,
		.send_cq = scq,
		.recv_cq = rcq,
		.cap = {
			.max_send_wr = r->conf.max_send_wr,
			.max_recv_wr = r->conf.max_recv_wr,
			.max_send_sge = r->conf.max_send_sge,
			.max_recv_sge = 4,
			.max_inline_data = r->conf.max_inline,
		},
		.qp_type = r->conf.type,
		.sq_sig_all = r->conf.sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | (r->conf.ex ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.pd = r->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(r->ctx, &attr);

	rig_cap = attr.cap;
	return qp;
}

int rig_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

void rig_to_rts(struct rig *r, struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				       IBV_QP_ACCESS_FLAGS), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .dest_qp_num = dest,
				     .path_mtu = r->conf.path_mtu ? r->conf.path_mtu : IBV_MTU_4096,
				     .max_dest_rd_atomic = 16 };
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	assert_int_equal(ibv_query_gid(r->ctx, 1, !r->conf.ipv6, &attr.ah_attr.grh.dgid), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				     .rnr_retry = 7, .max_rd_atomic = r->conf.max_rd_atomic };
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				       IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

struct ibv_cq *rig_cq(struct rig *r, int cqe)
{
	struct ibv_cq_init_attr_ex attr;
	struct ibv_cq_ex *ex;

	if (!r->conf.cq_ex)
		return ibv_create_cq(r->ctx, cqe, r, r->channel, 0);
	attr = *r->conf.cq_ex;
	attr.cqe = (uint32_t)cqe;
	attr.cq_context = r;
	attr.channel = r->channel;
	ex = ibv_create_cq_ex(r->ctx, &attr);
	return ex ? ibv_cq_ex_to_cq(ex) : NULL;
}

void rig_open(struct rig *r, struct rig_conf conf)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	memset(r, 0, sizeof(*r));
	fake_reset();
	defaults(&conf);
	r->conf = conf;
	r->before = fake_counts();
	r->ctx = conf.ctx ? conf.ctx : rig_device();
	r->pd = ibv_alloc_pd(r->ctx);
	r->channel = conf.channel ? ibv_create_comp_channel(r->ctx) : NULL;
	r->scq = rig_cq(r, conf.cqe);
	r->rcq = conf.one_cq ? r->scq : rig_cq(r, conf.cqe);
	assert_true(r->pd && r->scq && r->rcq);
	r->src = calloc(1, RIG_BUF);
	r->dst = calloc(1, RIG_BUF);
	r->smr = ibv_reg_mr(r->pd, r->src, RIG_BUF, access);
	r->dmr = ibv_reg_mr(r->pd, r->dst, RIG_BUF, access);
	assert_true(r->smr && r->dmr);
	r->b = rig_qp(r, r->scq, r->rcq);
	r->a = rig_qp(r, r->scq, r->rcq);
	assert_true(r->a && r->b);
	rig_to_rts(r, r->b, r->a->qp_num);
	rig_to_rts(r, r->a, r->b->qp_num);
	fake_seen_clear();
	rig_fill(r);
}

void rig_close(struct rig *r)
{
	if (r->a)
		assert_int_equal(ibv_destroy_qp(r->a), 0);
	if (r->b)
		assert_int_equal(ibv_destroy_qp(r->b), 0);
	assert_int_equal(ibv_destroy_cq(r->scq), 0);
	if (r->rcq != r->scq)
		assert_int_equal(ibv_destroy_cq(r->rcq), 0);
	if (r->channel)
		assert_int_equal(ibv_destroy_comp_channel(r->channel), 0);
	ibv_dereg_mr(r->smr);
	ibv_dereg_mr(r->dmr);
	ibv_dealloc_pd(r->pd);
	assert_int_equal(fake_counts().overruns, 0);
	assert_int_equal(fake_counts().cqs, r->before.cqs);
	assert_int_equal(fake_counts().qps, r->before.qps);
	assert_int_equal(ibv_close_device(r->ctx), 0);
	free(r->src);
	free(r->dst);
}

void rig_fill(struct rig *r)
{
	for (uint32_t i = 0, x = 12345; i < RIG_BUF; i++) {
		x = x * 1664525 + 1013904223;
		r->src[i] = (unsigned char)(x >> 24);
		r->dst[i] = 0;
	}
}

struct ibv_send_wr rig_wr(const struct rig *r, struct ibv_sge *sge, uint64_t wr_id,
			  enum ibv_wr_opcode opcode, uint64_t offset, uint32_t len,
			  unsigned int flags)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .send_flags = flags,
				  .sg_list = sge, .num_sge = 1 };

	*sge = (struct ibv_sge){ .addr = (uintptr_t)r->src + offset, .length = len,
				 .lkey = r->smr->lkey };
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)r->dst + offset;
		wr.wr.atomic.rkey = r->dmr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)r->dst + offset;
		wr.wr.rdma.rkey = r->dmr->rkey;
	}
	return wr;
}

int rig_post(struct rig *r, uint64_t wr_id, enum ibv_wr_opcode opcode, uint64_t offset,
	     uint32_t len, unsigned int flags)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = rig_wr(r, &sge, wr_id, opcode, offset, len, flags), *bad;

	return ibv_post_send(r->a, &wr, &bad);
}

int rig_recv(struct rig *r, uint64_t wr_id, uint64_t offset, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r->dst + offset, .length = len,
			       .lkey = r->dmr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(r->b, &wr, &bad);
}

/*
 * Timing decides no test: this only ends a test that would hang, after an hour. A harness may end it
 * sooner, so after some seconds it prints that the test waits.
 */
bool rig_keep_waiting(unsigned *spins)
{
	enum { NOTICE = 100000, MOST = 360 * NOTICE };
	const struct timespec nap = { .tv_nsec = 100000 };

	if (++*spins > 100)
		nanosleep(&nap, NULL);
	if (*spins == NOTICE)
		fprintf(stderr, "# still waiting after %u tries\n", *spins);
	return *spins < MOST;
}

static char thread_state(const char *tid)
{
	char path[300], line[512] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return 'X';
	state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return state ? state[2] : 'X';
}

static bool others_sleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const pid_t self = (pid_t)syscall(SYS_gettid);
	const struct dirent *e;
	bool sleep = true;

	assert_non_null(tasks);
	while ((e = readdir(tasks)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != self)
			sleep &= strchr("SXZ", thread_state(e->d_name)) != NULL;
	closedir(tasks);
	return sleep;
}

void rig_until_others_sleep(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (unsigned seen = 0; seen < 10; seen += others_sleep())
		nanosleep(&nap, NULL);
}

static void poll_for(struct ibv_cq *cq, int n, struct ibv_wc *wc, bool stepping)
{
	unsigned spins = 0;

	for (int got = 0; got < n;) {
		const int some = ibv_poll_cq(cq, n - got, wc + got);

		assert_true(some >= 0);
		if (some)
			spins = 0;
		got += some;
		if (stepping)
			fake_step(1);
		if (!some && !rig_keep_waiting(&spins))
			fail_msg("%d of %d completions came", got, n);
	}
}

void rig_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	poll_for(cq, n, wc, false);
}

void rig_poll_stepping(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	poll_for(cq, n, wc, true);
}

void rig_poll_nothing(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 200; i++) {
		fake_step(100);
		if (ibv_poll_cq(cq, 1, &wc))
			fail_msg("wr_id %#llx came with status %d", (unsigned long long)wc.wr_id,
				 wc.status);
	}
}

size_t rig_seen_of(const struct ibv_qp *qp, struct fake_wqe_seen *out, size_t max)
{
	const size_t all = fake_seen_count();
	size_t n = 0;

	for (size_t i = 0; i < all && n < max; i++) {
		out[n] = fake_seen(i);
		n += out[n].qp_num == qp->qp_num;
	}
	return n;
}
