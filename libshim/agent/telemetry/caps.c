/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tenant's processes share a page of the agent's memory, which has the tenant's cap at each port. The
 * agent writes the rate into the slots of the flows, which share the times there (cc/cap.h). It does not
 * read the page.
 */
#include "agent/telemetry/caps.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/host/core.h"
#include "base/os.h"

enum { PAGE = CCS_CAP_PORTS * sizeof(struct ccs_cap) };

/* All processes of the tenant write to it, and can only change the order and times of its data. */
static void close_page(struct ccs_cap_page *p)
{
	if (p->cap)
		munmap(p->cap, PAGE);
	if (p->cap)
		close(p->fd);
	*p = (struct ccs_cap_page){ .fd = -1 };
}

/* Without memory the tenant has no page: its flows have the cap each. */
static void open_page(struct ccs_agent *a, struct ccs_cap_page *p, const char name[64])
{
	void *at = MAP_FAILED;

	*p = (struct ccs_cap_page){ .fd = memfd_create("ccshim-cap", MFD_CLOEXEC | MFD_ALLOW_SEALING) };
	memcpy(p->name, name, sizeof(p->name));
	if (p->fd >= 0 && !ftruncate(p->fd, PAGE) && !fallocate(p->fd, 0, 0, PAGE) &&
	    !fcntl(p->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (at != MAP_FAILED) {
		p->cap = at;
		return;
	}
	ccs_close(p->fd);
	p->fd = -1;
	ccs_agent_warn(a, CCS_AGENT_WARN_REGION, "no memory for the cap of tenant %s: each of its flows "
		       "has the cap for itself", name);
}

void ccs_caps_read(struct ccs_agent *a)
{
	struct ccs_cap_page old[CCS_AGENT_TENANTS];

	memcpy(old, a->flows.cap, sizeof(old));
	for (unsigned i = 0; i < CCS_AGENT_TENANTS; i++) {
		const char *name = a->flows.tenant[i].name;
		unsigned k = 0;

		a->flows.cap[i] = (struct ccs_cap_page){ .fd = -1 };
		while (k < CCS_AGENT_TENANTS && !(old[k].cap && strcmp(old[k].name, name) == 0))
			k++;
		if (i < a->flows.tenants && k < CCS_AGENT_TENANTS) {
			a->flows.cap[i] = old[k];
			old[k].cap = NULL;
		} else if (i < a->flows.tenants) {
			open_page(a, &a->flows.cap[i], name);
		}
		ccs_caps_renew(a, i);
	}
	for (unsigned k = 0; k < CCS_AGENT_TENANTS; k++)
		close_page(&old[k]);
}

void ccs_caps_close(struct ccs_agent *a)
{
	for (unsigned i = 0; i < CCS_AGENT_TENANTS; i++)
		close_page(&a->flows.cap[i]);
}

struct ccs_cap_page *ccs_caps_page(struct ccs_agent *a, const struct ccs_client *c)
{
	return c->tenant && a->flows.cap[c->tenant - 1].cap ? &a->flows.cap[c->tenant - 1] : NULL;
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

void ccs_caps_join(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;
	const struct ccs_terms *t = c->tenant ? &a->flows.tenant[c->tenant - 1].terms : NULL;
	struct ccs_slot *slot = ccs_client_slot(c, f->slot);
	struct ccs_cap_page *p = ccs_caps_page(a, c);
	const uint32_t index = p ? index_of(p, f) : 0;

	if (!slot)
		return;
	atomic_store_explicit(&slot->cap, index, memory_order_relaxed);
	atomic_store_explicit(&slot->limit, t ? (uint64_t)t->cap | (t->floor > 0 ? CCS_BACKGROUND : 0) : 0,
			      memory_order_relaxed);
}

void ccs_caps_renew_client(struct ccs_agent *a, struct ccs_client *c)
{
	for (struct ccs_agent_flow *f = c->first; f; f = f->next)
		ccs_caps_join(a, f);
}

void ccs_caps_renew(struct ccs_agent *a, unsigned tenant)
{
	const double rate = tenant < a->flows.tenants ? a->flows.tenant[tenant].terms.cap : 0;
	struct ccs_cap_page *p = &a->flows.cap[tenant];

	for (unsigned i = 0; i < p->ports && rate != p->rate; i++) /* forget reservations at the old rate */
		atomic_store_explicit(&p->cap[i].free_ns, ccs_agent_now(a), memory_order_relaxed);
	p->rate = rate;
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->source.fd >= 0 && c->tenant == tenant + 1)
			ccs_caps_renew_client(a, c);
}
