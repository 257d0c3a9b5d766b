/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SET_REQUEST_H
#define CCS_SET_REQUEST_H
/* Requests of `ccshim set` to this process, in the mailbox of its statistics file. */
#include "preload/object/shim.h"

/* Handle the request of that generation, an odd number. The caller holds no lock of ours. */
void ccs_set_request_handle(struct ccs_stats_mailbox *box, uint64_t request);

#endif
