/* SPDX-License-Identifier: BSD-2-Clause */
/* What clients ask: signal/local.h has the messages. */
#include <errno.h>
#include <sys/socket.h>

#include "agent/priv.h"

/* Whoever does not read what he asked for is not waited for. */
static bool reply(const struct ccs_client *c, const void *data, size_t len)
{
	return send(c->source.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static bool result(const struct ccs_client *c, int error, uint32_t slot)
{
	const struct ccs_local_result r = {
		.type = CCS_LOCAL_RESULT, .error = error, .slot = slot,
		.version = CCS_LOCAL_VERSION,
	};

	return reply(c, &r, sizeof(r));
}

static int take_page(struct ccs_agent *a, struct ccs_client *c, int fd)
{
	const char *why;
	struct ccs_page *page = ccs_agent_page_map(fd, &why);

	if (!page) {
		ccs_agent_say(a, CCS_TROUBLE_PAGE, "process %d gave a wrong page: %s", (int)c->pid,
			      why);
		return EINVAL;
	}
	c->paths = calloc(CCS_PAGE_PATHS, sizeof(*c->paths));
	if (!c->paths) {
		ccs_agent_page_unmap(page);
		return ENOMEM;
	}
	c->page = page;
	atomic_store_explicit(&c->page->beat_ns, ccs_agent_now(a), memory_order_release);
	return 0;
}

static int hello(struct ccs_agent *a, struct ccs_client *c, const struct ccs_local_hello *m, int fd)
{
	int error;

	if (c->greeted)
		return EALREADY;
	if (m->version != CCS_LOCAL_VERSION) {
		ccs_agent_say(a, CCS_TROUBLE_LOCAL_VERSION,
			      "process %d speaks version %u, this agent %u; it is not served",
			      (int)c->pid, m->version, CCS_LOCAL_VERSION);
		return EPROTONOSUPPORT;
	}
	error = fd >= 0 ? take_page(a, c, fd) : 0;
	c->greeted = error == 0;
	return error;
}

static bool status(struct ccs_agent *a, const struct ccs_client *c)
{
	size_t len;
	char *text = ccs_status_text(a, &len);
	const bool ok = text && reply(c, text, len);

	free(text);
	return ok;
}

static bool take(struct ccs_agent *a, struct ccs_client *c, uint32_t type, const void *data, int fd)
{
	const struct ccs_local_remove *r = data;
	const struct ccs_local_add *add = data;

	switch (type) {
	case CCS_LOCAL_HELLO:
		return result(c, hello(a, c, data, fd), 0);
	case CCS_LOCAL_ADD:
		return result(c, c->greeted ? ccs_agent_flow_add(a, c, add) : EPROTO, add->slot);
	case CCS_LOCAL_REMOVE:
		if (r->slot < c->room && c->flow[r->slot])
			ccs_agent_flow_remove(a, c->flow[r->slot]);
		return true;
	case CCS_LOCAL_CNP:
		return result(c, c->greeted ? ccs_hook_cnp(a, c, data) : EPROTO, 0);
	case CCS_LOCAL_RECORD:
		return result(c, c->greeted ? ccs_heard_hook(a, c, data) : EPROTO, 0);
	case CCS_LOCAL_STATUS:
		return status(a, c);
	default:
		return result(c, EOPNOTSUPP, 0);
	}
}

/* The least that a message of that type is long; longer ones are of newer clients. */
static size_t length_of(uint32_t type)
{
	switch (type) {
	case CCS_LOCAL_HELLO:
		return sizeof(struct ccs_local_hello);
	case CCS_LOCAL_ADD:
		return sizeof(struct ccs_local_add);
	case CCS_LOCAL_REMOVE:
		return sizeof(struct ccs_local_remove);
	case CCS_LOCAL_CNP:
		return sizeof(struct ccs_local_cnp);
	case CCS_LOCAL_RECORD:
		return sizeof(struct ccs_local_record);
	default:
		return sizeof(uint32_t);
	}
}

bool ccs_local_arrived(struct ccs_agent *a, struct ccs_client *c, const void *data, size_t len,
		       int fd)
{
	const uint32_t *type = data;
	const bool whole = len >= sizeof(*type) && len >= length_of(*type);

	return whole && take(a, c, *type, data, fd);
}
