/* SPDX-License-Identifier: BSD-2-Clause */
#include "observe/write_guard.h"

#include <errno.h>
#include <pthread.h>

void ccs_write_guard_begin(struct ccs_write_guard *s)
{
	sigset_t pending;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &s->cancel);
	sigemptyset(&s->set);
	sigaddset(&s->set, SIGPIPE); /* the reader of stderr is gone */
	sigaddset(&s->set, SIGXFSZ); /* the file is at its limit */
	sigemptyset(&pending);
	sigpending(&pending);
	s->pending = sigismember(&pending, SIGPIPE) || sigismember(&pending, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &s->set, &s->old);
}

void ccs_write_guard_end(struct ccs_write_guard *s)
{
	const struct timespec now = { 0 };
	const int saved = errno;

	if (!s->pending) /* consume the signals that we caused, but not the application's */
		while (sigtimedwait(&s->set, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &s->old, NULL);
	pthread_setcancelstate(s->cancel, NULL);
	errno = saved;
}
