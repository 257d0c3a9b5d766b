/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIM_FEED_H
#define CCSHIM_FEED_H
/*
 * Feeds congestion that something other than ccshim detects (a DPU, a switch's agent, another
 * notification point, a test) to the queue pairs of this host that ccshim controls.
 * Link with -lccshim_feed (pkg-config ccshim_feed). See ccshim_feed(3).
 *
 *	struct ccs_feed *h = ccs_feed_open(NULL);
 *	if (!h || ccs_feed_cnp(h, "mlx5_0", 0x1a2, 1))
 *		perror("no CNP was delivered");
 *	ccs_feed_close(h);
 *
 * It also feeds telemetry: bytes sent and queued at a link on the path to this host.
 *
 * A handle may be used by one thread at a time, and not on both sides of a fork; there may be
 * any number of handles. Calls wait for the agent's reply, three seconds at most.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection to the host agent, opened again if the agent was restarted. */
struct ccs_feed;

/*
 * Connects to the agent of this host by the path of its socket; NULL: the default path. The
 * caller must close the handle. NULL and errno on failure: ECONNREFUSED: no agent is running;
 * EACCES: its socket may not be used; EPROTONOSUPPORT: it uses another protocol version;
 * ETIMEDOUT: it does not reply; ENAMETOOLONG, EMFILE, ENOMEM.
 */
struct ccs_feed *ccs_feed_open(const char *path);

/*
 * Delivers count (>= 1) CNPs to queue pair qpn on that device of this host. 0; -1 and errno:
 * ENOENT: no such controlled queue pair, or its algorithm does not use CNPs; EPERM: the caller is
 * not the user whose process owns it, and has no CAP_NET_ADMIN in the agent's namespaces; EINVAL: invalid device name, or count is 0; also the
 * errors of ccs_feed_open(). After ETIMEDOUT or ECONNRESET it is unknown whether the CNPs were
 * delivered.
 */
int ccs_feed_cnp(struct ccs_feed *h, const char *device, uint32_t qpn, uint32_t count);

/*
 * The counters of a link on the path of data to this host, at one moment. The host's agent
 * forwards them to the senders concerned.
 */
struct ccs_feed_link {
	uint32_t link;               /* identifier; must change when tx_bytes is reset; not 0 */
	uint32_t hop;                /* links to this host, whose own is 0; up to 65535 */
	uint64_t ts_ns;              /* when the counters were read, always by the same clock */
	uint64_t tx_bytes;           /* sent, from an arbitrary start */
	uint64_t qlen_bytes;         /* queued */
	uint64_t capacity;           /* bit/s, 1 to 10^15 */
	uint64_t covers_ns;          /* CLOCK_MONOTONIC: not read before that; 0: unknown */
	uint8_t from[16];            /* prefix of senders' addresses, IPv4 as ::ffff:a.b.c.d */
	uint32_t from_bits;          /* its length, up to 128; 0: all senders */
	uint8_t to[16];              /* this host's address; all zero: any */
};

/*
 * Feeds a link's counters. Call it about every ms while data arrive; the agent discards a record
 * after a quarter of a second. 0; -1 and errno: EPERM: the caller has no CAP_NET_ADMIN in the
 * agent's namespaces, and is not the agent's user; EINVAL: the record is invalid; also as ccs_feed_cnp().
 */
int ccs_feed_link(struct ccs_feed *h, const struct ccs_feed_link *link);

/* h may be NULL. Does not change errno. */
void ccs_feed_close(struct ccs_feed *h);

#ifdef __cplusplus
}
#endif

#endif
