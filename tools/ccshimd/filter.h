/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIMD_FILTER_H
#define CCSHIMD_FILTER_H
/*
 * A seccomp filter: system calls that a running agent does not make fail with EPERM, and the kernel
 * logs them. The agent is not killed: a C library may try a new call and fall back to an old call,
 * and a refused call does not help an attacker.
 */
#include <stdbool.h>

/*
 * For all threads, permanently. removes_socket: the agent removes its socket's file at the end.
 * 0, or an errno; ENOTSUP: built without libseccomp, or with a sanitizer.
 */
int filter_system_calls(bool removes_socket);

#endif
