/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_CC_H
#define CCS_CC_CC_H
/* The registry of algorithms, their text form, and the set-up of instances. */
#include <math.h>
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

/* The algorithm of a flow whose control is switched off: the rate stays. Users cannot select it. */
extern const struct ccs_cc_ops ccs_cc_hold;

/* All built-in algorithms, NULL-terminated, in the order of `ccshim info -a`. */
extern const struct ccs_cc_ops *const ccs_cc_all[];

/* Names of CCS_NEEDS_* for people; the last entry has no name. */
extern const struct ccs_cc_need_name { unsigned bit; const char *name; } ccs_cc_need_names[];

/*
 * The default: rcp where agents answer, and its fallback copa, which is rcp without advice, where
 * they do not. ccs_cc_find() returns rcp for this name.
 */
#define CCS_CC_AUTO "auto"

/* Whether "NAME[:param=value,...]" has the name CCS_CC_AUTO. */
bool ccs_cc_is_auto(const char *text);

/* An algorithm; NULL: no algorithm has that name. */
const struct ccs_cc_ops *ccs_cc_find(const char *name);
/* The index of a parameter; -1: no parameter has that name. */
int ccs_cc_find_param(const struct ccs_cc_ops *ops, const char *name);

/* The algorithm that runs while the feedback that `ops` needs is missing. */
const struct ccs_cc_ops *ccs_cc_fallback(const struct ccs_cc_ops *ops);

/* An algorithm and the parameters that the user gave. It must outlive each ccs_cc that uses it. */
struct ccs_cc_spec {
	const struct ccs_cc_ops *ops;
	double given[CCS_CC_MAX_PARAMS]; /* NAN: default or derived */
};

struct ccs_cc_spec ccs_cc_default_spec(const struct ccs_cc_ops *ops);

/* Whether "NAME[:param=value,...]" names a plug-in's file: there is a '/' before any ':'. */
bool ccs_cc_is_path(const char *text);

/* The length of NAME: up to the first ':', in a path up to the last ':' before a "param=". */
size_t ccs_cc_name_len(const char *text);

/*
 * Parse "NAME[:param=value,...]" of a built-in algorithm. Values may have units (10g, 50us, 0.8).
 * Returns 0, or -1 with a complete sentence in err, with a hint for a typing mistake, and spec
 * unchanged.
 */
int ccs_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t errlen);

/* The same for the text after the name, "" or ":param=value,...". */
int ccs_cc_parse_params(struct ccs_cc_spec *spec, const struct ccs_cc_ops *ops, const char *text,
			char *err, size_t errlen);

struct ccs_suggestion;
/* Offer the names of an algorithm's parameters. */
void ccs_cc_offer_params(struct ccs_suggestion *near, const struct ccs_cc_ops *ops);

/*
 * Set an enumerated parameter to a value unless the user gave one. False: the user did, or there
 * is no such parameter or value.
 */
bool ccs_cc_set_default_choice(struct ccs_cc_spec *spec, const char *param, const char *choice);

/* Compute the parameters (given, default or derived for the path) and reset the state. */
void ccs_cc_start(struct ccs_cc *cc, const struct ccs_cc_spec *spec,
		  const struct ccs_cc_path *path);

/* Compute the parameters again when more is known of the path; state and rate stay. */
void ccs_cc_repath(struct ccs_cc *cc, const struct ccs_cc_path *path);

/*
 * Apply the user's max_rate, after start and repath: lower the parameter max_rate, if there is
 * one. An algorithm whose state is a rate increases from that rate, so the limit must apply to the
 * state. For other algorithms the caller limits the rate that it reads.
 */
void ccs_cc_limit(struct ccs_cc *cc, double max_rate);

/* Continue from this rate, if the algorithm can: after slow start, after a switch. */
void ccs_cc_set_rate(struct ccs_cc *cc, double rate);

/* The throughput that rate, window and line rate permit, bit/s. */
double ccs_cc_throughput(const struct ccs_cc *cc);

/* The parameter "min_rate", the floor of the rate, bit/s; 0 without that parameter. */
double ccs_cc_min_rate(const struct ccs_cc *cc);

/* The value of the parameter "variant"; "" without that parameter. */
const char *ccs_cc_variant(const struct ccs_cc *cc);

static inline bool ccs_cc_is_given(const struct ccs_cc *cc, unsigned param)
{
	return !isnan(cc->spec->given[param]);
}

/* The end of a derive(): set the parameters that have no value. */
static inline void ccs_cc_fill(double *param, const double *derived, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (isnan(param[i]))
			param[i] = derived[i];
}

/* The slowest known link of the path, bit/s. */
static inline double ccs_cc_bottleneck(const struct ccs_cc_path *path)
{
	return path->bottleneck_rate > 0 && path->bottleneck_rate < path->line_rate
		? path->bottleneck_rate : path->line_rate;
}

/* The time of a segment on that link, us. */
static inline double ccs_cc_segment_us(const struct ccs_cc_path *path, double segment)
{
	return 8e6 * segment / ccs_cc_bottleneck(path);
}

/* The end of an observe(): copy at most max observations, return the number. */
static inline unsigned ccs_cc_observed(struct ccs_cc_obs *obs, unsigned max,
				       const struct ccs_cc_obs *all, unsigned n)
{
	n = n < max ? n : max;
	memcpy(obs, all, n * sizeof(*all));
	return n;
}

/* Fire every timer due at now_us, in order, at its due time. Call before any event. */
static inline void ccs_cc_advance(struct ccs_cc *cc, double now_us)
{
	while (cc->out.timer_us <= now_us && cc->ops->on_timer)
		cc->ops->on_timer(cc, cc->out.timer_us);
}

#endif
