/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/keep_open.h"

#include <errno.h>
#include <linux/close_range.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"

struct holder {
	int fd, error;
	sem_t ready;
};

/* Leave the application's descriptor table for a new table that contains only fd. */
static int unshare_descriptor(int fd)
{
	if (syscall(__NR_close_range, (unsigned)fd + 1, ~0u, CLOSE_RANGE_UNSHARE))
		return errno;
	if (fd > 0)
		syscall(__NR_close_range, 0u, (unsigned)fd - 1, 0u);
	return 0;
}

static void *hold(void *arg)
{
	struct holder *h = arg;
	const int error = unshare_descriptor(h->fd);

	prctl(PR_SET_NAME, "ccshim-lock");
	h->error = error;
	sem_post(&h->ready); /* the caller may now return, which ends the life of h */
	while (!error)
		pause();
	return NULL;
}

int ccs_keep_open(int fd)
{
	struct holder h = { .fd = fd };
	pthread_t thread;
	int error;

#ifdef __SANITIZE_THREAD__
	return 0; /* the sanitizer would confuse equal numbers in two tables */
#endif
	if (sem_init(&h.ready, 0, 0))
		return errno;
	error = ccs_thread_create(&thread, hold, &h);
	if (error)
		return error;
	pthread_detach(thread);
	while (sem_wait(&h.ready))
		; /* EINTR */
	sem_destroy(&h.ready);
	if (!h.error)
		close(fd);
	return h.error;
}
