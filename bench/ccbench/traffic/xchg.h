/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_XCHG_H
#define BENCH_XCHG_H
/*
 * The exchange between the orchestrator and its workers: typed messages, in
 * order, over a descriptor that both inherited. A transport to other
 * hosts (MPI) has to offer no more than this.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xchg { int fd; };

struct xchg_msg {
	uint32_t type, len;
	void *data;  /* len bytes; the reader's to free */
};

/* 0, or -1 with errno. A message to a process that has gone raises no SIGPIPE. */
int xchg_send(const struct xchg *x, uint32_t type, const void *data, size_t len);

/* The next message, waiting for it. 0, or -1 with errno, ECONNRESET if the other side has gone. */
int xchg_recv(const struct xchg *x, struct xchg_msg *m);

/*
 * Wait until a message or an end can be received: the first such index of the n, or -1 with errno
 * EINTR or ETIMEDOUT. Entries with a negative descriptor are ignored. mask: signals to block during
 * the wait.
 */
#define XCHG_MAX 512
int xchg_wait_any(const struct xchg *x, size_t n, int64_t ns, const sigset_t *mask);

#endif
