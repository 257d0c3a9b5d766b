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

/* Wait at most that long; true if there is something to receive, an end included. */
bool xchg_wait(const struct xchg *x, int64_t ns);

/*
 * Which of the n has something to receive (an end included): the first such
 * index, or -1 with errno EINTR or ETIMEDOUT. Those with a negative descriptor
 * are left out. mask: the signals to keep out meanwhile.
 */
#define XCHG_MAX 512
int xchg_wait_any(const struct xchg *x, size_t n, int64_t ns, const sigset_t *mask);

#endif
