/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIM_STATS_H
#define CCSHIM_STATS_H
/*
 * The statistics page: what a process under ccshim shows of itself, in a file that readers
 * map (option stats; see libccshim(7) for where it is). `ccshim stat` is such a reader.
 *
 *   struct ccs_stats_header          header_size bytes from the file's begin
 *   struct ccs_stats_slot [slots]    slot_size bytes each, from header_size on
 *
 * Versions: a reader understands any page of its own CCS_STATS_MAJOR. Sizes and places are
 * those that the header says: of a newer minor version, slots and header have more at their
 * ends, of an older one less, and what is not there reads as 0 (ccs_stats_read_qp). `slots`
 * grows, and never shrinks.
 *
 * All words are of 64 bits, in the machine's order; text ends in NUL and is filled up with
 * NULs. Times are of CLOCK_MONOTONIC in ns, rates in bit/s, lengths in bytes; counters only
 * grow while their queue pair lives. The process is the only writer but for the mailbox;
 * readers map read-only. To read is to change nothing: who wants to begin at 0 subtracts.
 *
 * The process writes a queue pair's figures when something happens to it, at most once a
 * millisecond, and more rarely where there are hundreds: updated_ns tells when. The counters
 * in `live` are also right whenever all that was posted is completed; the others then are of
 * the last millisecond of its traffic, or the last sixteen small requests of one that nothing
 * holds back.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCS_STATS_MAGIC 0x5354415453534343ull /* "CCSSTATS" */
#define CCS_STATS_MAJOR 1u
#define CCS_STATS_MINOR 0u

#define CCS_STATS_MAX_HOPS 5
#define CCS_STATS_MAX_PASSES 24
#define CCS_STATS_RTT_BUCKETS 192
#define CCS_STATS_TEXT 1024              /* of the mailbox, with its NUL */

/* Why a queue pair was left alone, and how many were. */
struct ccs_stats_pass {
	char name[24];
	uint64_t count;
};

/* Sums over queue pairs that are gone; the process's totals are these and the slots'. */
struct ccs_stats_gone {
	uint64_t qps, posts, completions, segments, bytes, cnps, losses, samples, gated_ns;
};

/*
 * By which a tool asks something of the process, see `ccshim set`. One tool at a time: it
 * holds flock(LOCK_EX) on the file. request_gen is even while nothing is asked. The tool
 * writes request, then the next odd number. The process takes it by the next even one, does
 * it, writes status (0 or an errno) and answer, then answer_gen = request_gen. Who does not
 * want to wait any longer puts the even one there himself: each by compare-and-swap, so that a
 * request is either done or not. A process that takes none has the highest answer_gen.
 */
struct ccs_stats_mailbox {
	uint64_t request_gen, answer_gen, status;
	char request[CCS_STATS_TEXT];
	char answer[CCS_STATS_TEXT];
};

struct ccs_stats_header {
	uint64_t magic, major, minor;
	uint64_t header_size, slot_size;
	uint64_t slots;                  /* that the file has */
	uint64_t pid, pid_namespace;     /* the number as seen in that namespace, and its inode */
	uint64_t start_ticks;            /* field 22 of /proc/PID/stat, and */
	uint64_t exec_mark;              /* field 28: another program has another one; 0: unknown */
	uint64_t uid;
	uint64_t created_ns, created_unix_ns;
	char program[64], version[32];
	char mode[16];                   /* off, observe, enforce: as configured */
	char cc[512];                    /* the same: algorithm and parameters */
	char undelivered[64];            /* signals that it needs and nothing here delivers */
	uint64_t qps;                    /* controlled now */
	uint64_t qps_unshown;            /* that never got a slot: no room, or no memory */
	uint64_t changes;                /* odd while a queue pair goes from its slot into gone */
	struct ccs_stats_gone gone;
	uint64_t spare[15];
	struct ccs_stats_pass pass[CCS_STATS_MAX_PASSES];
	struct ccs_stats_mailbox mailbox;
};

/* A link on the path, as telemetry tells of it. */
struct ccs_stats_hop {
	uint64_t link, rate, queue_bytes, capacity;
};

/* A queue pair. */
struct ccs_stats_qp {
	uint64_t generation;             /* of the slot: another one is another queue pair */
	uint64_t created_ns;             /* 0: the slot is free */
	uint64_t updated_ns;
	uint64_t lqpn, port, peer_qpn;
	char device[64];
	uint8_t peer_gid[16];            /* all 0: not known */
	uint64_t state;                  /* enum ibv_qp_state */
	uint64_t enforced;               /* 0: it is only observed */
	char pass[24];                   /* why it goes uncontrolled from now on; "": it does not */
	char cc[32], variant[16];        /* in force; "": it has no variants */
	char signals[16];                /* of an agent: ok, waiting, no-agent...; none: not needed */
	uint64_t rate, min_rate, max_rate, line_rate; /* rate: no more than the line's */
	uint64_t window;                 /* the least of the algorithm's and the cap */
	uint64_t cap, segment;
	uint64_t inflight, queued_bytes, queued; /* queued requests; past 256, bytes are estimated */
	uint64_t base_rtt_ns;
	uint64_t gated_ns;               /* time that a request was waiting at the gate */
	uint64_t posts, completions;     /* requests; completed with success */
	uint64_t segments, bytes;        /* the same */
	uint64_t sent;                   /* bytes handed to the device */
	uint64_t deferred, hidden;       /* requests that waited; completions that were ours alone */
	uint64_t cnps, losses, samples;  /* samples: RTTs that the algorithm was told */
	uint64_t switches;               /* to another algorithm */
	double utilisation;              /* of the busiest link, as HPCC's U; 0: not known */
	uint64_t flows;                  /* active at the receiver; 0: not known */
	uint64_t telemetry_ns;           /* when hops were told; 0: never */
	uint64_t nhops;
	struct ccs_stats_hop hop[CCS_STATS_MAX_HOPS];
	uint64_t spare[28];
};

/* RTTs, as measured, of the queue pair that has the slot: each word by itself, not under the
 * slot's version, so that sums and buckets may be one sample apart. */
struct ccs_stats_rtt {
	uint64_t count, sum_ns, min_ns, max_ns, last_ns;
	uint64_t spare[3];
	uint64_t bucket[CCS_STATS_RTT_BUCKETS];
};

/* Counters as of the last time that nothing was outstanding, or newer: each word by itself. */
struct ccs_stats_live {
	uint64_t idle;                   /* nothing has been since then; or 0 */
	uint64_t posts, completions, segments, bytes, sent, hidden, gated_ns;
};

/* version is odd while qp is being written. */
struct ccs_stats_slot {
	uint64_t version;
	uint64_t spare[7];
	struct ccs_stats_live live;
	struct ccs_stats_rtt rtt;
	struct ccs_stats_qp qp;          /* the last: a newer minor version has more of it */
};

/* Where an RTT counts: below 512 ns, above 2^32 ns, else by the eighth of its power of two. */
static inline unsigned ccs_stats_bucket(uint64_t ns)
{
	unsigned top;

	if (ns < 512)
		return 0;
	if (ns >> 32)
		return 185;
	top = 63u - (unsigned)__builtin_clzll(ns);
	return 1 + (top - 9) * 8 + (unsigned)(ns >> (top - 3)) % 8;
}

/* The least RTT of a bucket. */
static inline uint64_t ccs_stats_bucket_ns(unsigned bucket)
{
	if (!bucket)
		return 0;
	return (uint64_t)(8 + (bucket - 1) % 8) << ((bucket - 1) / 8 + 6);
}

static inline uint64_t ccs_stats_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline const struct ccs_stats_slot *ccs_stats_slot_at(const struct ccs_stats_header *h,
							     uint64_t i)
{
	return (const struct ccs_stats_slot *)(const void *)
		((const char *)h + h->header_size + i * h->slot_size);
}

/* Their newest state. */
static inline void ccs_stats_take_live(const struct ccs_stats_live *live, struct ccs_stats_qp *out)
{
	out->posts = ccs_stats_load(&live->posts);
	out->completions = ccs_stats_load(&live->completions);
	out->segments = ccs_stats_load(&live->segments);
	out->bytes = ccs_stats_load(&live->bytes);
	out->sent = ccs_stats_load(&live->sent);
	out->hidden = ccs_stats_load(&live->hidden);
	out->gated_ns = ccs_stats_load(&live->gated_ns);
	if (ccs_stats_load(&live->idle))
		out->inflight = out->queued = out->queued_bytes = 0;
}

/*
 * The queue pair in a slot, whole; 0: it was being written all the while (its writer may have
 * died at it), and *out is of no use. What a page of an older minor version lacks is 0.
 */
static inline int ccs_stats_read_qp(const struct ccs_stats_header *h, uint64_t i,
				    struct ccs_stats_qp *out)
{
	const struct ccs_stats_slot *slot = ccs_stats_slot_at(h, i);
	const uint64_t *from = (const uint64_t *)(const void *)&slot->qp;
	const size_t has = (size_t)h->slot_size - offsetof(struct ccs_stats_slot, qp);
	const size_t words = (has < sizeof(*out) ? has : sizeof(*out)) / 8;
	uint64_t word[sizeof(*out) / 8] = { 0 };

	for (unsigned tries = 0; tries < 1000; tries++) {
		const uint64_t version = ccs_stats_load(&slot->version);

		if (version & 1)
			continue;
		for (size_t w = 0; w < words; w++)
			word[w] = ccs_stats_load(&from[w]);
		if (ccs_stats_load(&slot->version) != version)
			continue;
		memcpy(out, word, sizeof(*out));
		ccs_stats_take_live(&slot->live, out);
		return 1;
	}
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif
