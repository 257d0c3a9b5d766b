/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PLOT_H
#define CCS_TOOLS_PLOT_H
/*
 * ccshim plot. Files are read twice: first who is there and how busy, then the
 * values of those that are shown; so memory is bounded however long a trace is.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ccs_hist;

enum plot_what { PLOT_RATE, PLOT_RTT, PLOT_INFLIGHT, PLOT_QUEUE, PLOT_CNPS, PLOT_WHATS };

struct plot_point {
	double t, v;             /* s on a time line of all files; bit/s, s, bytes or a number */
};

/* At most a few thousand points: where there were more, their least and greatest values. */
struct plot_series {
	struct plot_point *at;
	size_t n, room;
};

struct plot_flow {
	unsigned source;         /* number of the file */
	uint64_t id;             /* within it */
	char owner[32];          /* whose, if the file tells */
	char name[96];
	double bytes;            /* acknowledged */
	uint64_t rows;           /* where nothing tells of bytes */
	bool shown;
	struct plot_series of[PLOT_WHATS];
	struct ccs_hist *hist;   /* of plot.cdf; NULL: no value yet */
	double cnps, origin;     /* the reader's */
};

struct plot {
	const char *out;         /* the picture's name */
	char title[256];
	bool script;             /* write what gnuplot would be told, instead */
	unsigned most;           /* flows */
	bool has_qp;
	uint32_t qp;             /* only this one */
	int cdf;                 /* enum plot_what; -1: all over time */
	bool values;             /* the second pass */
	struct plot_flow **flow; /* in the order of their first rows */
	unsigned n;
	void *tree;              /* the same, to be found */
	double latest, t0;       /* of the time line, s; t0: of its first point */
};

extern const char *const plot_words[PLOT_WHATS]; /* as --cdf names them */

/* plot_data.c. The flow, made if need be; NULL: no memory, after a complaint. */
struct plot_flow *plot_flow(struct plot *p, unsigned source, uint64_t id);
/* In the second pass, of a flow that is shown: a value. NAN and infinity are none. */
int plot_add(struct plot *p, struct plot_flow *flow, enum plot_what what, double t, double v);
/* Between the passes: marks the busiest. How many are shown. */
unsigned plot_choose(struct plot *p);
void plot_free(struct plot *p);

/* plot_trace.c, plot_stat.c: one pass over a file. 0, or -1 after a complaint. */
int plot_read_trace(struct plot *p, unsigned source, const char *file);
int plot_read_stat(struct plot *p, unsigned source, const char *file);
bool plot_is_stat(const char *file);

/* plot_draw.c. 0, or -1: there is nothing to be drawn. */
int plot_draw(const struct plot *p, FILE *script);

#endif
