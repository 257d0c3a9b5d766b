/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"

#include <pthread.h>
#include <sys/socket.h>

#include "base/os.h"

/* The descriptors that a thread closes. */
struct remains {
	struct ccs_closing *closing;
	unsigned entry;
	int socket, passed;
};

int ccs_closing_open(struct ccs_agent *a)
{
	a->closing = calloc(1, sizeof(*a->closing));
	if (a->closing)
		a->closing->users = 1;
	return a->closing ? 0 : -1;
}

static void release(struct ccs_closing *c)
{
	if (atomic_fetch_sub(&c->users, 1) == 1)
		free(c);
}

void ccs_closing_end(struct ccs_agent *a)
{
	if (a->closing)
		release(a->closing);
	a->closing = NULL;
}

static void *close_client(void *arg)
{
	struct remains *r = arg;

	close(r->socket);
	ccs_close(r->passed);
	atomic_store(&r->closing->entry[r->entry], false);
	release(r->closing);
	free(r);
	return NULL;
}

void ccs_closing_client(struct ccs_agent *a, unsigned entry, int socket, int passed)
{
	struct remains *r = malloc(sizeof(*r));
	pthread_t thread;

	atomic_store(&a->closing->entry[entry], true);
	shutdown(socket, SHUT_RDWR);
	if (!r)
		return;
	*r = (struct remains){ a->closing, entry, socket, passed };
	atomic_fetch_add(&a->closing->users, 1);
	if (pthread_create(&thread, NULL, close_client, r) == 0) {
		pthread_detach(thread);
	} else {
		release(r->closing);
		free(r);
	}
}
