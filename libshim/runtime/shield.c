/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/shield.h"

#include <errno.h>
#include <pthread.h>

void ccs_shield_up(struct ccs_shield *s)
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

void ccs_shield_down(struct ccs_shield *s)
{
	const struct timespec now = { 0 };
	const int saved = errno;

	if (!s->pending) /* take back what we raised, never what was the application's */
		while (sigtimedwait(&s->set, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &s->old, NULL);
	pthread_setcancelstate(s->cancel, NULL);
	errno = saved;
}
