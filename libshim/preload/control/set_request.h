/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SET_REQUEST_H
#define CCS_SET_REQUEST_H
/* Requests of `ccshim set` to this process, in the mailbox of its statistics file. */
#include "preload/shim.h"

/* Handle the request of that generation, an odd number. The caller holds no lock of ours. */
void ccs_set_request_handle(struct ccs_stats_mailbox *box, uint64_t request);

static inline void ccs_set_request_poll(void)
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
