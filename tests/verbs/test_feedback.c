/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests QPs under dcqcn, hpcc and auto with a host agent: CNPs cut the rate wherever the sender is,
 * and the fallback runs where feedback is not reliable. The algorithm's timers are too long to
 * matter: the rate follows from the CNPs alone. Each mode runs in a separate process.
 */
#include "rig.h"

#include <dirent.h>
#include <math.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define K4 4096u
#define LINE 10e9

static const char *agent_path;

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = 1000000 };

	nanosleep(&ts, NULL);
}

static unsigned now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned)ts.tv_sec * 1000 + (unsigned)(ts.tv_nsec / 1000000);
}

#define wait_for(condition_) do { \
	while (!(condition_)) \
		nap(); \
} while (0)

/* Post one WR and wait for its completion, so that the flow reads its feedback. */
static void send_one(struct rig *r)
{
	struct ibv_wc wc;

	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static double rate(struct rig *r, const struct ccs_slot *slot)
{
	send_one(r);
	return (double)atomic_load(&slot->rate);
}

/* Open a test rig whose QP a is registered with the agent; returns its slot. */
static struct ccs_slot *open_with_slot(struct rig *r)
{
	struct ccs_slot *slot;

	rig_open(r, (struct rig_conf){ .max_send_wr = 64, .path_mtu = IBV_MTU_256 });
	wait_for(slot = agent_slot(r->a->qp_num));
	wait_for(atomic_load(&slot->status) == CCS_FEEDBACK_OK);
	return slot;
}

static void close_all(struct rig *r)
{
	rig_close(r);
	wait_for(!agent_counts().flows);
	assert_int_equal(agent_counts().wrong, 0);
	agent_stop();
}

static void the_agent_gets_device_port_qpns_and_gids(void **state)
{
	struct ccs_ipc_add flow;
	union ibv_gid gid;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ 0 });
	open_with_slot(&r);
	assert_true(agent_flow(r.a->qp_num, &flow));
	assert_string_equal(flow.device, "fake0");
	assert_int_equal(flow.port, 1);
	assert_int_equal(flow.peer_qpn, r.b->qp_num);
	assert_int_equal(ibv_query_gid(r.ctx, 1, 0, &gid), 0); /* rig_to_rts uses index 0 */
	assert_memory_equal(flow.local_gid, gid.raw, 16);
	assert_int_equal(ibv_query_gid(r.ctx, 1, 1, &gid), 0);
	assert_memory_equal(flow.peer_gid, gid.raw, 16);
	close_all(&r);
}

/* A CNP has no effect before the first acknowledgement after a cut. */
static void a_cnp_cuts_once_in_each_round_trip(void **state)
{
	struct ccs_slot *slot;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ 0 });
	slot = open_with_slot(&r);
	assert_true(rate(&r, slot) == LINE);
	agent_cnp(r.a->qp_num, 1);
	assert_true(rate(&r, slot) == LINE / 2);
	agent_cnp(r.a->qp_num, 2);
	assert_true(rate(&r, slot) == LINE / 4);
	agent_cnp(r.a->qp_num, 1);
	assert_true(rate(&r, slot) == LINE / 8);
	agent_cnp(r.b->qp_num, 5);
	assert_true(rate(&r, slot) == LINE / 8);
	agent_cnp(r.a->qp_num, 1000000);
	assert_true(rate(&r, slot) == LINE / 16);
	atomic_store(&slot->cnps, 0);            /* a counter that runs backwards has no effect */
	assert_true(rate(&r, slot) == LINE / 16);
	close_all(&r);
}

/* The agent sets a flow's cap and class, which change and end at once. */
static void a_cap_is_in_force_and_changes_at_once(void **state)
{
	struct ccs_slot *slot;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ 0 });
	slot = open_with_slot(&r);
	assert_true(rate(&r, slot) == LINE);
	atomic_store(&slot->limit, (uint64_t)(LINE / 5));
	assert_true(rate(&r, slot) == LINE / 5);
	atomic_store(&slot->limit, (uint64_t)(LINE / 2));
	assert_true(rate(&r, slot) == LINE / 2);
	atomic_store(&slot->limit, CCS_BACKGROUND | (uint64_t)(LINE / 4));
	assert_true(rate(&r, slot) == LINE / 4);
	atomic_store(&slot->limit, CCS_BACKGROUND);
	assert_true(rate(&r, slot) == LINE);
	atomic_store(&slot->limit, 0);
	assert_true(rate(&r, slot) == LINE);
	atomic_store(&slot->limit, (uint64_t)(LINE / 10));
	assert_true(rate(&r, slot) == LINE / 10);
	atomic_store(&slot->limit, 0);           /* for the QP that uses the slot next */
	close_all(&r);
}

/* No post and no poll: the pacer thread reads the feedback. */
static void a_cnp_takes_effect_without_post_or_poll(void **state)
{
	struct ccs_slot *slot;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ 0 });
	slot = open_with_slot(&r);
	agent_cnp(r.a->qp_num, 7);
	assert_true(rate(&r, slot) == LINE / 128);
	for (unsigned i = 0; i < 60; i++)        /* several seconds of traffic */
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, RIG_BUF, 0), 0);
	agent_cnp(r.a->qp_num, 1);
	wait_for(atomic_load(&slot->rate) == (uint64_t)(LINE / 256));
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	close_all(&r);
}

static void the_fallback_runs_without_an_agent(void **state)
{
	const double expected = rig_is("open") ? LINE : LINE / 8;
	struct ccs_slot *slot;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ 0 });
	slot = open_with_slot(&r);
	agent_cnp(r.a->qp_num, 3);
	assert_true(rate(&r, slot) == LINE / 8);
	agent_stop();
	send_one(&r);                            /* unchanged, as another agent may start soon */
	wait_for(atomic_load(&slot->status) == CCS_FEEDBACK_NO_AGENT);
	send_one(&r);
	send_one(&r);
	if (!rig_is("timely"))
		assert_true(rate(&r, slot) == expected);
	agent_start(agent_path, (struct agent_config){ 0 });
	wait_for(atomic_load(&slot->status) == CCS_FEEDBACK_OK);
	send_one(&r);
	if (!rig_is("timely"))
		assert_true(rate(&r, slot) == expected);
	agent_cnp(r.a->qp_num, 1);
	if (!rig_is("timely"))
		assert_true(rate(&r, slot) == expected / 2);
	send_one(&r);
	close_all(&r);
}

static void read_one(struct rig *r)
{
	struct ibv_wc wc;

	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_READ, 0, K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static double rate_of_reads(struct rig *r, const struct ccs_slot *slot)
{
	read_one(r);
	read_one(r);                             /* by then the flow knows that it reads */
	return (double)atomic_load(&slot->rate);
}

/* Feedback through the peer's agent is of no use to a flow whose data come from the peer. */
static void reads_need_inbound_feedback_of_their_own_host(void **state)
{
	struct ccs_slot *slot;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ 0 });
	slot = open_with_slot(&r);
	wait_for(atomic_load(&slot->inbound_status) == CCS_FEEDBACK_UNABLE);
	read_one(&r);
	rate_of_reads(&r, slot);
	agent_cnp(r.a->qp_num, 1);
	if (!rig_is("timely"))
		assert_true(rate_of_reads(&r, slot) == LINE);
	agent_configure((struct agent_config){ .no_feedback = true, .inbound = true });
	wait_for(atomic_load(&slot->inbound_status) == CCS_FEEDBACK_OK);
	wait_for(atomic_load(&slot->status) == CCS_FEEDBACK_UNABLE);
	rate_of_reads(&r, slot);
	agent_cnp(r.a->qp_num, 1);
	if (!rig_is("timely"))
		assert_true(rate_of_reads(&r, slot) == LINE / 2);
	close_all(&r);
}

/* Traffic flows whatever the agent does or fails to do. */
static void no_agent_failure_stops_traffic(void **state)
{
	static const struct agent_config configs[] = {
		{ .silent = true, .no_heartbeat = true }, { .malformed = true },
		{ .refuses_flows = EPERM },
		{ .refuses_hello = EPROTO }, { .peer_silent = true }, { .no_feedback = true },
	};
	struct rig r;

	for (unsigned i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		agent_start(agent_path, configs[i]);
		rig_open(&r, (struct rig_conf){ 0 });
		for (unsigned k = 0; k < 20; k++)
			send_one(&r);
		rig_close(&r);
		agent_stop();
	}
}

static void a_reset_or_new_qp_of_the_same_number_gets_a_new_slot(void **state)
{
	struct ccs_slot *first, *again;
	uint32_t num, peer;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ 0 });
	first = open_with_slot(&r);
	num = r.a->qp_num;
	peer = r.b->qp_num;
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	wait_for(!agent_slot(num));
	rig_to_rts(&r, r.a, peer);
	wait_for(again = agent_slot(num));
	assert_ptr_not_equal(first, again);
	atomic_fetch_add(&first->cnps, 3);       /* for the QP that used the slot before */
	assert_true(rate(&r, again) == LINE);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	fake_next_qp_num(num);
	r.a = rig_qp(&r, r.scq, r.rcq);
	assert_int_equal(r.a->qp_num, num);
	rig_to_rts(&r, r.a, peer);
	wait_for(agent_slot(num) && agent_slot(num) != again);
	atomic_fetch_add(&again->cnps, 3);
	assert_true(rate(&r, agent_slot(num)) == LINE);
	agent_cnp(num, 1);
	assert_true(rate(&r, agent_slot(num)) == LINE / 2);
	close_all(&r);
}

static void a_forked_child_leaves_the_parents_feedback_alone(void **state)
{
	struct ccs_slot *slot;
	struct rig r;
	int status;
	pid_t pid;

	agent_start(agent_path, (struct agent_config){ 0 });
	slot = open_with_slot(&r);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		rig_state(r.a, IBV_QPS_RESET);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	agent_cnp(r.a->qp_num, 1);
	assert_true(rate(&r, slot) == LINE / 2);
	assert_int_equal(agent_counts().hellos, 1);
	close_all(&r);
}

/* -- hpcc ------------------------------------------------------------------------------ */

static void send_until(struct rig *r, struct ccs_slot *slot, enum ccs_feedback_status status)
{
	while (atomic_load(&slot->status) != status) {
		send_one(r);
		nap();
	}
	send_one(r);
}

/*
 * No record is newer than the first, except the last, so HPCC keeps its initial rate until that
 * record.
 */
static void a_new_flow_starts_at_its_share_and_telemetry_may_stop(void **state)
{
	const struct agent_config sending = { .telemetry = true, .ports = rig_is("ports") };
	struct agent_config silent = sending, stepping = sending;
	struct ccs_slot *slot;
	struct rig r;

	silent.telemetry = false;
	stepping.huge_step = true;
	agent_start(agent_path, sending);
	slot = open_with_slot(&r);
	assert_true(atomic_load(&slot->period_us) >= 200);
	assert_true(fabs(rate(&r, slot) / (LINE / 4) - 1) < 0.01);
	send_until(&r, slot, CCS_FEEDBACK_OK);
	assert_true(atomic_load(&slot->sent) >= K4);
	agent_configure(silent);
	send_until(&r, slot, CCS_FEEDBACK_STALE);
	agent_configure(sending);
	send_until(&r, slot, CCS_FEEDBACK_OK);
	nap();
	agent_configure(stepping);
	while (rate(&r, slot) > LINE / 10)
		nap();
	close_all(&r);
}

/* The flow has read what the agent writes now. */
static void wait_and_send(struct rig *r)
{
	const unsigned updates = agent_counts().updates;

	wait_for(agent_counts().updates > updates);
	send_one(r);
	send_one(r);
}

/*
 * The feedback thread updates the status ten times a second. The flow must start before that:
 * the status is still WAITING, as no message of the peer has arrived. This lasts for one second
 * only; repeat if this machine was too slow.
 */
static void a_flow_starts_with_its_first_record(void **state)
{
	struct ccs_slot *slot;
	bool early;
	struct rig r;

	do {
		agent_start(agent_path, (struct agent_config){ .peer_silent = true });
		rig_open(&r, (struct rig_conf){ .max_send_wr = 64 });
		wait_for(slot = agent_slot(r.a->qp_num));
		send_one(&r);                    /* the flow has started without telemetry */
		agent_configure((struct agent_config){ .peer_silent = true, .telemetry = true,
						       .idle = true });
		wait_and_send(&r);               /* a record without flows would allow line rate */
		agent_configure((struct agent_config){ .peer_silent = true, .telemetry = true });
		while (fabs(rate(&r, slot) / (LINE / 3) - 1) > 0.01 &&
		       atomic_load(&slot->status) == CCS_FEEDBACK_WAITING)
			nap();
		early = atomic_load(&slot->status) == CCS_FEEDBACK_WAITING;
		close_all(&r);
	} while (!early);
}

/*
 * The telemetry of the direction with most bytes is used; a few bytes in the other direction do
 * not change it.
 */
static void slots_count_sent_and_read_bytes_separately(void **state)
{
	struct ccs_slot *slot;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ .telemetry = true, .inbound = true,
						       .ports = rig_is("ports") });
	slot = open_with_slot(&r);
	send_until(&r, slot, CCS_FEEDBACK_OK);
	for (unsigned i = 0; i < 40; i++)
		read_one(&r);
	for (unsigned i = 0; i < 8; i++) {
		send_one(&r);
		read_one(&r);
		read_one(&r);
	}
	assert_true(atomic_load(&slot->read) >= 50 * K4);
	assert_true(atomic_load(&slot->sent) >= K4 && atomic_load(&slot->sent) < 20 * K4);
	close_all(&r);
}

/* -- auto ------------------------------------------------------------------------------ */

#define PAYLOAD (256 / (256 + 58.0)) /* share of a full packet; agents count packets with headers */

/* rcp sends payload at up to 1 % more or less than its share of the advised rate. */
static void send_until_rate(struct rig *r, struct ccs_slot *slot, double expected)
{
	while (fabs(rate(r, slot) / (PAYLOAD * expected) - 1) > 0.011)
		nap();
}

static void advised_rates_are_followed_until_they_stop(void **state)
{
	const struct agent_config sending = { .telemetry = true, .advised = LINE / 4 };
	struct agent_config lower = sending, silent = sending;
	struct ccs_slot *slot;
	struct rig r;

	lower.advised = LINE / 8;
	silent.telemetry = false;
	agent_start(agent_path, sending);
	slot = open_with_slot(&r);
	assert_int_equal(atomic_load(&slot->requested), CCS_PEER_ADVICE);
	send_until_rate(&r, slot, LINE / 4);
	agent_configure(lower);
	send_until_rate(&r, slot, LINE / 8);
	agent_configure(silent);
	send_until(&r, slot, CCS_FEEDBACK_STALE);
	agent_configure(sending);
	send_until_rate(&r, slot, LINE / 4);
	close_all(&r);
}

/* With three flows on a link of 10 Gb/s the advised rate is far below their share. */
static void a_rate_far_below_the_share_is_warned_about(void **state)
{
	const struct agent_config sending = { .telemetry = true, .advised = LINE / 8 };
	struct ccs_slot *slot;
	struct rig r;

	agent_start(agent_path, sending);
	slot = open_with_slot(&r);
	for (unsigned since_ms = now_ms(); now_ms() - since_ms < 1300; nap()) {
		send_one(&r);
		if (atomic_load(&slot->status) != CCS_FEEDBACK_OK)
			since_ms = now_ms(); /* the agent's thread did not run in time */
	}
	send_until_rate(&r, slot, LINE / 8);
	close_all(&r);
}

/* A SEND cannot be split, so the agents must know its whole length in advance. */
static void agents_know_the_length_of_sends(void **state)
{
	struct ccs_slot *slot;
	struct ibv_wc wc;
	struct rig r;

	agent_start(agent_path, (struct agent_config){ .telemetry = true, .advised = LINE / 4 });
	slot = open_with_slot(&r);
	send_until_rate(&r, slot, LINE / 4);
	assert_int_equal(atomic_load(&slot->segment), K4);
	while (atomic_load(&slot->segment) != 16 * K4) {
		assert_int_equal(rig_recv(&r, 1, 0, 16 * K4), 0);
		assert_int_equal(rig_post(&r, 1, IBV_WR_SEND, 0, 16 * K4, IBV_SEND_SIGNALED), 0);
		rig_poll(r.scq, 1, &wc);
		rig_poll(r.rcq, 1, &wc);
		nap();
	}
	close_all(&r);
}

/* Returns whether this process has a thread of that name. */
static bool has_thread(const char *name)
{
	char path[300], line[64];
	const struct dirent *e;
	DIR *tasks = opendir("/proc/self/task");
	bool found = false;

	assert_non_null(tasks);
	while (!found && (e = readdir(tasks))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = *e->d_name == '.' ? NULL : fopen(path, "r");
		found = f && fgets(line, sizeof(line), f) &&
			strncmp(line, name, strlen(name)) == 0;
		if (f)
			fclose(f);
	}
	closedir(tasks);
	return found;
}

/* The default uses an agent that runs, but does not wait for an agent to start. */
static void without_an_agent_socket_there_is_no_feedback_thread(void **state)
{
	struct rig r;

	assert_int_not_equal(access(agent_path, F_OK), 0);
	rig_open(&r, (struct rig_conf){ 0 });
	send_one(&r);
	assert_false(has_thread("ccshim-feedback"));
	rig_close(&r);
}

/* -- each mode in a process, with a report that is checked ------------------------- */

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_agent_gets_device_port_qpns_and_gids),
	cmocka_unit_test(a_cnp_cuts_once_in_each_round_trip),
	cmocka_unit_test(a_cap_is_in_force_and_changes_at_once),
	cmocka_unit_test(a_cnp_takes_effect_without_post_or_poll),
	cmocka_unit_test(the_fallback_runs_without_an_agent),
	cmocka_unit_test(reads_need_inbound_feedback_of_their_own_host),
	cmocka_unit_test(no_agent_failure_stops_traffic),
	cmocka_unit_test(a_reset_or_new_qp_of_the_same_number_gets_a_new_slot),
	cmocka_unit_test(a_forked_child_leaves_the_parents_feedback_alone),
};
static const struct CMUnitTest telemetry_tests[] = {
	cmocka_unit_test(a_new_flow_starts_at_its_share_and_telemetry_may_stop),
	cmocka_unit_test(a_flow_starts_with_its_first_record),
	cmocka_unit_test(slots_count_sent_and_read_bytes_separately),
};
static const struct CMUnitTest advice_tests[] = {
	cmocka_unit_test(without_an_agent_socket_there_is_no_feedback_thread),
	cmocka_unit_test(advised_rates_are_followed_until_they_stop),
	cmocka_unit_test(a_rate_far_below_the_share_is_warned_about),
	cmocka_unit_test(agents_know_the_length_of_sends),
};
static const struct rig_mode modes[] = {
	{ "ports", { "CCSHIM_CC=hpcc:base_rtt=100us" } },
	{ "receiver", { "CCSHIM_CC=hpcc:base_rtt=100us" } },
	{ "auto", { "CCSHIM_CC=auto" } },
	{ "timely", { "CCSHIM_FALLBACK=timely" } },
	{ "hold", { "CCSHIM_FALLBACK=hold" } },
	{ "open", { "CCSHIM_FALLBACK=open" } },
};

static bool contains(const char *file, const char *text)
{
	FILE *f = fopen(file, "r");
	char line[4096];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return found;
}

/* Returns the largest value of the field in the report. */
static unsigned long largest(const char *file, const char *field)
{
	const size_t length = strlen(field);
	FILE *f = fopen(file, "r");
	unsigned long max = 0;
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		for (const char *s = line; (s = strstr(s, field)); s += length) {
			const unsigned long value = strtoul(s + length, NULL, 10);

			max = value > max ? value : max;
		}
	}
	if (f)
		fclose(f);
	return max;
}

static bool on_telemetry(const struct rig_mode *mode)
{
	return strstr(mode->settings[0], "hpcc") != NULL;
}

static bool on_advice(const struct rig_mode *mode)
{
	return strstr(mode->settings[0], "auto") != NULL;
}

static void check_report(const struct rig_mode *mode, const char *report)
{
	if (on_advice(mode)) {
		assert_true(contains(report, "\"cc\": \"rcp\""));
		assert_true(contains(report, "\"cc\": \"copa\""));
		assert_true(contains(report, "\"feedback\": \"no-agent\""));
		assert_true(contains(report, "\"feedback\": \"outdone\""));
		/*
		 * To the fallback and back; more if the machine kept the agent from advising in
		 * time, and one more if the flow began before its registration was answered.
		 */
		assert_true(largest(report, "\"switches\":") >= 2);
		return;
	}
	if (on_telemetry(mode)) {
		assert_true(largest(report, "\"switches\":") >= 2);
		assert_true(contains(report, strcmp(mode->name, "ports") == 0
				     ? "\"variant\": \"ccshim\"" : "\"variant\": \"echo\""));
		assert_true(contains(report, "\"link\": 77"));
		assert_true(contains(report, "\"link\": 78")); /* for the data read */
		assert_true(contains(report, "\"rate_bps\": 1000000000000000")); /* limited */
		return;
	}
	assert_true(contains(report, "\"switches\": 2"));
	assert_true(contains(report, "\"rp_cnp_handled\": 4"));  /* the_fallback_runs_without_an_agent */
	assert_true(contains(report, "\"rp_cnp_handled\": 1000004"));
}

static void in_its_own_process(void **state)
{
	const struct rig_mode *mode = *state;
	char dir[] = "/tmp/test_signals.XXXXXX", exe[2048], command[4096], report[100];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0 && mkdtemp(dir));
	exe[n] = '\0';
	snprintf(command, sizeof(command), "'%s' %s %s >&2", exe, mode->name, dir);
	if (system(command))
		fail_msg("mode %s failed: run %s %s %s", mode->name, exe, mode->name, dir);
	snprintf(report, sizeof(report), "%s/report", dir);
	check_report(mode, report);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	assert_int_equal(system(command), 0);
}

static int run_mode(char **argv, const struct rig_mode *mode)
{
	char path[200], agent[300], report[300];

	snprintf(path, sizeof(path), "%s/agent.sock", argv[2]);
	snprintf(agent, sizeof(agent), "CCSHIM_AGENT=%s", path);
	snprintf(report, sizeof(report), "CCSHIM_REPORT=%s/report", argv[2]);
	rig_mode_now = mode;
	rig_exec(argv, mode->settings[0], agent, report, "CCSHIM_LOG_LEVEL=error",
		 on_telemetry(mode) || on_advice(mode) ? mode->settings[0] :
		 "CCSHIM_CC=dcqcn:rate_timer=1000s,alpha_timer=1000s,byte_counter=0",
		 "CCSHIM_SEGMENT=4k", "CCSHIM_BASE_RTT=20us", NULL);
	agent_path = path;
	if (on_telemetry(mode))
		return cmocka_run_group_tests_name(mode->name, telemetry_tests, NULL, NULL);
	if (on_advice(mode))
		return cmocka_run_group_tests_name(mode->name, advice_tests, NULL, NULL);
	return cmocka_run_group_tests_name(mode->name, tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	enum { MODES = sizeof(modes) / sizeof(*modes) };
	struct CMUnitTest all[MODES];

	for (size_t i = 0; i < MODES; i++) {
		if (argc > 2 && strcmp(argv[1], modes[i].name) == 0)
			return run_mode(argv, &modes[i]);
		all[i] = (struct CMUnitTest){ .name = modes[i].name,
					      .test_func = in_its_own_process,
					      .initial_state = (void *)(uintptr_t)&modes[i] };
	}
	return _cmocka_run_group_tests("feedback", all, MODES, NULL, NULL);
}
