/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_PORTRATE_H
#define CCS_BASE_PORTRATE_H
/* The data rate of an RDMA port. */
#include <stdbool.h>

/* The data rate in bit/s of a port with these attributes (ibv_port_attr's
 * active_speed and active_width); 0 if they are unknown codes. */
double ccs_port_rate(unsigned speed, unsigned width, bool ethernet);

#endif
