/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "agent/host/siphash.h"
#include "base/clock.h"

int ccs_agent_init_identity(struct ccs_agent *a)
{
	uint64_t secret[3];

	a->incarnation = ccs_clock_ns(CLOCK_REALTIME);
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return -1;
	memcpy(a->key, secret, sizeof(a->key));
	a->salt = secret[2];
	return 0;
}

uint64_t ccs_agent_incarnation(const struct ccs_agent *a, const struct ccs_ends *ends)
{
	const struct ccs_address both[2] = { ends->local, ends->remote };
	uint64_t word[4];

	memcpy(word, both, sizeof(word));
	return (a->incarnation & ~(uint64_t)UINT32_MAX) | (ccs_siphash(a->key, word, 4) & UINT32_MAX);
}

uint64_t ccs_agent_now(const struct ccs_agent *a)
{
	return a->config.now ? a->config.now(a->config.now_arg) : ccs_clock_ns(CLOCK_MONOTONIC);
}

int ccs_agent_watch(struct ccs_agent *a, struct ccs_source *s)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };

	return epoll_ctl(a->epoll, EPOLL_CTL_ADD, s->fd, &e);
}

bool ccs_agent_owns_address(const struct ccs_agent *a, const struct ccs_address *address)
{
	for (unsigned i = 0; i < a->config.naddresses; i++)
		if (ccs_address_equal(&a->address[i], address))
			return true;
	return !a->config.naddresses;
}

bool ccs_agent_warning_due(struct ccs_agent *a, enum ccs_agent_warning kind)
{
	if (a->config.warn && ccs_agent_now(a) >= a->warning.next_ns[kind])
		return true;
	a->warning.unreported[kind]++;
	return false;
}

void ccs_agent_warn(struct ccs_agent *a, enum ccs_agent_warning kind, const char *fmt, ...)
{
	uint64_t *next_ns = &a->warning.next_ns[kind];
	char text[512];
	va_list ap;
	int n;

	if (!ccs_agent_warning_due(a, kind))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (*next_ns && a->warning.unreported[kind] && n > 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, " (%u more since the last report)",
			 a->warning.unreported[kind]);
	*next_ns = ccs_agent_now(a) + CCS_AGENT_WARN_NS;
	a->warning.unreported[kind] = 0;
	a->config.warn(a->config.warn_arg, text);
}
