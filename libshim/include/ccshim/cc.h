/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIM_CC_H
#define CCSHIM_CC_H
/*
 * The congestion-control algorithm interface.
 *
 * An algorithm is one `const struct ccs_cc_ops`: a parameter table and pure
 * callbacks named after events. It never reads a clock, allocates, locks or
 * does I/O. The arguments contain its input; it returns a rate and a window in
 * `struct ccs_cc.out`. The caller serialises all calls on one `struct ccs_cc`.
 *
 * Units: rates in bit/s, windows in bytes, times in microseconds. Times are
 * doubles, as in the published formulas and traces, relative to an origin that
 * the caller chooses and never changes.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCS_CC_ABI 2u
#define CCS_CC_MAX_PARAMS 24
#define CCS_CC_PRIV_BYTES 320
#define CCS_CC_MAX_HOPS 5

/* Advice below this part of a port's capacity is a share of a full port. */
#define CCS_ADVICE_SHARE 0.97

/* Feedback that an algorithm requires. */
enum ccs_cc_needs {
	CCS_NEEDS_RTT = 1u << 0,
	CCS_NEEDS_CNP = 1u << 1,
	CCS_NEEDS_TELEMETRY = 1u << 2,
	CCS_NEEDS_ECT = 1u << 3,
	CCS_NEEDS_ADVICE = 1u << 4,  /* advised rates; new advice is an ack of 0 bytes */
};

/* One tunable. A parameter with `choices` is an enumeration: its value is the
 * index of the chosen name. `def` is NAN where the default is derived from the
 * path (see ccs_cc_ops.derive). */
struct ccs_cc_param {
	const char *name;
	const char *unit;            /* "us", "bit/s", "bytes", "" */
	double def;
	double min, max;             /* both allowed */
	const char *const *choices;  /* NULL-terminated, or NULL for a number */
	const char *doc;             /* one line */
	const char *source;          /* paper and section, or code */
};

/* The known properties of a flow's path, from which parameters are derived. */
struct ccs_cc_path {
	double line_rate;            /* bit/s, > 0 */
	double base_rtt_us;          /* unloaded RTT of one segment, > 0 */
	double rtt_jitter_us;        /* 95th percentile of the delay that hosts add to RTTs */
	double segment;              /* bytes, > 0 */
	unsigned flows;              /* flows of this host on the port, >= 1 */
	double bottleneck_rate;      /* capacity of the slowest known link, bit/s; 0: line_rate */
	double epoch_us;             /* UTC at the algorithm's time 0, modulo a power of two */
	double payload_share;        /* payload of a full packet by its length on the line; 0: unknown */
};

/* A telemetry record of a link on the path (an INT record): its counters at ts_ns. */
struct ccs_cc_hop {
	uint64_t ts_ns;              /* the producer's clock; only differences count */
	uint64_t tx_bytes;           /* bytes sent on the link since a fixed time */
	uint64_t qlen_bytes;         /* bytes in its queue */
	double capacity;             /* bit/s */
};

/* A completed (acknowledged) segment. */
struct ccs_cc_ack {
	double now_us;               /* time of the completion */
	double rtt_us;               /* t_completion - t_send - segment/line rate; 0: unknown */
	double nic_wait_us;          /* its wait in the host's NIC, not part of rtt_us */
	double bytes;                /* bytes acknowledged */
	double inflight;             /* bytes still outstanding */
	uint64_t ack_seq;            /* bytes of the flow acknowledged so far */
	uint64_t snd_nxt;            /* bytes of the flow sent so far */
	const struct ccs_cc_hop *hops; /* telemetry, nearest link first; valid during the call */
	unsigned nhops;              /* at most CCS_CC_MAX_HOPS; 0: no telemetry */
	uint32_t path;               /* its identifier; records of different paths do not compare */
	unsigned flows;              /* active flows at the bottleneck; 0: unknown */
	double covers_us;            /* earliest time of the telemetry; 0: unknown */
	double advised_rate;         /* the receiver's advice to each flow, bit/s: the capacity of a
				      * port that is not full, or a share; 0: no advice */
};

/* The algorithm's output. */
struct ccs_cc_out {
	double rate;                 /* bit/s */
	double window;               /* limit of bytes outstanding; 0: no limit */
	double timer_us;             /* time of the next on_timer; INFINITY: never */
	int small_next;              /* 1: make the next segment small; the host clears it */
	double telemetry_period_us;  /* interval of requested telemetry; 0: the host decides */
	double utilisation;          /* utilisation of the busiest link, for people; 0: unknown */
};

/* An observation for people: a part of the algorithm's state by name. */
struct ccs_cc_obs {
	const char *name;
	double value;
	const char *text;            /* word instead of value, or NULL */
};

struct ccs_cc;

/*
 * An algorithm. Mandatory: abi, size, name, doc, derive, on_init, on_ack.
 *
 * Order of calls: derive, on_init, then events in the order of their times. Before
 * the first on_init the private area and out are zero, out.timer_us is INFINITY. A
 * timer that is due at the time of an event comes before the event.
 */
struct ccs_cc_ops {
	uint32_t abi;                /* CCS_CC_ABI */
	uint32_t size;               /* sizeof(struct ccs_cc_ops) */
	const char *name;
	const char *doc;             /* one line */
	unsigned needs;              /* CCS_NEEDS_* */
	const struct ccs_cc_param *params;
	unsigned nparams;            /* at most CCS_CC_MAX_PARAMS */

	/* Set each param[] that is NAN for this path. Pure. */
	void (*derive)(const struct ccs_cc_path *path, double *param);
	/* Set out and the private area from param[]; may be called again. */
	void (*on_init)(struct ccs_cc *cc);
	void (*on_ack)(struct ccs_cc *cc, const struct ccs_cc_ack *ack);
	/* Optional: a congestion notification, bytes handed to the NIC, a loss or timeout. */
	void (*on_cnp)(struct ccs_cc *cc, double now_us);
	void (*on_send)(struct ccs_cc *cc, double now_us, double bytes);
	void (*on_loss)(struct ccs_cc *cc, double now_us);
	/* Optional: now_us is out.timer_us. Fire one timer and set out.timer_us to the next due
	 * time, which may be the same. */
	void (*on_timer)(struct ccs_cc *cc, double now_us);
	/* Optional: continue from this rate, bit/s, and adapt the state to it. Absent: the rate
	 * is fixed. */
	void (*set_rate)(struct ccs_cc *cc, double rate);
	/* Optional: write at most max observations, return the number. */
	unsigned (*observe)(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max);
	/* Optional: the initial rate, bit/s, if the first telemetry shows that `flows` flows,
	 * including this flow, share path->bottleneck_rate. Pure. Absent: on_init's rate. */
	double (*start_rate)(const struct ccs_cc_path *path, unsigned flows);
	/* Optional: the built-in algorithm that runs while feedback from agents is missing. NULL:
	 * swift if this algorithm needs telemetry or advised rates, timely if it does not. */
	const char *fallback;
	/* Optional: the value of parameter "variant" if telemetry has the receiver's link only. */
	const char *without_ports;
};

struct ccs_cc_spec;

/* One flow's instance. An algorithm writes out and priv, and reads param and path. */
struct ccs_cc {
	const struct ccs_cc_ops *ops;
	const struct ccs_cc_spec *spec;  /* the user's choice; for the host only */
	struct ccs_cc_out out;
	struct ccs_cc_path path;         /* path for which param[] was derived */
	double param[CCS_CC_MAX_PARAMS]; /* in force */
	unsigned char priv[CCS_CC_PRIV_BYTES] __attribute__((aligned(16)));
};

/* A plug-in defines this symbol: its algorithm. */
extern const struct ccs_cc_ops ccs_cc_plugin __attribute__((visibility("default")));

/* A pointer to the private area as T, checked to fit. */
#define CCS_CC_PRIV(T, cc) \
	((T *)(void *)((cc)->priv + 0 * sizeof(char[sizeof(T) <= CCS_CC_PRIV_BYTES ? 1 : -1])))

#ifdef __cplusplus
}
#endif
#endif
