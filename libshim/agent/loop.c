/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/priv.h"
#include "agent/siphash.h"

struct ccs_agent_config ccs_agent_defaults(void)
{
	return (struct ccs_agent_config){
		.socket = CCS_LOCAL_SOCKET,
		.port = CCS_WIRE_PORT,
		.interval_ns = CCS_AGENT_INTERVAL_NS,
		.dscp = CCS_AGENT_DSCP,
		.capture = true,
		.telemetry = true,
	};
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t ccs_agent_now(const struct ccs_agent *a)
{
	return a->config.now ? a->config.now(a->config.now_arg) : clock_ns(CLOCK_MONOTONIC);
}

void ccs_agent_say(struct ccs_agent *a, enum ccs_trouble kind, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!a->config.say || a->said & 1u << kind)
		return;
	a->said |= 1u << kind;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	a->config.say(a->config.say_arg, text);
}

int ccs_agent_watch(struct ccs_agent *a, struct ccs_source *s)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };

	return epoll_ctl(a->epoll, EPOLL_CTL_ADD, s->fd, &e);
}

bool ccs_agent_speaks_for(const struct ccs_agent *a, const struct ccs_address *address)
{
	for (unsigned i = 0; i < a->config.naddresses; i++)
		if (ccs_address_equal(&a->address[i], address))
			return true;
	return !a->config.naddresses;
}

uint64_t ccs_agent_session(const struct ccs_agent *a, const struct ccs_ends *ends)
{
	const struct ccs_address both[2] = { ends->local, ends->remote };
	uint64_t word[4];

	memcpy(word, both, sizeof(word));
	return (a->session & ~(uint64_t)UINT32_MAX) | (ccs_siphash(a->key, word, 4) & UINT32_MAX);
}

/* What peers are told of as a session, and what nobody is told. */
static int begin_session(struct ccs_agent *a)
{
	uint64_t secret[3];

	a->session = clock_ns(CLOCK_REALTIME);
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return -1;
	memcpy(a->key, secret, sizeof(a->key));
	a->salt = secret[2];
	return 0;
}

static void stop_ready(struct ccs_agent *a, struct ccs_source *s)
{
	(void)s;
	a->stopping = true;
}

static int open_loop(struct ccs_agent *a)
{
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	a->stop = (struct ccs_source){ eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), stop_ready };
	if (a->epoll < 0 || a->stop.fd < 0)
		return -1;
	return ccs_agent_watch(a, &a->stop);
}

static int open_parts(struct ccs_agent *a, char *err, size_t len)
{
	if (begin_session(a) || open_loop(a) || ccs_peers_open(a) || ccs_np_open(a)) {
		snprintf(err, len, "cannot start: %s", strerror(errno));
		return -1;
	}
	if (ccs_udp_open(a, err, len))
		return -1;
	if (ccs_ports_open(a, err, len) || ccs_heard_open(a, err, len))
		return -1;
	if (a->config.capture && ccs_capture_open(a, err, len))
		return -1;
	return ccs_clients_open(a, err, len);
}

static int take_addresses(struct ccs_agent *a, char *err, size_t len)
{
	const struct ccs_agent_config *c = &a->config;

	errno = EINVAL;
	if (c->naddresses > CCS_AGENT_ADDRESSES || c->ninterfaces > CCS_AGENT_INTERFACES) {
		snprintf(err, len, "more than %d addresses or %d interfaces",
			 CCS_AGENT_ADDRESSES, CCS_AGENT_INTERFACES);
		return -1;
	}
	for (unsigned i = 0; i < c->naddresses; i++)
		if (ccs_address_parse(c->addresses[i], &a->address[i])) {
			snprintf(err, len, "'%s' is no host's address", c->addresses[i]);
			return -1;
		}
	return 0;
}

struct ccs_agent *ccs_agent_open(const struct ccs_agent_config *config, char *err, size_t len)
{
	struct ccs_agent *a = calloc(1, sizeof(*a));
	int saved;

	if (!a) {
		snprintf(err, len, "no memory");
		return NULL;
	}
	a->config = *config;
	a->config.socket = config->socket ? config->socket : CCS_LOCAL_SOCKET;
	a->config.port = config->port ? config->port : CCS_WIRE_PORT;
	a->counters.sysfs = config->sysfs ? config->sysfs : "/sys";
	a->opened_ns = ccs_agent_now(a);
	a->epoll = a->lock = a->stop.fd = a->listener.fd = a->netlink.fd = -1;
	if (take_addresses(a, err, len) == 0 && open_parts(a, err, len) == 0)
		return a;
	saved = errno;
	ccs_agent_close(a);
	errno = saved;
	return NULL;
}

static void tick(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	if (now_ns < a->tick_ns)
		return;
	a->tick_ns = now_ns + CCS_AGENT_TICK_NS;
	ccs_clients_tick(a, now_ns);
	ccs_peers_tick(a, now_ns);
	ccs_capture_tick(a);
	ccs_nic_tick(a, now_ns);
	ccs_udp_flush(a);
}

static void poll_counters(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	if (!a->counters.ports || now_ns < a->counters_ns)
		return;
	a->counters_ns = now_ns + CCS_COUNTERS_PERIOD_NS;
	ccs_nic_poll(a, now_ns);
}

/* What is due; ns, -1: an agent that has nothing to do sleeps for ever. */
static int64_t patience(const struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);
	uint64_t due_ns = a->tick_ns;

	if (!a->nclients && !a->peers.high && a->listening)
		return -1;
	if (a->counters.ports && a->counters_ns < due_ns)
		due_ns = a->counters_ns;
	if (a->wanted && a->activity_ns < due_ns)
		due_ns = a->activity_ns;
	if (ccs_ports_due(a) < due_ns)
		due_ns = ccs_ports_due(a);
	return due_ns <= now_ns ? 0 : (int64_t)(due_ns - now_ns);
}

/* Old kernels, and sandboxes that do not know the call, wait for whole milliseconds. */
static int wait_for(const struct ccs_agent *a, struct epoll_event *e, int room, int64_t timeout_ns)
{
#ifdef SYS_epoll_pwait2
	const int64_t t[2] = { timeout_ns / 1000000000, timeout_ns % 1000000000 };
	const long n = syscall(SYS_epoll_pwait2, a->epoll, e, room, timeout_ns < 0 ? NULL : t, NULL,
			       (size_t)0);

	if (n >= 0 || errno == EINTR)
		return (int)n;
#endif
	return epoll_wait(a->epoll, e, room,
			  timeout_ns < 0 ? -1 : (int)((timeout_ns + 999999) / 1000000));
}

void ccs_agent_turn(struct ccs_agent *a, int64_t timeout_ns)
{
	struct epoll_event e[64];
	const int n = wait_for(a, e, 64, timeout_ns);

	for (int i = 0; i < n; i++) {
		struct ccs_source *s = e[i].data.ptr;

		s->ready(a, s);
		ccs_udp_flush(a);
	}
	tick(a);
	poll_counters(a);
	ccs_activity_look(a, ccs_agent_now(a));
	ccs_ports_run(a);
	ccs_udp_flush(a);
}

void ccs_agent_run(struct ccs_agent *a)
{
	prctl(PR_SET_TIMERSLACK, 1000ul); /* 50 us are a quarter of the shortest period */
	while (!a->stopping)
		ccs_agent_turn(a, patience(a));
}

void ccs_agent_stop(struct ccs_agent *a)
{
	const int saved = errno;
	const uint64_t one = 1;
	ssize_t n = write(a->stop.fd, &one, sizeof(one)); /* it cannot be full */

	(void)n;
	errno = saved;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void ccs_agent_close(struct ccs_agent *a)
{
	ccs_clients_close(a);
	ccs_capture_close(a);
	ccs_udp_close(a);
	ccs_ports_close(a);
	ccs_peers_close(a);
	free(a->heard);
	free(a->np);
	close_fd(&a->stop.fd);
	close_fd(&a->epoll);
	free(a);
}
