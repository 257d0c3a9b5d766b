/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/events.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "agent/cnp/cnp.h"
#include "agent/host/core.h"
#include "agent/telemetry/telemetry.h"
#include "agent/tenants.h"

/* False if the socket is full: a client must read its replies before it sends more requests. */
static bool send_reply(const struct ccs_client *c, const void *data, size_t len)
{
	return send(c->source.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static bool send_result(const struct ccs_client *c, int error, uint32_t slot)
{
	const struct ccs_ipc_result r = {
		.type = CCS_IPC_RESULT, .error = error, .slot = slot,
		.version = CCS_IPC_VERSION,
	};

	return send_reply(c, &r, sizeof(r));
}

/* The kernel limits the descriptors that the agent has sent and no process has received. At this limit the
 * answer has no page, and each of the process's flows has the cap for itself. */
static bool answer_hello(struct ccs_agent *a, const struct ccs_client *c, int error)
{
	if (error || !c->caps)
		return send_result(c, error, 0);
	error = ccs_agent_send_caps(c, CCS_IPC_RESULT);
	if (error != ETOOMANYREFS)
		return !error;
	ccs_agent_warn(a, CCS_AGENT_WARN_REGION, "cannot pass on the cap of tenant %s, as processes leave too many "
		       "answers unread: flows have the cap each", c->caps->name);
	return send_result(c, 0, 0);
}

static int map_region(struct ccs_agent *a, struct ccs_client *c, int fd)
{
	const char *why = "its user has released memory of another region";
	const bool refused = c->standing != CCS_STANDING_ADMIN && ccs_agent_now(a) < c->user->regions_ns;
	struct ccs_shm *shm = refused ? NULL : ccs_shm_map(fd, &why);

	if (!shm) {
		ccs_agent_warn(a, CCS_AGENT_WARN_REGION,
				    "refused the shared memory of process %d: %s", (int)c->pid, why);
		return EINVAL;
	}
	c->paths = calloc(CCS_SHM_PATHS, sizeof(*c->paths));
	c->shm_fd = c->paths ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (c->shm_fd < 0) {
		free(c->paths);
		c->paths = NULL;
		ccs_shm_unmap(shm);
		return ENOMEM;
	}
	c->shm = shm;
	atomic_store_explicit(&c->shm->heartbeat_ns, ccs_agent_now(a), memory_order_release);
	return 0;
}

static int handle_hello(struct ccs_agent *a, struct ccs_client *c, const struct ccs_ipc_hello *m,
			int fd)
{
	int error;

	if (c->hello_done)
		return EALREADY;
	if (m->version != CCS_IPC_VERSION) {
		ccs_agent_warn(a, CCS_AGENT_WARN_IPC_VERSION,
				    "refused process %d: it uses protocol version %u, this agent %u",
				    (int)c->pid, m->version, CCS_IPC_VERSION);
		return EPROTONOSUPPORT;
	}
	error = fd >= 0 ? map_region(a, c, fd) : 0;
	if (c->shm)
		ccs_agent_tenants_find(a, c);
	c->hello_done = error == 0;
	return error;
}

/* The text takes some milliseconds. */
static bool claim_status(struct ccs_agent *a, const struct ccs_client *c)
{
	const uint64_t now_ns = ccs_agent_now(a);

	if (c->standing != CCS_STANDING_ADMIN && now_ns < c->user->status_ns)
		return false;
	c->user->status_ns = now_ns + CCS_AGENT_STATUS_NS;
	return true;
}

static bool send_status(struct ccs_agent *a, const struct ccs_client *c)
{
	char *text;
	size_t len;
	bool ok;

	if (!claim_status(a, c))
		return send_result(c, EAGAIN, 0);
	text = ccs_status_text(a, c, &len);
	ok = text && send_reply(c, text, len);
	free(text);
	return ok;
}

static bool handle_request(struct ccs_agent *a, struct ccs_client *c, uint32_t type,
			   const void *data, int fd)
{
	const struct ccs_ipc_remove *r = data;
	const struct ccs_ipc_add *add = data;
	struct ccs_agent_flow *f;

	switch (type) {
	case CCS_IPC_HELLO:
		return answer_hello(a, c, handle_hello(a, c, data, fd));
	case CCS_IPC_ADD:
		return send_result(c, c->hello_done ? ccs_agent_flow_add(a, c, add) : EPROTO,
				   add->slot);
	case CCS_IPC_REMOVE:
		f = ccs_agent_flow_find(a, c, r->slot);
		if (f)
			ccs_agent_flow_remove(a, f);
		return true;
	case CCS_IPC_CNP:
		return send_result(c, c->hello_done ? ccs_cnp_feed_deliver(a, c, data) : EPROTO, 0);
	case CCS_IPC_RECORD:
		return send_result(c, c->hello_done ? ccs_relay_feed(a, c, data) : EPROTO, 0);
	case CCS_IPC_TENANT:
		return send_result(c, c->hello_done ? ccs_agent_tenants_set(a, c, data) : EPROTO, 0);
	case CCS_IPC_STATUS:
		return send_status(a, c);
	default:
		return send_result(c, EOPNOTSUPP, 0);
	}
}

/* Minimum length of a message of that type; newer clients may send longer ones. */
static size_t least_length(uint32_t type)
{
	static const size_t least[] = {
		[CCS_IPC_HELLO] = sizeof(struct ccs_ipc_hello),
		[CCS_IPC_ADD] = sizeof(struct ccs_ipc_add),
		[CCS_IPC_REMOVE] = sizeof(struct ccs_ipc_remove),
		[CCS_IPC_CNP] = sizeof(struct ccs_ipc_cnp),
		[CCS_IPC_RECORD] = sizeof(struct ccs_ipc_record),
		[CCS_IPC_TENANT] = sizeof(struct ccs_ipc_tenant),
	};

	return type < sizeof(least) / sizeof(*least) ? least[type] : 0;
}

bool ccs_ipc_handle(struct ccs_agent *a, struct ccs_client *c, const void *data, size_t len,
		       int fd)
{
	const uint32_t *type = data;
	const bool is_complete = len >= sizeof(*type) && len >= least_length(*type);

	return is_complete && handle_request(a, c, *type, data, fd);
}
