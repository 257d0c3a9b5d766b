/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's composition root: it opens and closes all components, waits for their descriptors
 * with epoll, and runs what is due.
 */
#include "agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cnp/cnp.h"
#include "agent/events.h"
#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/telemetry.h"
#include "agent/tenants.h"
#include "base/os.h"
#include "base/text.h"

/* No connection is accepted while a refused connection waits to be closed: retry soon. */
#define REFUSED_RETRY_NS 2000000u

struct ccs_agent_config ccs_agent_defaults(void)
{
	return (struct ccs_agent_config){
		.socket = CCS_IPC_SOCKET,
		.port = CCS_WIRE_PORT,
		.interval_ns = CCS_AGENT_INTERVAL_NS,
		.dscp = CCS_AGENT_DSCP,
		.capture = true,
		.telemetry = true,
	};
}

static void stop_ready(struct ccs_agent *a, struct ccs_source *s)
{
	uint64_t count;
	const ssize_t n = read(s->fd, &count, sizeof(count)); /* so that it can run again */

	(void)n;
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

static int open_components(struct ccs_agent *a, char *err, size_t len)
{
	if (ccs_agent_init_identity(a) || open_loop(a) ||
	    ccs_peers_open(a, ccs_subscribers_remove_peer) || ccs_hello_limit_open(a) ||
	    ccs_np_open(a))
		return ccs_refuse(err, len, "cannot start: %s", strerror(errno));
	a->received = ccs_receive_message;
	if (ccs_udp_open(a, err, len))
		return -1;
	if (ccs_ports_open(a, err, len) || ccs_relay_open(a, err, len))
		return -1;
	if (a->config.capture && ccs_capture_open(a, err, len))
		return -1;
	return ccs_clients_open(a, err, len);
}

static int parse_addresses(struct ccs_agent *a, char *err, size_t len)
{
	const struct ccs_agent_config *c = &a->config;

	errno = EINVAL;
	if (c->naddresses > CCS_AGENT_ADDRESSES)
		return ccs_refuse(err, len, "more than %d addresses are configured", CCS_AGENT_ADDRESSES);
	for (unsigned i = 0; i < c->naddresses; i++)
		if (ccs_address_parse(c->addresses[i], &a->address[i]))
			return ccs_refuse(err, len, "'%s' is not a unicast IP address",
					  c->addresses[i]);
	return 0;
}

struct ccs_agent *ccs_agent_open(const struct ccs_agent_config *config, char *err, size_t len)
{
	struct ccs_agent *a = calloc(1, sizeof(*a));
	int saved;

	if (!a) {
		snprintf(err, len, "out of memory");
		return NULL;
	}
	a->config = *config;
	a->config.socket = config->socket ? config->socket : CCS_IPC_SOCKET;
	a->config.port = config->port ? config->port : CCS_WIRE_PORT;
	a->counters.sysfs = config->sysfs ? config->sysfs : "/sys";
	a->opened_ns = ccs_agent_now(a);
	a->epoll = a->stop.fd = a->netlink.fd = -1;
	a->listener.source.fd = a->refused.fd = -1;
	if (parse_addresses(a, err, len) == 0 && open_components(a, err, len) == 0) {
		ccs_inherited_check(a);
		ccs_agent_tenants_read(a);
		return a;
	}
	saved = errno;
	ccs_agent_close(a);
	errno = saved;
	return NULL;
}

static void tick(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	ccs_peers_retry(a, now_ns);
	if (now_ns < a->due.tick_ns)
		return;
	a->due.tick_ns = now_ns + CCS_AGENT_TICK_NS;
	ccs_clients_tick(a, now_ns);
	ccs_peers_tick(a, now_ns);
	ccs_capture_count(a);
	ccs_nic_cnps_tick(a, now_ns);
	ccs_udp_flush(a);
}

static void poll_counters(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	if (!a->counters.ports || now_ns < a->due.counters_ns)
		return;
	a->due.counters_ns = now_ns + CCS_COUNTERS_PERIOD_NS;
	ccs_nic_cnps_poll(a, now_ns);
}

/* Only the loop does this, so that it is missing when the loop is stuck. */
static void report_alive(struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);

	if (!a->config.alive_ns || now_ns < a->due.alive_ns)
		return;
	a->due.alive_ns = now_ns + a->config.alive_ns;
	a->config.alive(a->config.alive_arg);
}

/* Time until something is due, ns; -1 if no timer is set, as without clients and peers. */
static int64_t next_timeout_ns(const struct ccs_agent *a)
{
	const uint64_t now_ns = ccs_agent_now(a);
	const bool idle = !a->nclients && !a->peers.high && a->listener.active;
	uint64_t due_ns = idle ? UINT64_MAX : a->due.tick_ns;

	if (a->config.alive_ns && a->due.alive_ns < due_ns)
		due_ns = a->due.alive_ns;
	if (idle)
		return due_ns == UINT64_MAX ? -1 : due_ns <= now_ns ? 0 : (int64_t)(due_ns - now_ns);
	if (a->refused.fd >= 0 && now_ns + REFUSED_RETRY_NS < due_ns)
		due_ns = now_ns + REFUSED_RETRY_NS;
	if (a->peers.hello_due_ns < due_ns)
		due_ns = a->peers.hello_due_ns;
	if (a->counters.ports && a->due.counters_ns < due_ns)
		due_ns = a->due.counters_ns;
	if (a->demand.wanted && a->due.demand_ns < due_ns)
		due_ns = a->due.demand_ns;
	if (ccs_sampler_due(a) < due_ns)
		due_ns = ccs_sampler_due(a);
	return due_ns <= now_ns ? 0 : (int64_t)(due_ns - now_ns);
}

/* Without epoll_pwait2 (old kernels, some sandboxes) the timeout is in whole milliseconds. */
static int wait_for_events(const struct ccs_agent *a, struct epoll_event *e, int max,
			   int64_t timeout_ns)
{
#ifdef SYS_epoll_pwait2
	const int64_t t[2] = { timeout_ns / 1000000000, timeout_ns % 1000000000 };
	const long n = syscall(SYS_epoll_pwait2, a->epoll, e, max, timeout_ns < 0 ? NULL : t, NULL,
			       (size_t)0);

	if (n >= 0 || errno == EINTR)
		return (int)n;
#endif
	return epoll_wait(a->epoll, e, max,
			  timeout_ns < 0 ? -1 : (int)((timeout_ns + 999999) / 1000000));
}

void ccs_agent_turn(struct ccs_agent *a, int64_t timeout_ns)
{
	struct epoll_event e[64];
	const int n = wait_for_events(a, e, 64, timeout_ns);
	uint64_t now_ns;

	a->turn++;
	for (int i = 0; i < n; i++) {
		struct ccs_source *s = e[i].data.ptr;

		s->ready(a, s);
		ccs_udp_flush(a);
	}
	report_alive(a);
	ccs_clients_retry_refused(a);
	tick(a);
	poll_counters(a);
	now_ns = ccs_agent_now(a);
	ccs_demand_update(a, now_ns);
	ccs_sampler_run(a);
	ccs_udp_flush(a);
}

void ccs_agent_run(struct ccs_agent *a)
{
	prctl(PR_SET_TIMERSLACK, 1000ul); /* the default of 50 us is 1/4 of the shortest period */
	while (!a->stopping)
		ccs_agent_turn(a, next_timeout_ns(a));
	a->stopping = false;
}

void ccs_agent_stop(struct ccs_agent *a)
{
	const int saved = errno;
	const uint64_t one = 1;
	ssize_t n = write(a->stop.fd, &one, sizeof(one)); /* the counter cannot overflow */

	(void)n;
	errno = saved;
}

void ccs_agent_reload(struct ccs_agent *a)
{
	ccs_agent_tenants_read(a);
}

void ccs_agent_close(struct ccs_agent *a)
{
	ccs_clients_close(a);
	ccs_capture_close(a);
	ccs_udp_close(a);
	ccs_ports_close(a);
	ccs_peers_close(a);
	free(a->hello_limit);
	free(a->relayed);
	free(a->np);
	free(a->user);
	ccs_close(a->stop.fd);
	ccs_close(a->epoll);
	free(a);
}
