/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LINK_H
#define CCS_LINK_H
/*
 * The connection to a host agent, by the messages of signal/local.h. No call waits.
 */
#include <sys/types.h>

#include "signal/book.h"
#include "signal/local.h"

/* A descriptor, or -1 and errno. The HELLO is on its way, with that page. */
int ccs_link_open(const char *path, int page);

/* A flow that came into that slot, or left it. 0; EAGAIN: not now; else it is broken. */
int ccs_link_came(int fd, uint32_t slot, const struct ccs_signal_flow *flow);
int ccs_link_left(int fd, uint32_t slot);

/* The next answer. 0; EAGAIN: none yet; else it is broken. */
int ccs_link_answer(int fd, struct ccs_local_result *result);

#endif
