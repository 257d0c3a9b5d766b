/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's messages to and from the orchestrator. */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>

int worker_send(struct worker *w, uint32_t type, const void *data, size_t len)
{
	if (xchg_send(&w->x, type, data, len))
		return endpoint_fail(&w->e, 1, errno, "the orchestrator does not listen");
	return 0;
}

int worker_expect(struct worker *w, uint32_t type, size_t len, struct xchg_msg *m)
{
	if (xchg_recv(&w->x, m))
		return endpoint_fail(&w->e, 1, errno, "no word from the orchestrator");
	if (m->type == type && m->len >= len)
		return 0;
	free(m->data);
	return endpoint_fail(&w->e, 1, 0, "message %u instead of %u", m->type, type);
}
