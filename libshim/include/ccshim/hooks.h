/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIM_HOOKS_H
#define CCSHIM_HOOKS_H
/*
 * Congestion that something other than ccshim has seen, told to the queue pairs of this
 * host that ccshim controls: a DPU, a switch's agent, another notification point, a test.
 * Link with -lccshim_hooks (pkg-config ccshim_hooks). See ccshim_hooks(3).
 *
 *	struct ccs_hooks *h = ccs_hooks_open(NULL);
 *	if (!h || ccs_hooks_cnp(h, "mlx5_0", 0x1a2, 1))
 *		perror("no CNP was delivered");
 *	ccs_hooks_close(h);
 *
 * A handle is for one thread at a time, and not for both sides of a fork; there may be
 * any number of them. Calls wait for the agent's answer, three seconds at most.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection to the host agent, made anew where the agent was started again. */
struct ccs_hooks;

/*
 * Connects to the agent of this host by the path of its socket; NULL: the usual one. To
 * be closed by the caller. NULL and errno on failure: ECONNREFUSED: no agent is there;
 * EACCES: its socket may not be used; EPROTONOSUPPORT: it speaks another version;
 * ETIMEDOUT: it does not answer; ENAMETOOLONG, EMFILE, ENOMEM.
 */
struct ccs_hooks *ccs_hooks_open(const char *path);

/*
 * Delivers count (>= 1) CNPs to the queue pair of that number on that device of this host.
 * 0; -1 and errno: ENOENT: ccshim does not control such a queue pair by an algorithm that
 * listens to CNPs; EPERM: the caller is neither root nor of the user whose process owns
 * it; EINVAL: no device is called that, or count is 0; besides, those of ccs_hooks_open().
 * After ETIMEDOUT or ECONNRESET it is not known whether they were delivered.
 */
int ccs_hooks_cnp(struct ccs_hooks *h, const char *device, uint32_t qpn, uint32_t count);

/* NULL does nothing. errno is kept. */
void ccs_hooks_close(struct ccs_hooks *h);

#ifdef __cplusplus
}
#endif

#endif
