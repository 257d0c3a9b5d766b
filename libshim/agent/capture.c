/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel filters arriving RoCEv2 packets and puts the first bytes of CE-marked ones into a
 * shared ring, so that no packet of a burst needs a system call or a socket buffer. There is one
 * ring per IP version: a packet socket bound to one protocol sees each packet once, where this
 * host receives it, and no outgoing packets.
 */
#include "agent/events.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/host/core.h"

enum {
	ROCE_PORT = 4791, BTH_LEN = 12, OPCODE_CNP = 0x81,
	SNAP = 96,                       /* IPv4 with all options, UDP and BTH: 80 */
	FRAME = 256, BLOCK = 65536,
	/* For each IP version: 65536 marks, 0.6 s at 100000 a second, for which the agent may get
	 * no CPU time. */
	RING = 16 << 20,
	FRAMES_A_TURN = 4096,
};

struct ccs_capture {
	struct ccs_source source;        /* first: the loop passes a pointer to it */
	bool v6;
	uint8_t *ring;
	unsigned next;
};

/* -- filter and ring ------------------------------------------------------------- */

#define LOAD(size, at) BPF_STMT(BPF_LD | (size) | BPF_ABS, (uint32_t)(at))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define IF_ANY(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, skip, 0)
#define RETURN(len) BPF_STMT(BPF_RET | BPF_K, len)

/* Offsets are from the IP header. The jumps lead to the last line. */
static struct sock_filter code_v4[] = {
	LOAD(BPF_W, SKF_AD_OFF + SKF_AD_PKTTYPE),
	UNLESS(PACKET_HOST, 11),
	LOAD(BPF_B, 1),                  /* TOS */
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x03),
	UNLESS(0x03, 8),
	LOAD(BPF_B, 9),
	UNLESS(IPPROTO_UDP, 6),
	LOAD(BPF_H, 6),                  /* only the first fragment has ports */
	IF_ANY(0x1fff, 4),
	BPF_STMT(BPF_LDX | BPF_MSH | BPF_B, 0), /* skip the options */
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

static int set_filter(const struct ccs_capture *t)
{
	const struct sock_fprog program = t->v6 ?
		(struct sock_fprog){ sizeof(code_v6) / sizeof(*code_v6), code_v6 } :
		(struct sock_fprog){ sizeof(code_v4) / sizeof(*code_v4), code_v4 };

	return setsockopt(t->source.fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int set_ring(struct ccs_capture *t)
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
	/* In a child of fork() the mapping would keep the socket alive, and the kernel
	 * capturing. */
	if (t->ring != MAP_FAILED)
		return madvise(t->ring, RING, MADV_DONTFORK);
	t->ring = NULL;
	return -1;
}

/* On all interfaces, also later ones. The socket receives packets after this call. */
static int bind_socket(const struct ccs_capture *t)
{
	const struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(t->v6 ? ETH_P_IPV6 : ETH_P_IP),
	};

	return bind(t->source.fd, (const struct sockaddr *)&at, sizeof(at));
}

static void capture_ready(struct ccs_agent *a, struct ccs_source *s);

static int open_capture(struct ccs_agent *a, bool v6)
{
	struct ccs_capture *t = &a->capture[a->ncaptures];
	const int type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

	*t = (struct ccs_capture){
		.source = { socket(AF_PACKET, type, 0), capture_ready }, .v6 = v6,
	};
	if (t->source.fd < 0)
		return -1;
	a->ncaptures++;
	if (set_filter(t) || set_ring(t) || bind_socket(t))
		return -1;
	return ccs_agent_watch(a, &t->source);
}

static int report_open_error(char *err, size_t len)
{
	const int saved = errno;

	if (saved == EPERM || saved == EACCES)
		snprintf(err, len, "cannot capture CE marks: CAP_NET_RAW is required: run as "
			 "root, or grant that capability");
	else
		snprintf(err, len, "cannot capture CE marks: %s", strerror(saved));
	errno = saved;
	return -1;
}

int ccs_capture_open(struct ccs_agent *a, char *err, size_t len)
{
	a->capture = calloc(2, sizeof(*a->capture));
	return !a->capture || open_capture(a, false) || open_capture(a, true)
	       ? report_open_error(err, len) : 0;
}

void ccs_capture_close(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->ncaptures; i++) {
		if (a->capture[i].ring)
			munmap(a->capture[i].ring, RING);
		close(a->capture[i].source.fd);
	}
	free(a->capture);
}

/* Reading the kernel's statistics resets them. */
void ccs_capture_count(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->ncaptures; i++) {
		struct tpacket_stats s = { 0 };
		socklen_t len = sizeof(s);

		getsockopt(a->capture[i].source.fd, SOL_PACKET, PACKET_STATISTICS, &s, &len);
		a->totals.ce_dropped += s.tp_drops;
		if (s.tp_drops)
			ccs_agent_warn(a, CCS_AGENT_WARN_DROPPED,
					    "CE-marked packets arrive faster than they can be "
					    "processed: senders get too few CNPs");
	}
}

/* -- captured packets ------------------------------------------------------------ */

/* False if the headers are incomplete. ip: at most SNAP bytes. */
static bool parse_packet(const uint8_t *ip, size_t len, bool v6, struct ccs_ends *ends,
			 const uint8_t **bth)
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

static void handle_packet(struct ccs_agent *a, const uint8_t *ip, size_t len, bool v6)
{
	struct ccs_ends ends;
	const uint8_t *bth;

	if (!len || !parse_packet(ip, len, v6, &ends, &bth) ||
	    !ccs_agent_owns_address(a, &ends.local))
		return;
	a->totals.ce_packets++;
	if (bth[0] == OPCODE_CNP)
		a->totals.ce_cnps++;
	else
		ccs_np_mark(a, &ends, bth[0],
			    (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7]);
}

static void capture_ready(struct ccs_agent *a, struct ccs_source *s)
{
	struct ccs_capture *t = (struct ccs_capture *)s;

	for (unsigned i = 0; i < FRAMES_A_TURN; i++) {
		struct tpacket2_hdr *h = (void *)(t->ring + (size_t)t->next * FRAME);

		if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			return;
		handle_packet(a, (const uint8_t *)h + h->tp_net, h->tp_snaplen, t->v6);
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		t->next = (t->next + 1) % (RING / FRAME);
	}
}
