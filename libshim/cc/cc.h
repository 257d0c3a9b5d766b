/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_CC_H
#define CCS_CC_CC_H
/* The algorithms' interface to the rest of the library: registry and set-up. */
#include <stdbool.h>
#include <string.h>

#include <ccshim/cc.h>

extern const struct ccs_cc_ops ccs_cc_none;
extern const struct ccs_cc_ops ccs_cc_fixed;
extern const struct ccs_cc_ops ccs_cc_hpcc;
extern const struct ccs_cc_ops ccs_cc_rcp;
extern const struct ccs_cc_ops ccs_cc_swift;
extern const struct ccs_cc_ops ccs_cc_copa;
extern const struct ccs_cc_ops ccs_cc_timely;
extern const struct ccs_cc_ops ccs_cc_dcqcn;

/* What becomes of a flow whose algorithm is switched off: no user's choice. */
extern const struct ccs_cc_ops ccs_cc_hold;

/* All built-in algorithms, NULL-terminated, in the order `ccshim info -a` shows. */
extern const struct ccs_cc_ops *const ccs_cc_all[];

/* What CCS_NEEDS_* are called; the last one has no name. */
extern const struct ccs_cc_need_name { unsigned bit; const char *name; } ccs_cc_need_names[];

/*
 * The default: rcp where agents advise a rate, CCS_CC_WITHOUT_ADVICE where they do not. It is
 * found by this name as rcp, whose parameters it has; whose flows it is picks between the two.
 */
#define CCS_CC_AUTO "auto"
#define CCS_CC_WITHOUT_ADVICE ccs_cc_copa

/* Whether "NAME[:param=value,...]" names that. */
bool ccs_cc_is_auto(const char *text);

/* NULL if there is none of that name. */
const struct ccs_cc_ops *ccs_cc_find(const char *name);

/* The index of that parameter; -1: there is none. */
int ccs_cc_find_param(const struct ccs_cc_ops *ops, const char *name);

/* The algorithm that replaces this one while the feedback that it needs is missing. */
const struct ccs_cc_ops *ccs_cc_fallback(const struct ccs_cc_ops *ops);

/* An algorithm and what the user gave of its parameters. Outlives every ccs_cc started from it. */
struct ccs_cc_spec {
	const struct ccs_cc_ops *ops;
	double given[CCS_CC_MAX_PARAMS]; /* NAN: default or derived */
};

/* Nothing given: defaults all over. */
struct ccs_cc_spec ccs_cc_default_spec(const struct ccs_cc_ops *ops);

/* Whether "NAME[:param=value,...]" names a file instead of a built-in algorithm: a '/' before
 * any ':'. */
bool ccs_cc_is_path(const char *text);

/* Where NAME ends: at the first ':', in a path at the last one that "param=" follows. */
size_t ccs_cc_name_len(const char *text);

/*
 * Parse "NAME[:param=value,...]" of a built-in algorithm. Values take units (10g, 50us,
 * 0.8). Returns 0, or -1 with a complete sentence in err, and then spec is unchanged.
 */
int ccs_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen);

/* The same for what stands behind the name, "" or ":param=value,...". */
int ccs_cc_parse_params(struct ccs_cc_spec *spec, const struct ccs_cc_ops *ops, const char *text,
			char *err, size_t errlen);

/* Give an enumerated parameter that value unless the user gave one. false: he did, or there is no
 * such parameter or value. */
bool ccs_cc_set_default_choice(struct ccs_cc_spec *spec, const char *param, const char *choice);

/* Put parameters in force for the path (given, else default, else derived) and reset the state. */
void ccs_cc_start(struct ccs_cc *cc, const struct ccs_cc_spec *spec, const struct ccs_cc_path *path);

/* Derive the parameters again for a path that is now better known; state and rate stay. */
void ccs_cc_repath(struct ccs_cc *cc, const struct ccs_cc_path *path);

/*
 * Apply the user's max_rate, after start and repath. An algorithm whose rate is its state
 * increases from it, so the limit must hold there too: it lowers a parameter max_rate. All
 * others are limited where their rate is read.
 */
void ccs_cc_limit(struct ccs_cc *cc, double max_rate);

/* Continue from this rate, if the algorithm can: after slow start, after a switch. */
void ccs_cc_set_rate(struct ccs_cc *cc, double rate);

/* The most that it lets through, bit/s: a window is a rate, too. */
double ccs_cc_throughput(const struct ccs_cc *cc);

/* Its parameter "min_rate", the floor of its rate, bit/s; 0: it has none. */
double ccs_cc_min_rate(const struct ccs_cc *cc);

/* The value of its parameter "variant"; "": it has none. */
const char *ccs_cc_variant(const struct ccs_cc *cc);

/* Another algorithm from here on, at the rate that the flow has, if it is one for it. */
void ccs_cc_switch(struct ccs_cc *cc, const struct ccs_cc_spec *spec,
		   const struct ccs_cc_path *path);

/* The slowest link that is known on the path, bit/s. */
static inline double ccs_cc_bottleneck(const struct ccs_cc_path *path)
{
	return path->bottleneck_rate > 0 && path->bottleneck_rate < path->line_rate
		? path->bottleneck_rate : path->line_rate;
}

/* The time of a segment on that link, us: the quantum in which its queue moves. */
static inline double ccs_cc_segment_us(const struct ccs_cc_path *path, double segment)
{
	return 8e6 * segment / ccs_cc_bottleneck(path);
}

/* The end of an observe(): as many of all as fit into max. */
static inline unsigned ccs_cc_observed(struct ccs_cc_obs *obs, unsigned max,
				       const struct ccs_cc_obs *all, unsigned n)
{
	n = n < max ? n : max;
	memcpy(obs, all, n * sizeof(*all));
	return n;
}

/* Fire every timer due at now_us, in order, at its own time. Call before any event. */
static inline void ccs_cc_advance(struct ccs_cc *cc, double now_us)
{
	while (cc->out.timer_us <= now_us && cc->ops->on_timer)
		cc->ops->on_timer(cc, cc->out.timer_us);
}

#endif
