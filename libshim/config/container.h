/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONTAINER_H
#define CCS_CONTAINER_H
/*
 * The ID of the container in which a process runs: 64 hexadecimal digits, as Docker, Podman,
 * containerd and CRI-O assign it. They are part of the names of control groups; where a control
 * group namespace hides them, of the path from which the runtime mounts /etc/hostname.
 */
#include <stdbool.h>

enum { CCS_CONTAINER_LEN = 65 };

/* Read it from cgroup and mountinfo in the directory /proc/PID. False if the process is not in a
 * container; id is then "". */
bool ccs_container_read(const char *proc, char id[CCS_CONTAINER_LEN]);

#endif
