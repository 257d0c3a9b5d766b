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
 * Or telemetry: what a link on the way to this host has sent and has waiting.
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

/*
 * A link on the way of data to this host: its counters at one moment, by any clock. The
 * host's agent passes it on to the senders that it concerns.
 */
struct ccs_hooks_link {
	uint32_t link;               /* its name; another one when tx_bytes starts over; not 0 */
	uint32_t hop;                /* links to this host, whose own is 0; up to 65535 */
	uint64_t ts_ns;              /* when the counters were read, by one and the same clock */
	uint64_t tx_bytes;           /* sent since whenever */
	uint64_t qlen_bytes;         /* waiting */
	uint64_t capacity;           /* bit/s, 1 to 10^15 */
	uint64_t covers_ns;          /* CLOCK_MONOTONIC: not read before that; 0: unknown */
	uint8_t from[16];            /* senders' addresses, IPv4 as ::ffff:a.b.c.d: these */
	uint32_t from_bits;          /* bits of it count, up to 128; 0: all senders */
	uint8_t to[16];              /* this host's address; all zero: any */
};

/*
 * Tells of a link: every ms or so while data are coming; the agent forgets it after a
 * quarter of a second. 0; -1 and errno: EPERM: the caller is neither root nor the agent's
 * user; EINVAL: the record cannot be one; besides, as ccs_hooks_cnp().
 */
int ccs_hooks_record(struct ccs_hooks *h, const struct ccs_hooks_link *link);

/*
 * What a switch wrote into a packet that came here at arrived_ns (CLOCK_MONOTONIC): HPCC's
 * 64 bits for a hop (SIGCOMM 2019, 4.1), from the top rate 4, time 24, bytes 20, queue 16,
 * in units of 1 ns, 128 bytes and 80 bytes. With all such words of the link in their order
 * its counters go on where those in the packets wrap. rates are in bit/s, by their code; 0:
 * no such code. state is the link's alone, 8 numbers that are 0 at first.
 * Fills link, ts_ns, tx_bytes, qlen_bytes and capacity of *link, and leaves covers_ns
 * unknown (0); name tells the link from others. 0; -1 and errno: EAGAIN: it tells nothing newer; EINVAL: its rate has
 * no code. Pure: no agent is needed.
 */
int ccs_hooks_int(uint64_t state[8], uint32_t name, const uint64_t rates[16], uint64_t word,
		  uint64_t arrived_ns, struct ccs_hooks_link *link);

/* NULL does nothing. errno is kept. */
void ccs_hooks_close(struct ccs_hooks *h);

#ifdef __cplusplus
}
#endif

#endif
