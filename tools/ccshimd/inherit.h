/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIMD_INHERIT_H
#define CCSHIMD_INHERIT_H

/* The sockets that the service manager passes to this process, as sd_listen_fds(3); at most max. */
unsigned inherited_sockets(int *fd, unsigned max);

#endif
