/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIM_STATS_H
#define CCSHIM_STATS_H
/*
 * The statistics file: a file in which a process under ccshim publishes its statistics, for readers
 * that map it (option stats; libccshim(7) names the directories). `ccshim stat` is such a reader.
 *
 *   struct ccs_stats_header          header_size bytes at the start of the file
 *   struct ccs_stats_slot [slots]    slot_size bytes each, starting at header_size
 *   struct ccs_stats_moment [CCS_STATS_MOMENTS]   in each slot, history_offset bytes from its start
 *
 * Versions: a reader understands every file of its CCS_STATS_MAJOR. The header states the sizes: a
 * newer minor version adds fields at the ends of header and slots, an older one lacks some, and
 * missing fields read as 0 (ccs_stats_read_qp). `slots` grows and never shrinks.
 *
 * All words have 64 bits, in the machine's byte order; text is terminated and padded with NUL.
 * Times are CLOCK_MONOTONIC in ns, rates in bit/s, lengths in bytes; counters of a queue pair only
 * increase while it exists. Only the process writes, except to mailbox and unattended; readers map
 * the file read-only. Readers cannot reset counters: to start at 0, a reader subtracts an earlier
 * value.
 *
 * The process writes the statistics of a queue pair when an event occurs on it, at most once a
 * millisecond, and less often if there are hundreds of queue pairs; updated_ns is the time of the
 * last write. The counters in `live` are also exact whenever all posted requests have completed;
 * the other fields may then lag by a millisecond of traffic, or by sixteen small requests of an
 * unpaced queue pair.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCS_STATS_MAGIC 0x5354415453534343ull /* "CCSSTATS" */
#define CCS_STATS_MAJOR 1u
#define CCS_STATS_MINOR 3u

#define CCS_STATS_MAX_HOPS 5
#define CCS_STATS_MAX_UNCONTROLLED 24
#define CCS_STATS_RTT_BUCKETS 192
#define CCS_STATS_MOMENTS 25
#define CCS_STATS_MOMENT_NS 40000000u
#define CCS_STATS_TEXT 1024              /* size of a mailbox text, with its NUL */

/* A reason why queue pairs are not controlled, and their number. */
struct ccs_stats_uncontrolled {
	char name[24];
	uint64_t count;
};

/* Sums over destroyed queue pairs; the process's totals are these plus the sums over the slots. */
struct ccs_stats_gone {
	uint64_t qps, posts, completions, segments, bytes, cnps, losses, samples, gated_ns;
};

/*
 * Through which a tool sends a request to the process, see `ccshim set`. A tool holds
 * flock(LOCK_EX) on the file, so that there is one at a time. request_gen is even while no
 * request is pending. The tool writes request, then sets request_gen to the next odd number.
 * The process accepts the request by setting the next even number, applies it, writes status
 * (0 or an errno) and answer, then sets answer_gen = request_gen. A tool that stops waiting
 * sets the even number itself. Both use compare-and-swap, so that a request is applied either
 * completely or not at all. A tool that leaves its request pending sets unattended to request_gen
 * first: the process then logs a refusal. A process that accepts no requests sets answer_gen to
 * UINT64_MAX.
 */
struct ccs_stats_mailbox {
	uint64_t request_gen, answer_gen, status;
	char request[CCS_STATS_TEXT];
	char answer[CCS_STATS_TEXT];
};

struct ccs_stats_header {
	uint64_t magic, major, minor;
	uint64_t header_size, slot_size;
	uint64_t slots;                  /* number of slots in the file */
	uint64_t pid, pid_namespace;     /* process ID within that PID namespace; its inode */
	uint64_t start_ticks;            /* field 22 of /proc/PID/stat */
	uint64_t exec_mark;              /* field 28, which exec() changes; 0: unknown */
	uint64_t uid;
	uint64_t created_ns, created_unix_ns;
	char program[64], version[32];
	char mode[16];                   /* off, observe, enforce: as configured */
	char cc[512];                    /* algorithm and parameters, as configured */
	char missing_feedback[64];       /* feedback that cc needs and no agent provides */
	uint64_t qps;                    /* controlled and connected now */
	uint64_t qps_unshown;            /* without a slot: file full, or no memory */
	uint64_t changes;                /* odd while a destroyed QP is moved from its slot to gone */
	struct ccs_stats_gone gone;
	uint64_t spare[13];
	uint64_t history_offset;         /* since 1.3; 0: slots have no history */
	uint64_t unattended;             /* request_gen of a request that its tool left pending */
	struct ccs_stats_uncontrolled uncontrolled[CCS_STATS_MAX_UNCONTROLLED];
	struct ccs_stats_mailbox mailbox;
	/* Since 1.1. Each is "" if it is unknown. */
	char host[64];                   /* as the process sees it; in a container its name */
	char job[48], task[16], rank[16]; /* from a batch system or MPI */
	char container[72];
};

/* A link on the network path, as reported by telemetry. */
struct ccs_stats_hop {
	uint64_t link, rate, queue_bytes, capacity;
};

/* A queue pair. */
struct ccs_stats_qp {
	uint64_t generation;             /* changes when another queue pair gets the slot */
	uint64_t created_ns;             /* 0: the slot is free */
	uint64_t updated_ns;
	uint64_t lqpn, port, peer_qpn;
	char device[64];
	uint8_t peer_gid[16];            /* all 0: unknown */
	uint64_t state;                  /* enum ibv_qp_state */
	uint64_t enforced;               /* 0: it is only observed */
	char uncontrolled[24];           /* why it is no longer controlled; "": it is controlled */
	char cc[32], variant[16];        /* algorithm in use; "": it has no variants */
	char feedback[16];               /* from an agent: ok, waiting, no-agent...; none: unused */
	uint64_t rate, min_rate, max_rate, line_rate; /* rate <= line_rate */
	uint64_t window;                 /* minimum of the algorithm's window and max_inflight */
	uint64_t max_inflight, segment;
	uint64_t inflight, queued_bytes, queued; /* queued requests; above 256, bytes are estimated */
	uint64_t base_rtt_ns;
	uint64_t gated_ns;               /* time with a request waiting at the gate */
	uint64_t posts, completions;     /* requests posted; completed with success */
	uint64_t segments, bytes;        /* completed with success */
	uint64_t sent;                   /* bytes handed to the device */
	uint64_t deferred;               /* requests that had to wait */
	uint64_t internal_completions;   /* completions that the application did not request */
	uint64_t cnps, losses, samples;  /* samples: RTTs passed to the algorithm */
	uint64_t switches;               /* changes of the algorithm */
	double utilisation;              /* HPCC's U of the busiest link; 0: unknown */
	uint64_t flows;                  /* active at the receiver; 0: unknown */
	uint64_t telemetry_ns;           /* time of the last telemetry; 0: never */
	uint64_t nhops;
	struct ccs_stats_hop hop[CCS_STATS_MAX_HOPS];
	/* Since 1.2: ok, at-floor or at-limit, see libccshim(7); "": it is only observed. */
	char control[16];
	uint64_t tenant_cap;             /* since 1.3: its tenant's cap, bit/s; 0: none in force */
	uint64_t failed_ns;              /* since 1.3: time of the first error; 0: it has not failed */
	uint64_t failed_status;          /* since 1.3: its enum ibv_wc_status */
	uint64_t failed_event;           /* since 1.3: its enum ibv_event_type + 1, or 0 */
	uint64_t spare[22];
};

/*
 * The history of a queue pair: at most one moment per CCS_STATS_MOMENT_NS, only while segments
 * complete, so that it covers the last second of activity. Each word of 64 bits is written
 * separately, not under the slot's version.
 */
struct ccs_stats_moment {
	uint64_t time_ns;
	uint32_t rtt_ns;                 /* longest since the previous moment; 0: not measured */
	uint32_t segments;               /* lower half of the counter */
	uint32_t rate_kbps, advised_kbps; /* advised_kbps: by the host agent, 0: not advised */
	uint32_t window, inflight;
	uint32_t gated_us;               /* lower half of the time at the gate */
	uint16_t cnps, losses;           /* lower quarters of the counters */
};

/* Measured RTTs of the queue pair in the slot. Each word is written separately, not under the
 * slot's version, so that sums and buckets may differ by one sample. */
struct ccs_stats_rtt {
	uint64_t count, sum_ns, min_ns, max_ns, last_ns;
	uint64_t spare[3];
	uint64_t bucket[CCS_STATS_RTT_BUCKETS];
};

/* Counters as of the last time that no request was outstanding, or newer; each word is written
 * separately. */
struct ccs_stats_live {
	uint64_t idle;                   /* 1: no request has been outstanding since then */
	uint64_t posts, completions, segments, bytes, sent, internal_completions, gated_ns;
};

/* version is odd while qp is being written. */
struct ccs_stats_slot {
	uint64_t version;
	uint64_t moments;                /* since 1.3: recorded so far; the newest is moments - 1 */
	uint64_t spare[6];
	struct ccs_stats_live live;
	struct ccs_stats_rtt rtt;
	struct ccs_stats_qp qp;          /* last member: a newer minor version extends it */
};

/* The bucket of an RTT: below 512 ns, from 2^32 ns, and between them eighths of each power of
 * two. */
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

/*
 * Where the slots of a mapped file are. The owner can change the file at any time, so what the
 * header says is read and checked once.
 */
struct ccs_stats_layout {
	const void *file;
	uint64_t header_size, slot_size, slots;
};

#define CCS_STATS_MAX_SLOTS 65536u

/* Describe a file of `size` bytes. 0: not a statistics file, or of another CCS_STATS_MAJOR. */
static inline int ccs_stats_layout(const void *file, size_t size, struct ccs_stats_layout *l)
{
	const struct ccs_stats_header *h = (const struct ccs_stats_header *)file;

	if (size < offsetof(struct ccs_stats_header, mailbox) ||
	    ccs_stats_load(&h->magic) != CCS_STATS_MAGIC ||
	    ccs_stats_load(&h->major) != CCS_STATS_MAJOR)
		return 0;
	l->file = file;
	l->header_size = ccs_stats_load(&h->header_size);
	l->slot_size = ccs_stats_load(&h->slot_size);
	l->slots = ccs_stats_load(&h->slots);
	if (l->header_size < offsetof(struct ccs_stats_header, mailbox) ||
	    l->header_size > size || l->header_size % 8 || l->slot_size % 8 ||
	    l->slot_size < offsetof(struct ccs_stats_slot, qp.nhops) || l->slot_size > size)
		return 0;
	if (l->slots > (size - l->header_size) / l->slot_size)
		l->slots = (size - l->header_size) / l->slot_size; /* it has grown since */
	if (l->slots > CCS_STATS_MAX_SLOTS)
		l->slots = CCS_STATS_MAX_SLOTS;
	return 1;
}

/* i < l->slots */
static inline const struct ccs_stats_slot *ccs_stats_slot_at(const struct ccs_stats_layout *l,
							     uint64_t i)
{
	return (const struct ccs_stats_slot *)(const void *)
		((const char *)l->file + l->header_size + i * l->slot_size);
}

/* Update the counters in *out to their newest values. */
static inline void ccs_stats_read_live(const struct ccs_stats_live *live, struct ccs_stats_qp *out)
{
	out->posts = ccs_stats_load(&live->posts);
	out->completions = ccs_stats_load(&live->completions);
	out->segments = ccs_stats_load(&live->segments);
	out->bytes = ccs_stats_load(&live->bytes);
	out->sent = ccs_stats_load(&live->sent);
	out->internal_completions = ccs_stats_load(&live->internal_completions);
	out->gated_ns = ccs_stats_load(&live->gated_ns);
	if (ccs_stats_load(&live->idle))
		out->inflight = out->queued = out->queued_bytes = 0;
}

/*
 * Read a consistent copy of the queue pair in a slot. 0: a write was in progress all the time
 * (the writer may have died in it), and *out is undefined. Fields that a file of an older minor
 * version lacks are 0.
 */
static inline int ccs_stats_read_qp(const struct ccs_stats_layout *l, uint64_t i,
				    struct ccs_stats_qp *out)
{
	const struct ccs_stats_slot *slot = ccs_stats_slot_at(l, i);
	const uint64_t *from = (const uint64_t *)(const void *)&slot->qp;
	const size_t has = (size_t)l->slot_size - offsetof(struct ccs_stats_slot, qp);
	const size_t words = (has < sizeof(*out) ? has : sizeof(*out)) / 8;
	uint64_t word;

	memset(out, 0, sizeof(*out));
	for (unsigned tries = 0; tries < 1000; tries++) {
		const uint64_t version = ccs_stats_load(&slot->version);

		if (version & 1)
			continue;
		for (size_t w = 0; w < words; w++) {
			word = ccs_stats_load(&from[w]);
			memcpy((char *)out + 8 * w, &word, sizeof(word));
		}
		if (ccs_stats_load(&slot->version) != version)
			continue;
		ccs_stats_read_live(&slot->live, out);
		return 1;
	}
	return 0;
}

/*
 * Copy the history of the queue pair in a slot, oldest first, without a moment that is about to be
 * overwritten. Returns the number of moments.
 */
static inline unsigned ccs_stats_read_history(const struct ccs_stats_layout *l, uint64_t offset, uint64_t i,
					      struct ccs_stats_moment out[CCS_STATS_MOMENTS])
{
	const struct ccs_stats_slot *slot = ccs_stats_slot_at(l, i);
	const uint64_t *from, moments = ccs_stats_load(&slot->moments);
	const size_t words = sizeof(*out) / 8;
	unsigned n = 0;

	if (!offset || offset % 8 || offset > l->slot_size ||
	    l->slot_size - offset < CCS_STATS_MOMENTS * sizeof(*out))
		return 0;
	from = (const uint64_t *)(const void *)((const char *)slot + offset);
	for (uint64_t m = moments < CCS_STATS_MOMENTS ? 0 : moments - CCS_STATS_MOMENTS + 1; m < moments; m++, n++) {
		uint64_t word[sizeof(*out) / 8];

		for (size_t w = 0; w < words; w++)
			word[w] = ccs_stats_load(&from[m % CCS_STATS_MOMENTS * words + w]);
		memcpy(&out[n], word, sizeof(*out));
	}
	return n;
}

#ifdef __cplusplus
}
#endif

#endif
