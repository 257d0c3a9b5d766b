/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PLAN_H
#define CCS_TOOLS_PLAN_H
/*
 * ccshim plan: a table of calculations, each with its options and its formulas. A calculation reads
 * its options with the functions below. The first mistake is printed and sets `failed`, which the
 * calculation checks once, after it has read every option.
 */
#include <stdbool.h>

#include "base/json.h"
#include "base/units.h"

enum { PLAN_OPTIONS_MAX = 20 };

struct plan_option {
	const char *name, *arg; /* arg NULL: a flag */
	const char *preset;     /* the default, or NULL */
	const char *doc;
	const char *with;       /* as of struct option_row */
};

#define FOR_EACH_OPTION(o, calc) for (const struct plan_option *o = (calc)->options; o->name; o++)

struct plan_formula {
	const char *text, *source;
};

struct plan;

struct plan_calc {
	const char *name, *doc;
	const struct plan_option *options;   /* ends with a name of NULL */
	const struct plan_formula *formulas; /* ends with a text of NULL */
	int (*main)(struct plan *p);         /* returns the exit status */
};

extern const struct plan_calc plan_buffer;
extern const struct plan_calc plan_headroom;
extern const struct plan_calc plan_qos;
extern const struct plan_calc plan_deadlock;
extern const struct plan_calc plan_ecn;
extern const struct plan_calc plan_thresholds;

struct plan {
	const struct plan_calc *calc;
	const char *value[PLAN_OPTIONS_MAX]; /* by index in calc->options; NULL: not given, no default */
	bool json, explain, failed;
	struct ccs_json j;                   /* open, an object; only if json */
};

/* Print "ccshim plan: --option: text" and set p->failed. */
void plan_refuse(struct plan *p, const char *option, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The option's text; NULL: it was not given and has no default. */
const char *plan_text(const struct plan *p, const char *option);

/* The option as a number: finite and above 0; 1 after a mistake. */
double plan_value(struct plan *p, const char *option, enum ccs_unit unit);

/* The same of a text that is a part of the option's. */
double plan_parse(struct plan *p, const char *option, const char *text, enum ccs_unit unit);

/* The same; 0 is also valid. */
double plan_value_or_0(struct plan *p, const char *option, enum ccs_unit unit);

/* The option as a whole number from least to most. */
unsigned plan_count(struct plan *p, const char *option, unsigned least, unsigned most);

/* The option as a fraction above 0, "1/8" or "0.125". */
double plan_fraction(struct plan *p, const char *option);

/* A text of the option as a share, "1%" or "0.01"; above 0, at most 1. */
double plan_share(struct plan *p, const char *option, const char *text);

/* The option, or a text of it, as a number of cells: "1400", "1400cells", or a size, "350k". */
double plan_cells(struct plan *p, const char *option, const char *text, double cell_bytes);

/* Rates, sizes and times for people, in one of a few static buffers. */
const char *plan_rate_text(double bps);
const char *plan_time_text(double us);

/* --mtu, --t0, --slot, --velocity, --cell; rate and cable are left out. */
struct ccs_headroom plan_headroom_options(struct plan *p, double *velocity);

/* The rate, and the t0 that follows from it if --t0 is standard. */
void plan_set_rate(struct plan *p, struct ccs_headroom *h, double rate_bps);

/* Read the topology file of an option; false after a message. */
struct topology;
bool plan_topology(struct plan *p, const char *option, struct topology *t);

#endif
