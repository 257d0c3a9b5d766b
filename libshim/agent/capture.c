/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CE marks: the kernel filters arriving RoCEv2 packets and puts the first bytes of marked
 * ones into a ring shared with it, so that a burst takes neither a system call nor a
 * packet's memory each. One ring for each IP version, as a socket for one protocol sees a
 * packet once, where this host takes it in, and none that leave.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/priv.h"

enum {
	ROCE_PORT = 4791, BTH_LEN = 12, OPCODE_CNP = 0x81,
	SNAP = 96,                       /* IPv4 with all options, UDP and BTH: 80 */
	FRAME = 256, BLOCK = 65536, RING = 2 << 20,
	FRAMES_A_TURN = 4096,
};

struct ccs_tap {
	struct ccs_source source;        /* first: the loop hands out this */
	bool v6;
	uint8_t *ring;
	unsigned next;
	const char *interface;           /* NULL: all */
	bool lost;                       /* the interface went down, or away */
};

/* -- the kernel's part ----------------------------------------------------------- */

#define LOAD(size, at) BPF_STMT(BPF_LD | (size) | BPF_ABS, (uint32_t)(at))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define IF_ANY(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, skip, 0)
#define RETURN(len) BPF_STMT(BPF_RET | BPF_K, len)

/* Offsets are the IP header's. The jumps go to the last line. */
static struct sock_filter code_v4[] = {
	LOAD(BPF_W, SKF_AD_OFF + SKF_AD_PKTTYPE),
	UNLESS(PACKET_HOST, 11),
	LOAD(BPF_B, 1),                  /* TOS */
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x03),
	UNLESS(0x03, 8),
	LOAD(BPF_B, 9),
	UNLESS(IPPROTO_UDP, 6),
	LOAD(BPF_H, 6),                  /* only a first fragment has ports */
	IF_ANY(0x1fff, 4),
	BPF_STMT(BPF_LDX | BPF_MSH | BPF_B, 0), /* over the options */
	BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
	UNLESS(ROCE_PORT, 1),
	RETURN(SNAP),
	RETURN(0),
};

static struct sock_filter code_v6[] = {
	LOAD(BPF_W, SKF_AD_OFF + SKF_AD_PKTTYPE),
	UNLESS(PACKET_HOST, 8),
	LOAD(BPF_B, 1),                  /* the traffic class's lower half */
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x30),
	UNLESS(0x30, 5),
	LOAD(BPF_B, 6),
	UNLESS(IPPROTO_UDP, 3),
	LOAD(BPF_H, 42),
	UNLESS(ROCE_PORT, 1),
	RETURN(SNAP),
	RETURN(0),
};

static int set_filter(const struct ccs_tap *t)
{
	const struct sock_fprog program = t->v6 ?
		(struct sock_fprog){ sizeof(code_v6) / sizeof(*code_v6), code_v6 } :
		(struct sock_fprog){ sizeof(code_v4) / sizeof(*code_v4), code_v4 };

	return setsockopt(t->source.fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int set_ring(struct ccs_tap *t)
{
	const struct tpacket_req r = {
		.tp_block_size = BLOCK, .tp_block_nr = RING / BLOCK,
		.tp_frame_size = FRAME, .tp_frame_nr = RING / FRAME,
	};
	const int version = TPACKET_V2, fd = t->source.fd;

	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &r, sizeof(r)))
		return -1;
	t->ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* A child of fork() would keep the socket by it, and the kernel would go on for nobody. */
	if (t->ring != MAP_FAILED)
		return madvise(t->ring, RING, MADV_DONTFORK);
	t->ring = NULL;
	return -1;
}

/* Only now does it receive anything. */
static int set_interface(const struct ccs_tap *t)
{
	const unsigned ifindex = t->interface ? if_nametoindex(t->interface) : 0;
	const struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex,
		.sll_protocol = htons(t->v6 ? ETH_P_IPV6 : ETH_P_IP),
	};

	if (t->interface && !ifindex)
		return -1;
	return bind(t->source.fd, (const struct sockaddr *)&at, sizeof(at));
}

static void tap_ready(struct ccs_agent *a, struct ccs_source *s);

static int open_tap(struct ccs_agent *a, bool v6, const char *interface)
{
	struct ccs_tap *t = &a->tap[a->ntaps];
	const int type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

	*t = (struct ccs_tap){
		.source = { socket(AF_PACKET, type, 0), tap_ready }, .v6 = v6, .interface = interface,
	};
	if (t->source.fd < 0)
		return -1;
	a->ntaps++;
	if (set_filter(t) || set_ring(t) || set_interface(t))
		return -1;
	return ccs_agent_watch(a, &t->source);
}

static int complain(const char *interface, char *err, size_t len)
{
	const int saved = errno;

	if (saved == EPERM || saved == EACCES)
		snprintf(err, len, "cannot watch for CE marks: it takes CAP_NET_RAW");
	else
		snprintf(err, len, "cannot watch %s for CE marks: %s",
			 interface ? interface : "the interfaces", strerror(saved));
	errno = saved;
	return -1;
}

int ccs_capture_open(struct ccs_agent *a, char *err, size_t len)
{
	const unsigned n = a->config.ninterfaces ? a->config.ninterfaces : 1;

	a->tap = calloc(2 * n, sizeof(*a->tap));
	if (!a->tap)
		return complain(NULL, err, len);
	for (unsigned i = 0; i < n; i++) {
		const char *name = a->config.ninterfaces ? a->config.interfaces[i] : NULL;

		if (open_tap(a, false, name) || open_tap(a, true, name))
			return complain(name, err, len);
	}
	return 0;
}

void ccs_capture_close(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->ntaps; i++) {
		if (a->tap[i].ring)
			munmap(a->tap[i].ring, RING);
		close(a->tap[i].source.fd);
	}
	free(a->tap);
}

/* An interface that comes again may be another one of that name. */
void ccs_capture_tick(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->ntaps; i++)
		if (a->tap[i].lost)
			a->tap[i].lost = set_interface(&a->tap[i]) != 0;
	ccs_capture_count(a);
}

/* The kernel forgets what it has told. */
void ccs_capture_count(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->ntaps; i++) {
		struct tpacket_stats s = { 0 };
		socklen_t len = sizeof(s);

		getsockopt(a->tap[i].source.fd, SOL_PACKET, PACKET_STATISTICS, &s, &len);
		a->totals.ce_dropped += s.tp_drops;
		if (s.tp_drops)
			ccs_agent_say(a, CCS_TROUBLE_DROPPED,
				      "more CE marks come in than can be looked at");
	}
}

/* -- what it hands over ---------------------------------------------------------- */

/* Whether it is one of an address that the agent speaks for. ip: SNAP bytes or less. */
static bool parse(const uint8_t *ip, size_t len, bool v6, struct ccs_ends *ends, const uint8_t **bth)
{
	const size_t head = v6 ? 40 : (ip[0] & 15u) * 4;

	if (len < head + 8 + BTH_LEN || head < 20)
		return false;
	memset(ends, 0, sizeof(*ends));
	ends->remote = v6 ? ccs_address_of(ip + 8) : ccs_address_of_v4(ip + 12);
	ends->local = v6 ? ccs_address_of(ip + 24) : ccs_address_of_v4(ip + 16);
	*bth = ip + head + 8;
	return true;
}

static void take(struct ccs_agent *a, const uint8_t *ip, size_t len, bool v6)
{
	struct ccs_ends ends;
	const uint8_t *bth;

	if (!len || !parse(ip, len, v6, &ends, &bth) || !ccs_agent_speaks_for(a, &ends.local))
		return;
	a->totals.ce++;
	if (bth[0] == OPCODE_CNP)
		a->totals.ce_cnps++;
	else
		ccs_np_mark(a, &ends, bth[0],
			    (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7]);
}

/* Until somebody takes the error from the socket, it is always ready. */
static void take_error(struct ccs_agent *a, struct ccs_tap *t)
{
	int error = 0;
	socklen_t len = sizeof(error);

	getsockopt(t->source.fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (!error)
		return;
	t->lost = t->interface;
	ccs_agent_say(a, CCS_TROUBLE_INTERFACE, "no CE marks of %s until it is back: %s",
		      t->interface ? t->interface : "an interface", strerror(error));
}

static void tap_ready(struct ccs_agent *a, struct ccs_source *s)
{
	struct ccs_tap *t = (struct ccs_tap *)s;

	for (unsigned i = 0; i < FRAMES_A_TURN; i++) {
		struct tpacket2_hdr *h = (void *)(t->ring + (size_t)t->next * FRAME);

		if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) {
			if (!i)
				take_error(a, t); /* ready, and nothing there */
			return;
		}
		take(a, (const uint8_t *)h + h->tp_net, h->tp_snaplen, t->v6);
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		t->next = (t->next + 1) % (RING / FRAME);
	}
}
