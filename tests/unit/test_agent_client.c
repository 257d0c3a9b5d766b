/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the agent's client in a process against an agent with each behaviour and each fault. A
 * process has one client, so each test runs in a separate process. Tests wait without a limit for
 * events that must happen.
 */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../verbs/agent.h"
#include "feedback/agent_client.h"

static char path[100];

static struct ccs_slot *attach(uint32_t qpn)
{
	const struct ccs_feedback_flow flow = {
		.device = "fake0", .port = 1, .local_qpn = qpn, .peer_qpn = qpn + 1,
		.local_gid = { [15] = 1 }, .peer_gid = { [15] = 2 }, .requested = CCS_PEER_NP,
	};

	return ccs_agent_client_attach(&flow);
}

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = 2000000 };

	nanosleep(&ts, NULL);
}

static void wait_verdict(struct ccs_slot *s, enum ccs_feedback_status status)
{
	assert_non_null(s);
	while (atomic_load(&s->status) != status)
		nap();
}

#define wait_for(condition_) do { \
	while (!(condition_)) \
		nap(); \
} while (0)

static void an_agent_takes_flows_and_gives_signals(void)
{
	struct ccs_ipc_add flow;
	struct ccs_slot *s;

	agent_start(path, (struct agent_config){ 0 });
	s = attach(5);
	wait_verdict(s, CCS_FEEDBACK_OK);
	assert_true(agent_flow(5, &flow));
	assert_string_equal(flow.device, "fake0");
	assert_int_equal(flow.peer_qpn, 6);
	assert_int_equal(flow.port, 1);
	assert_int_equal(flow.local_gid[15], 1);
	assert_int_equal(flow.peer_gid[15], 2);
	agent_cnp(5, 3);
	assert_int_equal(atomic_load(&s->cnps), 3);
	ccs_agent_client_detach(s);
	wait_for(!agent_counts().flows);
	assert_int_equal(agent_counts().wrong, 0);
}

static void without_an_agent(void)
{
	struct ccs_slot *s = attach(5);

	wait_verdict(s, CCS_FEEDBACK_NO_AGENT);
	assert_int_equal(atomic_load(&attach(6)->status), CCS_FEEDBACK_NO_AGENT);
	agent_start(path, (struct agent_config){ 0 });
	wait_verdict(s, CCS_FEEDBACK_OK);
}

static void an_agent_that_dies_and_comes_back(void)
{
	struct ccs_slot *s[50];

	agent_start(path, (struct agent_config){ 0 });
	for (uint32_t i = 0; i < 50; i++)
		s[i] = attach(100 + i);
	wait_verdict(s[49], CCS_FEEDBACK_OK);
	agent_cnp(149, 7);
	for (unsigned round = 0; round < 2; round++) {
		agent_stop();
		wait_verdict(s[0], CCS_FEEDBACK_NO_AGENT);
		ccs_agent_client_detach(s[round]);
		s[round] = attach(200 + round);
		agent_start(path, (struct agent_config){ 0 });
		for (uint32_t i = 0; i < 50; i++)
			wait_verdict(s[i], CCS_FEEDBACK_OK);
		assert_int_equal(agent_counts().flows, 50);
		assert_int_equal(agent_counts().wrong, 0);
	}
	agent_cnp(149, 1);
	assert_int_equal(atomic_load(&s[49]->cnps), 8);
}

static void an_agent_that_refuses(void)
{
	struct ccs_slot *s;

	agent_start(path, (struct agent_config){ .refuses_flows = EPERM });
	s = attach(5);
	wait_verdict(s, CCS_FEEDBACK_REFUSED);
	agent_configure((struct agent_config){ 0 });
	wait_verdict(s, CCS_FEEDBACK_OK);          /* it asks again */
	agent_stop();
	agent_start(path, (struct agent_config){ .refuses_hello = EPROTO });
	wait_verdict(s, CCS_FEEDBACK_REFUSED);
	agent_configure((struct agent_config){ 0 });
	wait_verdict(s, CCS_FEEDBACK_OK);
}

static void peers_that_do_not_reply_or_lack_feedback(void)
{
	struct ccs_slot *s;

	agent_start(path, (struct agent_config){ .peer_silent = true });
	s = attach(5);
	wait_verdict(s, CCS_FEEDBACK_NO_PEER);
	agent_configure((struct agent_config){ .no_feedback = true });
	wait_verdict(s, CCS_FEEDBACK_UNABLE);
	agent_configure((struct agent_config){ 0 });
	wait_verdict(s, CCS_FEEDBACK_OK);
	agent_configure((struct agent_config){ .peer_silent = true });
	wait_verdict(s, CCS_FEEDBACK_NO_PEER);
}

static void an_agent_that_hangs(void)
{
	struct ccs_slot *s;

	agent_start(path, (struct agent_config){ .silent = true, .no_heartbeat = true });
	s = attach(5);
	wait_verdict(s, CCS_FEEDBACK_NO_AGENT);
	agent_configure((struct agent_config){ 0 });
	wait_verdict(s, CCS_FEEDBACK_OK);
	agent_configure((struct agent_config){ .no_heartbeat = true });
	wait_verdict(s, CCS_FEEDBACK_NO_AGENT);
}

static void an_agent_that_talks_nonsense(void)
{
	struct ccs_slot *s;

	agent_start(path, (struct agent_config){ .malformed = true });
	s = attach(5);
	wait_for(agent_counts().hellos >= 3);    /* it is left, and met again */
	agent_configure((struct agent_config){ 0 });
	wait_verdict(s, CCS_FEEDBACK_OK);
}

static void ten_thousand_flows(void)
{
	enum { N = 10000 };
	static struct ccs_slot *s[N];

	agent_start(path, (struct agent_config){ 0 });
	for (uint32_t i = 0; i < N; i++)
		assert_non_null(s[i] = attach(1000 + i));
	for (uint32_t i = 0; i < N; i++)
		wait_verdict(s[i], CCS_FEEDBACK_OK);
	assert_int_equal(agent_counts().flows, N);
	for (uint32_t i = 0; i < N; i += 2)
		ccs_agent_client_detach(s[i]);
	wait_for(agent_counts().flows == N / 2);
	for (uint32_t i = 0; i < N; i += 2)
		s[i] = attach(20000 + i);
	for (uint32_t i = 0; i < N; i++)
		wait_verdict(s[i], CCS_FEEDBACK_OK);
	assert_int_equal(agent_counts().wrong, 0);
}

static bool stop_churn;

static void *churn(void *arg)
{
	uint32_t qpn = *(const uint32_t *)arg;

	while (!__atomic_load_n(&stop_churn, __ATOMIC_RELAXED)) {
		ccs_agent_client_detach(attach(qpn)); /* the agent must not keep any flow */
		qpn = (qpn + 1) & 0xffffff;
	}
	return NULL;
}

static void flows_that_come_and_go_while_agents_do(void)
{
	uint32_t first[2] = { 1, 1u << 20 };
	struct ccs_slot *s;
	pthread_t thread[2];

	agent_start(path, (struct agent_config){ 0 });
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, churn, &first[i]), 0);
	for (unsigned round = 0; round < 4; round++) {
		wait_for(agent_counts().adds > 100);
		assert_int_equal(agent_counts().wrong, 0);
		agent_stop();
		agent_start(path, (struct agent_config){ 0 });
	}
	__atomic_store_n(&stop_churn, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	wait_for((s = attach(7)) != NULL); /* slots that the threads freed are reused later */
	wait_verdict(s, CCS_FEEDBACK_OK);
	wait_for(agent_counts().flows == 1);
	assert_int_equal(agent_counts().wrong, 0);
}

#ifndef __SANITIZE_THREAD__ /* see hide_descriptors() */
static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/*
 * The client has a separate descriptor table: the application may close any number, and the lowest
 * is free.
 */
static void descriptors_are_not_the_applications(void)
{
	unsigned before;
	struct ccs_slot *s;

	agent_start(path, (struct agent_config){ 0 });
	wait_for(agent_counts().hellos == 0);
	before = descriptors();
	s = attach(5);
	wait_verdict(s, CCS_FEEDBACK_OK);
	assert_int_equal(descriptors(), before + 1); /* the agent's own end */
}
#endif

static void a_child_leaves_it_alone(void)
{
	struct ccs_slot *s;
	int status;
	pid_t pid;

	agent_start(path, (struct agent_config){ 0 });
	s = attach(5);
	wait_verdict(s, CCS_FEEDBACK_OK);
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	agent_cnp(5, 1);
	wait_verdict(s, CCS_FEEDBACK_OK);
	assert_int_equal(agent_counts().flows, 1);
}

static void *attach_at_the_end(void *arg)
{
	pthread_cancel(pthread_self());
	attach(5);
	return arg;
}

static void a_thread_that_is_being_cancelled(void)
{
	struct ccs_ipc_add flow;
	pthread_t thread;

	agent_start(path, (struct agent_config){ 0 });
	assert_int_equal(pthread_create(&thread, NULL, attach_at_the_end, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	wait_verdict(attach(6), CCS_FEEDBACK_OK);  /* the lock is free */
	assert_true(agent_flow(5, &flow));
}

static void it_ends_with_the_process(void)
{
	agent_start(path, (struct agent_config){ 0 });
	wait_verdict(attach(5), CCS_FEEDBACK_OK);
	ccs_agent_client_finish();
	wait_for(!agent_counts().flows);
	assert_null(attach(6));
	ccs_agent_client_finish();
}

static const struct { const char *name; void (*run)(void); } cases[] = {
#define CASE(name_) { #name_, name_ }
	CASE(an_agent_takes_flows_and_gives_signals),
	CASE(without_an_agent),
	CASE(an_agent_that_dies_and_comes_back),
	CASE(an_agent_that_refuses),
	CASE(peers_that_do_not_reply_or_lack_feedback),
	CASE(an_agent_that_hangs),
	CASE(an_agent_that_talks_nonsense),
	CASE(ten_thousand_flows),
	CASE(flows_that_come_and_go_while_agents_do),
#ifndef __SANITIZE_THREAD__
	CASE(descriptors_are_not_the_applications),
#endif
	CASE(a_child_leaves_it_alone),
	CASE(a_thread_that_is_being_cancelled),
	CASE(it_ends_with_the_process),
};

enum { CASES = sizeof(cases) / sizeof(*cases) };

static const char *self;

static void in_its_own_process(void **state)
{
	char command[4096];

	snprintf(command, sizeof(command), "'%s' %s >&2", self, (const char *)*state);
	if (system(command))
		fail_msg("run %s %s", self, (const char *)*state);
}

static void (*chosen)(void);

static void run_chosen(void **state)
{
	char dir[] = "/tmp/test_client.XXXXXX";

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/agent.sock", dir);
	ccs_agent_client_setup(path);
	chosen();
	ccs_agent_client_finish();
	unlink(path);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest one[] = { cmocka_unit_test(run_chosen) };
	struct CMUnitTest all[CASES];

	self = argv[0];
	for (unsigned i = 0; i < CASES; i++) {
		all[i] = (struct CMUnitTest){ .name = cases[i].name,
					      .test_func = in_its_own_process,
					      .initial_state = (void *)(uintptr_t)cases[i].name };
		if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
			chosen = cases[i].run;
			return cmocka_run_group_tests_name(argv[1], one, NULL, NULL);
		}
	}
	return cmocka_run_group_tests_name("client", all, NULL, NULL);
}
