/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_OPEN_H
#define CCS_OPEN_H
/* Opening of devices. */
#include <infiniband/verbs.h>

/* To be called before any device is opened: sets up the process. */
void ccs_open_begin(void);
struct ibv_context *ccs_open_device(struct ibv_device *device);

#endif
