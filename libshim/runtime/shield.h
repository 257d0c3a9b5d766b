/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SHIELD_H
#define CCS_SHIELD_H
/*
 * What writing must not do to the application's thread that we write in: kill it by
 * SIGPIPE or SIGXFSZ, or be where it is cancelled.
 */
#include <signal.h>
#include <stdbool.h>

struct ccs_shield {
	sigset_t set, old;
	bool pending;
	int cancel;
};

/* Around the writes, in the same thread; errno is kept. */
void ccs_shield_up(struct ccs_shield *s);
void ccs_shield_down(struct ccs_shield *s);

#endif
