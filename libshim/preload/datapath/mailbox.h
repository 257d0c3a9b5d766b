/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_MAILBOX_H
#define CCS_MAILBOX_H
/* The data path's check for a request of `ccshim set` in the mailbox of the statistics file. */
#include "preload/object/shim.h"

/* Handle a pending request. The caller holds no lock of ours. */
static inline void ccs_mailbox_poll(void)
{
	struct ccs_stats_header *file = ccs_stats_file();
	uint64_t request;

	if (!file)
		return;
	request = __atomic_load_n(&file->mailbox.request_gen, __ATOMIC_RELAXED);
	if (__builtin_expect(request & 1, 0))
		ccs_shim()->handle_request(&file->mailbox, request);
}

#endif
