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
 * doubles because the published formulas and traces are; the caller passes
 * them relative to an origin of its own choice that never changes.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCS_CC_ABI 1u
#define CCS_CC_MAX_PARAMS 24
#define CCS_CC_PRIV_BYTES 512

/* Signals that an algorithm cannot work without. */
enum ccs_cc_needs {
	CCS_NEEDS_RTT = 1u << 0,
	CCS_NEEDS_CNP = 1u << 1,
	CCS_NEEDS_TELEMETRY = 1u << 2,
	CCS_NEEDS_ECT = 1u << 3,
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

/* What is known of a flow's path when parameters are derived. */
struct ccs_cc_path {
	double line_rate;            /* bit/s, > 0 */
	double base_rtt_us;          /* unloaded RTT of one segment, > 0 */
	double noise_us;             /* p95 of the RTT noise at idle */
	double segment;              /* bytes, > 0 */
	unsigned flows;              /* flows of this host on the port, >= 1 */
};

/* One completed (acknowledged) segment. */
struct ccs_cc_ack {
	double now_us;               /* time of the completion */
	double rtt_us;               /* t_completion - t_send - segment/line rate */
	double bytes;                /* acknowledged by it */
	double inflight;             /* bytes still outstanding */
};

/* What the algorithm wants. window 0 means no window of its own. */
struct ccs_cc_out {
	double rate;                 /* bit/s */
	double window;               /* bytes */
};

/* A number for people: the algorithm's own state by name. */
struct ccs_cc_obs {
	const char *name;
	double value;
	const char *text;            /* set instead of value for a word */
};

struct ccs_cc;

struct ccs_cc_ops {
	uint32_t abi;                /* CCS_CC_ABI */
	const char *name;
	const char *doc;             /* one line */
	unsigned needs;              /* CCS_NEEDS_* */
	const struct ccs_cc_param *params;
	unsigned nparams;

	/* Fill every NAN of param[] for that path. */
	void (*derive)(const struct ccs_cc_path *path, double *param);
	/* Set out and the private area from param[]; may be called again. */
	void (*on_init)(struct ccs_cc *cc);
	void (*on_ack)(struct ccs_cc *cc, const struct ccs_cc_ack *ack);
	/* Optional: a congestion notification, bytes sent, a loss or timeout. */
	void (*on_cnp)(struct ccs_cc *cc, double now_us);
	void (*on_send)(struct ccs_cc *cc, double now_us, double bytes);
	void (*on_loss)(struct ccs_cc *cc, double now_us);
	/* Optional: advance timers to now, return the next deadline (INFINITY: none). */
	double (*on_timer)(struct ccs_cc *cc, double now_us);
	/* Optional: go on from this rate (bit/s), learnt elsewhere. Absent: the rate is fixed. */
	void (*set_rate)(struct ccs_cc *cc, double rate);
	/* Optional: write at most max observations, return how many. */
	unsigned (*observe)(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max);
};

struct ccs_cc {
	const struct ccs_cc_ops *ops;
	struct ccs_cc_out out;
	double given[CCS_CC_MAX_PARAMS]; /* as the user said; NAN: derive */
	double param[CCS_CC_MAX_PARAMS]; /* in force */
	_Alignas(16) unsigned char priv[CCS_CC_PRIV_BYTES];
};

/* A pointer to the private area as T, checked to fit. */
#define CCS_CC_PRIV(T, cc) \
	((T *)(void *)((cc)->priv + 0 * sizeof(char[sizeof(T) <= CCS_CC_PRIV_BYTES ? 1 : -1])))

#ifdef __cplusplus
}
#endif
#endif
