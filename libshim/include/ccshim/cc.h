/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIM_CC_H
#define CCSHIM_CC_H
/*
 * The congestion-control algorithm interface.
 *
 * An algorithm is one `const struct ccs_cc_ops`: a parameter table and pure
 * callbacks named after events. It never reads a clock, allocates, locks or
 * does I/O; facts come in as arguments and a rate and a window go out in
 * `struct ccs_cc.out`. The caller serialises all calls on one `struct ccs_cc`.
 *
 * Units: rates in bit/s, windows in bytes, times in microseconds. Times are
 * doubles, as in the published formulas and traces; the caller passes them
 * relative to an origin that it chooses once.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCS_CC_ABI 1u
#define CCS_CC_MAX_PARAMS 24
#define CCS_CC_PRIV_BYTES 320
#define CCS_CC_MAX_HOPS 5

/* Signals that an algorithm cannot work without. */
enum ccs_cc_needs {
	CCS_NEEDS_RTT = 1u << 0,
	CCS_NEEDS_CNP = 1u << 1,
	CCS_NEEDS_TELEMETRY = 1u << 2,
	CCS_NEEDS_ECT = 1u << 3,
	CCS_NEEDS_ADVICE = 1u << 4,  /* advised rates; a new rate comes as an ack of 0 bytes */
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

/* Properties of a flow's path, from which parameters are derived. */
struct ccs_cc_path {
	double line_rate;            /* bit/s, > 0 */
	double base_rtt_us;          /* unloaded RTT of one segment, > 0 */
	double rtt_jitter_us;             /* p95 of the RTT noise at idle */
	double segment;              /* bytes, > 0 */
	unsigned flows;              /* flows of this host on the port, >= 1 */
	double bottleneck_rate;      /* bit/s, known capacity of the slowest link;
				      * 0: unknown, then it is taken for line_rate */
	double epoch_us;             /* the hosts' common time at the algorithm's time 0: UTC,
				      * modulo a power of two */
};

/* One telemetry record of a link on the path (an INT record): counters as they stood at ts_ns. */
struct ccs_cc_hop {
	uint64_t ts_ns;              /* the producer's clock; only differences count */
	uint64_t tx_bytes;           /* sent on the link since some past time */
	uint64_t qlen_bytes;         /* waiting for it */
	double capacity;             /* bit/s */
};

/* One completed (acknowledged) segment. */
struct ccs_cc_ack {
	double now_us;               /* time of the completion */
	double rtt_us;               /* t_completion - t_send - segment/line rate; 0: not measured */
	double nic_wait_us;          /* how long it waited in the host's own NIC; not in rtt_us */
	double bytes;                /* acknowledged by it */
	double inflight;             /* bytes still outstanding */
	uint64_t ack_seq;            /* bytes of the flow acknowledged so far */
	uint64_t snd_nxt;            /* bytes of the flow sent so far */
	const struct ccs_cc_hop *hops; /* telemetry of the path, nearest link first; only for the call */
	unsigned nhops;              /* at most CCS_CC_MAX_HOPS; 0: no telemetry */
	uint32_t path;               /* names the path: records of two paths do not compare */
	unsigned flows;              /* active ones at the bottleneck; 0: unknown */
	double covers_us;            /* the telemetry is of then or later; 0: unknown */
	double advised_rate;         /* bit/s, advised to each flow by the receiver; 0: no advice */
};

/* Outputs of the algorithm. */
struct ccs_cc_out {
	double rate;                 /* bit/s */
	double window;               /* bytes outstanding; 0: no window */
	double timer_us;             /* when on_timer is to be called; INFINITY: never */
	int small_next;              /* the next segment is to be small, to measure the path
				      * by; the host clears it */
	double telemetry_period_us;  /* how often telemetry is wanted; 0: the host decides */
	double utilisation;          /* ratio of the busiest link, for display; 0: unknown */
};

/* A number for people: the algorithm's own state by name. */
struct ccs_cc_obs {
	const char *name;
	double value;
	const char *text;            /* set instead of value for a word */
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

	/* Fill every NAN of param[] for that path. Pure. */
	void (*derive)(const struct ccs_cc_path *path, double *param);
	/* Set out and the private area from param[]; may be called again. */
	void (*on_init)(struct ccs_cc *cc);
	void (*on_ack)(struct ccs_cc *cc, const struct ccs_cc_ack *ack);
	/* Optional: a congestion notification, bytes handed to the NIC, a loss or timeout. */
	void (*on_cnp)(struct ccs_cc *cc, double now_us);
	void (*on_send)(struct ccs_cc *cc, double now_us, double bytes);
	void (*on_loss)(struct ccs_cc *cc, double now_us);
	/* Optional: out.timer_us has come, and is now_us. Fire one timer and set out.timer_us
	 * again, to the same time if another timer is due. */
	void (*on_timer)(struct ccs_cc *cc, double now_us);
	/* Optional: go on from this rate (bit/s), learnt elsewhere; the state that speaks of
	 * the rate follows. Absent: the rate is fixed. */
	void (*set_rate)(struct ccs_cc *cc, double rate);
	/* Optional: write at most max observations, return how many. */
	unsigned (*observe)(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max);
	/* Optional: the rate to begin at, bit/s, when the first telemetry shows that `flows` flows,
	 * this one included, share the path's bottleneck_rate. Pure. Absent: on_init's rate. */
	double (*start_rate)(const struct ccs_cc_path *path, unsigned flows);
	/* Optional: the built-in algorithm to be used while the feedback of agents is missing.
	 * NULL: swift if that feedback is telemetry or advised rates, otherwise timely. */
	const char *fallback;
	/* Optional: the value of parameter "variant" where telemetry has the receiver's link
	 * only. */
	const char *without_ports;
};

struct ccs_cc_spec;

/* One flow's instance. An algorithm writes out and priv, and reads param and path. */
struct ccs_cc {
	const struct ccs_cc_ops *ops;
	const struct ccs_cc_spec *spec;  /* the host's: what the user asked for */
	struct ccs_cc_out out;
	struct ccs_cc_path path;         /* the path for which param[] was last derived */
	double param[CCS_CC_MAX_PARAMS]; /* in force */
	unsigned char priv[CCS_CC_PRIV_BYTES] __attribute__((aligned(16)));
};

/* The algorithm that a plug-in defines. */
extern const struct ccs_cc_ops ccs_cc_plugin __attribute__((visibility("default")));

/* A pointer to the private area as T, checked to fit. */
#define CCS_CC_PRIV(T, cc) \
	((T *)(void *)((cc)->priv + 0 * sizeof(char[sizeof(T) <= CCS_CC_PRIV_BYTES ? 1 : -1])))

#ifdef __cplusplus
}
#endif
#endif
