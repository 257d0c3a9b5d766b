/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_WRITE_GUARD_H
#define CCS_WRITE_GUARD_H
/*
 * Protects the application's thread in which we write: the write must not kill it by
 * SIGPIPE or SIGXFSZ or act as a cancellation point.
 */
#include <signal.h>
#include <stdbool.h>

struct ccs_write_guard {
	sigset_t set, old;
	bool pending;
	int cancel;
};

/* Call these around the writes, in the same thread; errno is preserved. */
void ccs_write_guard_begin(struct ccs_write_guard *s);
void ccs_write_guard_end(struct ccs_write_guard *s);

#endif
