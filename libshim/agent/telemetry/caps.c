/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A user's processes of a tenant share a page of the agent's memory, which has the tenant's cap at each
 * port. The agent writes the rate into the slots of the flows, which share the times there (cc/cap.h). It
 * does not read the page. All processes that have it write to it, and can delay each other: so users of
 * the same tenant have separate pages, and divide the cap.
 */
#include "agent/telemetry/caps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/host/core.h"
#include "base/os.h"

/* A process that has received a page keeps its memory, which the agent pays for. If it connects again, it
 * gets the same page: not memory of the agent without limit. */
#define KEPT_NS 60000000000ull

/* A page takes a descriptor. Short connections from many user IDs would otherwise take all descriptors. */
enum { USERS_MOST = 128 };               /* users of a tenant that have a page, or had one within KEPT_NS */

enum { PAGE = CCS_CAP_PORTS * sizeof(struct ccs_cap) };

static bool map_page(struct ccs_cap_page *p)
{
	static const char zeros[PAGE];
	void *at = MAP_FAILED;

	p->fd = memfd_create("ccshim-cap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* write() sets its size and allocates it; ccshimd's filter refuses calls that only do that. */
	if (p->fd >= 0 && write(p->fd, zeros, PAGE) == PAGE &&
	    !fcntl(p->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (at == MAP_FAILED)
		ccs_close(p->fd);
	else
		p->cap = at;
	return at != MAP_FAILED;
}

static bool has_room(const struct ccs_agent *a, const char *name)
{
	unsigned users = 0;

	for (const struct ccs_cap_page *p = a->flows.caps; p; p = p->next)
		users += strcmp(p->name, name) == 0;
	errno = EUSERS;
	return users < USERS_MOST;
}

/* Without it the client's flows have the cap each. */
static struct ccs_cap_page *open_page(struct ccs_agent *a, const struct ccs_client *c, const char name[64])
{
	struct ccs_cap_page *p = has_room(a, name) ? calloc(1, sizeof(*p)) : NULL;

	if (!p || !map_page(p)) {
		ccs_agent_warn(a, CCS_AGENT_WARN_REGION, "cannot share the cap of tenant %s (%s): each of its "
			       "flows has the cap for itself", name, strerror(errno));
		free(p);
		return NULL;
	}
	p->uid = c->uid;
	p->admin = c->standing == CCS_STANDING_ADMIN;
	memcpy(p->name, name, sizeof(p->name));
	p->next = a->flows.caps;
	a->flows.caps = p;
	return p;
}

void ccs_caps_renew_soon(struct ccs_agent *a, unsigned tenant)
{
	a->flows.caps_due |= 1ull << tenant;
}

/* The tenant has another number of users, which divide its cap. */
static void divide_soon(struct ccs_agent *a, const char *name)
{
	for (unsigned i = 0; i < a->flows.tenants; i++)
		if (a->flows.tenant[i].terms.cap > 0 && strcmp(a->flows.tenant[i].name, name) == 0)
			ccs_caps_renew_soon(a, i);
}

static void release_page(struct ccs_agent *a, struct ccs_cap_page *p)
{
	if (!p || --p->clients)
		return;
	p->left_ns = ccs_agent_now(a);
	divide_soon(a, p->name);
}

/* Close the pages that have had no clients for KEPT_NS. */
static void close_pages(struct ccs_agent *a, uint64_t now_ns)
{
	struct ccs_cap_page **at = &a->flows.caps, *p;

	while ((p = *at)) {
		if (p->clients || p->left_ns + KEPT_NS > now_ns) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		madvise(p->cap, PAGE, MADV_REMOVE); /* also for processes that have kept it */
		munmap(p->cap, PAGE);
		close(p->fd);
		free(p);
	}
}

/* As ccs_users_share_limits(). Users without a number share limits, but may not slow each other's flows. */
static bool is_of(const struct ccs_cap_page *p, const struct ccs_client *c, const char *name)
{
	return p->uid == c->uid && p->admin == (c->standing == CCS_STANDING_ADMIN) &&
	       (c->uid != CCS_NO_USER || p == c->caps) && strcmp(p->name, name) == 0;
}

bool ccs_caps_attach(struct ccs_agent *a, struct ccs_client *c)
{
	const char *name = c->tenant && c->shm ? a->flows.tenant[c->tenant - 1].name : NULL;
	struct ccs_cap_page *before = c->caps, *p = name ? a->flows.caps : NULL;

	while (p && !is_of(p, c, name))
		p = p->next;
	if (name && !p)
		p = open_page(a, c, name);
	if (p && !p->clients++)
		divide_soon(a, name);
	c->caps = p;
	release_page(a, before);
	return p != before;
}

void ccs_caps_detach(struct ccs_agent *a, struct ccs_client *c)
{
	release_page(a, c->caps);
	c->caps = NULL;
}

/* Its index in the page, from 1. Ports beyond the last entry share that. */
static uint32_t index_of(struct ccs_cap_page *p, const struct ccs_agent_flow *f)
{
	uint32_t i = 0;

	while (i < p->ports && (p->port[i].number != f->port || strcmp(p->port[i].device, f->device) != 0))
		i++;
	if (i < CCS_CAP_PORTS && i == p->ports) {
		memcpy(p->port[i].device, f->device, sizeof(p->port[i].device));
		p->port[i].number = f->port;
		p->ports++;
	}
	return 1 + (i < CCS_CAP_PORTS ? i : CCS_CAP_PORTS - 1);
}

/* Users of a tenant have equal parts of its cap. Users without a number are one, whose pages divide its part. */
static double rate_of(const struct ccs_agent *a, const struct ccs_client *c)
{
	const struct ccs_agent_tenant *t = &a->flows.tenant[c->tenant - 1];
	unsigned users = 0, unknown = 0, parts;

	for (const struct ccs_cap_page *p = a->flows.caps; p; p = p->next)
		if (p->clients && strcmp(p->name, t->name) == 0)
			*(p->uid == CCS_NO_USER ? &unknown : &users) += 1;
	parts = (users + (unknown > 0)) * (c->uid == CCS_NO_USER ? unknown : 1);
	return t->terms.cap / (parts > 1 ? parts : 1);
}

/* Reservations at another rate do not delay flows. */
static void set_rate(const struct ccs_agent *a, struct ccs_cap_page *p, double rate)
{
	for (unsigned i = 0; i < p->ports && rate != p->rate; i++)
		atomic_store_explicit(&p->cap[i].free_ns, ccs_agent_now(a), memory_order_relaxed);
	p->rate = rate;
}

static void write_slot(struct ccs_agent *a, const struct ccs_agent_flow *f, double rate)
{
	struct ccs_client *c = f->client;
	struct ccs_slot *slot = ccs_client_slot(c, f->slot);
	const uint32_t index = c->caps ? index_of(c->caps, f) : 0;
	const bool background = c->tenant && a->flows.tenant[c->tenant - 1].terms.floor > 0;

	if (!slot)
		return;
	atomic_store_explicit(&slot->cap, index, memory_order_relaxed);
	atomic_store_explicit(&slot->limit, (uint64_t)rate | (background ? CCS_BACKGROUND : 0),
			      memory_order_relaxed);
}

void ccs_caps_join(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	write_slot(a, f, f->client->tenant ? rate_of(a, f->client) : 0);
}

void ccs_caps_renew_client(struct ccs_agent *a, struct ccs_client *c)
{
	const double rate = c->tenant ? rate_of(a, c) : 0;

	if (c->caps)
		set_rate(a, c->caps, rate);
	for (struct ccs_agent_flow *f = c->first; f; f = f->next)
		write_slot(a, f, rate);
}

void ccs_caps_renew(struct ccs_agent *a, unsigned tenant)
{
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->source.fd >= 0 && c->tenant == tenant + 1)
			ccs_caps_renew_client(a, c);
}

void ccs_caps_close(struct ccs_agent *a)
{
	close_pages(a, UINT64_MAX);
}

/* Not with each user that comes or goes, or request of a user: a tenant may have many flows. */
void ccs_caps_tick(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->flows.tenants && a->flows.caps_due >> i; i++)
		if (a->flows.caps_due >> i & 1)
			ccs_caps_renew(a, i);
	a->flows.caps_due = 0;
	close_pages(a, ccs_agent_now(a));
}
