/* SPDX-License-Identifier: BSD-2-Clause */
/* libccshim_feed against an agent that a thread plays. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

#include "ccshim/feed.h"
#include "feedback/ipc.h"

/* The agent's reaction to each request, in order. */
enum act { END, ANSWER, REFUSE, GARBAGE, SHORT, HANG_UP, SILENCE, LEAVE };

static char dir[] = "/tmp/test_hooks.XXXXXX";
static char path[64];
static int listener;

struct agent {
	const enum act *act;             /* a script, ended by END */
	int error;                       /* of REFUSE */
	pthread_t thread;
	unsigned hellos, connections;
	struct ccs_ipc_cnp got[8];
	unsigned ngot;
	struct ccs_ipc_record record;
};

static void note(struct agent *a, const void *request, ssize_t n)
{
	const struct ccs_ipc_hello *hello = request;
	const struct ccs_ipc_cnp *cnp = request;

	if (n == sizeof(*hello) && hello->type == CCS_IPC_HELLO)
		a->hellos += hello->version == CCS_IPC_VERSION;
	else if (n == sizeof(*cnp) && cnp->type == CCS_IPC_CNP && a->ngot < 8)
		a->got[a->ngot++] = *cnp;
	else if (n == sizeof(a->record) && cnp->type == CCS_IPC_RECORD)
		memcpy(&a->record, request, sizeof(a->record));
}

/* False: the connection is to be closed. */
static bool act(const struct agent *a, int fd, enum act what)
{
	const struct ccs_ipc_result result = {
		.type = what == GARBAGE ? 99 : CCS_IPC_RESULT,
		.error = what == REFUSE ? a->error : 0, .version = CCS_IPC_VERSION,
	};
	const size_t len = what == SHORT ? 4 : sizeof(result);

	if (what != HANG_UP && what != SILENCE)
		send(fd, &result, len, MSG_NOSIGNAL);
	return what != HANG_UP && what != LEAVE;
}

static void *run(void *arg)
{
	struct agent *a = arg;
	const enum act *step = a->act;
	union {
		struct ccs_ipc_add add;
		struct ccs_ipc_record record;
	} request;
	ssize_t n;
	int fd;

	while (*step != END) {
		fd = accept(listener, NULL, NULL);
		a->connections++;
		do {
			n = recv(fd, &request, sizeof(request), 0);
			if (n <= 0)
				break;
			note(a, &request, n);
		} while (act(a, fd, *step++) && *step != END);
		while (*step == END && step[-1] != LEAVE && recv(fd, &request, sizeof(request), 0) > 0)
			; /* until the client is through */
		close(fd);
	}
	return NULL;
}

static void agent_start(struct agent *a, const enum act *script)
{
	a->act = script;
	assert_int_equal(pthread_create(&a->thread, NULL, run, a), 0);
}

static void agent_end(struct agent *a, struct ccs_feed *h)
{
	ccs_feed_close(h);
	pthread_join(a->thread, NULL);
}

/* The script begins with the answer to a HELLO. */
static struct ccs_feed *start(struct agent *a, const enum act *script)
{
	struct ccs_feed *h;

	agent_start(a, script);
	h = ccs_feed_open(path);
	assert_non_null(h);
	return h;
}

static int cnp(struct ccs_feed *h)
{
	return ccs_feed_cnp(h, "rxe_0", 17, 3) ? errno : 0;
}

TEST(a_cnp_is_delivered)
{
	static const enum act script[] = { ANSWER, ANSWER, ANSWER, END };
	struct agent a = { .ngot = 0 };
	struct ccs_feed *h = start(&a, script);

	assert_int_equal(cnp(h), 0);
	assert_int_equal(cnp(h), 0);
	agent_end(&a, h);
	assert_int_equal(a.hellos, 1);
	assert_int_equal(a.ngot, 2);
	assert_string_equal(a.got[1].device, "rxe_0");
	assert_int_equal(a.got[1].local_qpn, 17);
	assert_int_equal(a.got[1].count, 3);
}

TEST(the_agents_error_is_errno)
{
	static const enum act script[] = { ANSWER, REFUSE, ANSWER, END };
	static const int errors[] = { EPERM, ENOENT };

	for (unsigned i = 0; i < 2; i++) {
		struct agent a = { .error = errors[i] };
		struct ccs_feed *h = start(&a, script);

		assert_int_equal(cnp(h), errors[i]);
		assert_int_equal(cnp(h), 0); /* on the same connection */
		agent_end(&a, h);
		assert_int_equal(a.connections, 1);
	}
}

TEST(another_version_is_refused)
{
	static const enum act script[] = { REFUSE, END };
	struct agent a = { .error = EPROTONOSUPPORT };

	agent_start(&a, script);
	assert_null(ccs_feed_open(path));
	assert_int_equal(errno, EPROTONOSUPPORT);
	agent_end(&a, NULL);
}

/* The agent ended between two calls: the second call is not lost. */
TEST(an_agent_may_be_started_again)
{
	static const enum act script[] = { ANSWER, ANSWER, HANG_UP, ANSWER, ANSWER, END };
	struct agent a = { .ngot = 0 };
	struct ccs_feed *h = start(&a, script);

	assert_int_equal(cnp(h), 0);
	assert_int_equal(cnp(h), ECONNRESET); /* the connection broke at that request */
	assert_int_equal(cnp(h), 0);
	agent_end(&a, h);
	assert_int_equal(a.connections, 2);
	assert_int_equal(a.hellos, 2);
	assert_int_equal(a.ngot, 3);
}

TEST(an_idle_connection_that_was_closed_is_made_anew)
{
	static const enum act script[] = { LEAVE, END };
	static const enum act again[] = { ANSWER, ANSWER, END };
	struct agent a = { .ngot = 0 }, b = { .ngot = 0 };
	struct ccs_feed *h = start(&a, script);

	pthread_join(a.thread, NULL);
	agent_start(&b, again);
	assert_int_equal(cnp(h), 0);
	agent_end(&b, h);
	assert_int_equal(b.ngot, 1);
}

TEST(nonsense_is_no_success)
{
	static const enum act garbage[] = { ANSWER, GARBAGE, ANSWER, ANSWER, END };
	static const enum act cut[] = { ANSWER, SHORT, ANSWER, ANSWER, END };
	static const enum act *const script[] = { garbage, cut };

	for (unsigned i = 0; i < 2; i++) {
		struct agent a = { .ngot = 0 };
		struct ccs_feed *h = start(&a, script[i]);

		assert_int_equal(cnp(h), EPROTO);
		assert_int_equal(cnp(h), 0); /* a new connection */
		agent_end(&a, h);
	}
}

TEST(an_agent_that_does_not_reply_is_not_waited_for)
{
	static const enum act script[] = { ANSWER, SILENCE, END };
	struct agent a = { .ngot = 0 };
	struct ccs_feed *h = start(&a, script);

	assert_int_equal(cnp(h), ETIMEDOUT);
	agent_end(&a, h);
}

TEST(wrong_arguments_are_refused)
{
	static const enum act script[] = { ANSWER, END };
	struct agent a = { .ngot = 0 };
	struct ccs_feed *h = start(&a, script);
	char lengthy[200];

	memset(lengthy, 'x', sizeof(lengthy));
	lengthy[sizeof(lengthy) - 1] = '\0';
	assert_int_equal(ccs_feed_cnp(h, "rxe_0", 17, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ccs_feed_cnp(h, "", 17, 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ccs_feed_cnp(h, lengthy, 17, 1), -1);
	assert_int_equal(errno, EINVAL);
	agent_end(&a, h);
	assert_int_equal(a.ngot, 0);
	assert_null(ccs_feed_open(lengthy));
	assert_int_equal(errno, ENAMETOOLONG);
	assert_null(ccs_feed_open("/nowhere/agent.sock"));
	assert_int_equal(errno, ECONNREFUSED);
	ccs_feed_close(NULL);
}

static int make_socket(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/agent", dir);
	strcpy(name.sun_path, path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return bind(listener, (void *)&name, sizeof(name)) || listen(listener, 8) ? -1 : 0;
}

static int remove_socket(void **state)
{
	close(listener);
	return unlink(path) || rmdir(dir) ? -1 : 0;
}

TEST(a_link_is_sent)
{
	static const enum act script[] = { ANSWER, ANSWER, REFUSE, END };
	const struct ccs_feed_link link = {
		.link = 1, .hop = 2, .ts_ns = 3, .tx_bytes = 4, .qlen_bytes = 5, .capacity = 6,
		.covers_ns = 7, .from = { [10] = 0xff, 0xff, 10 }, .from_bits = 104,
		.to = { [10] = 0xff, 0xff, 10, 9, 0, 1 },
	};
	struct agent a = { .error = EPERM };
	struct ccs_feed *h = start(&a, script);

	assert_int_equal(ccs_feed_link(h, &link), 0);
	assert_int_equal(ccs_feed_link(h, &link), -1);
	assert_int_equal(errno, EPERM);
	agent_end(&a, h);
	assert_int_equal(a.record.type, CCS_IPC_RECORD);
	assert_int_equal(a.record.link, 1);
	assert_int_equal(a.record.hop, 2);
	assert_int_equal(a.record.ts_ns, 3);
	assert_int_equal(a.record.tx_bytes, 4);
	assert_int_equal(a.record.qlen_bytes, 5);
	assert_int_equal(a.record.capacity, 6);
	assert_int_equal(a.record.covers_ns, 7);
	assert_int_equal(a.record.from_bits, 104);
	assert_memory_equal(a.record.from, link.from, 16);
	assert_memory_equal(a.record.to, link.to, 16);
}

int main(void)
{
	return test_run(make_socket, remove_socket);
}
