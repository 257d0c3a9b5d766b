/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_GID_H
#define CCS_BASE_GID_H
#include <netinet/in.h>
#include <stdint.h>

/* A GID as people write it: 10.7.0.1 if it is of IPv4, fe80::1 if not, "-" if it is all zero, which
 * means unknown. */
const char *ccs_gid_text(const uint8_t gid[16], char text[INET6_ADDRSTRLEN]);

#endif
