/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PLOT_H
#define CCS_TOOLS_PLOT_H
/*
 * ccshim plot. Files are read twice: first to find the flows and their traffic, then for the values
 * of the flows to draw. Memory is thus bounded for traces of any length.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ccs_hist;

enum plot_what {
	PLOT_RATE, PLOT_RTT, PLOT_INFLIGHT, PLOT_QUEUE, PLOT_CNPS,
	PLOT_WHATS,              /* the panels; what follows is only exported */
	PLOT_WINDOW = PLOT_WHATS, PLOT_ADVICE, PLOT_EXPORTS
};

enum { PLOT_PARTS = 200, PLOT_PART_VALUES = 50 };

struct plot_point {
	double t, v;             /* s, the same time line for all files; bit/s, s, bytes or a number */
};

/* At most a few thousand points: of more points, the minima and maxima are kept. */
struct plot_series {
	struct plot_point *at;
	size_t n;
	bool steps;              /* a value holds until the next value */
};

/* The time line has n equal parts. The percentiles of a part are points of the lines. */
struct plot_parts {
	struct ccs_hist **hist;  /* the values of each part; NULL: no value yet */
	unsigned n;              /* 0: too few values */
	uint64_t values;         /* in the first pass */
};

struct plot_flow {
	unsigned source;         /* number of the file */
	uint64_t id;             /* within it */
	unsigned pid;            /* 0: unknown */
	char process[160];       /* program, rank and host, if the file names them */
	char owner[48];          /* the process and its rank, if the legend needs them */
	char peer[INET6_ADDRSTRLEN]; /* "": unknown */
	char label[48];          /* "": the queue pair's number is its label */
	char name[160];
	double bytes;            /* acknowledged */
	uint64_t rows;           /* used if the file has no bytes */
	bool shown;
	struct plot_series of[PLOT_WHATS];
	struct ccs_hist *hist;   /* of plot.cdf; NULL: no value yet */
	struct plot_parts parts[PLOT_WHATS]; /* of RTTs and bytes in flight */
	double cnps, origin, max_rate; /* used by the reader */
	uint64_t track;          /* process ID in the export */
	double exported[PLOT_EXPORTS]; /* the latest values */
};

#define PLOT_ANY_QP UINT32_MAX

struct plot {
	const char *out;         /* the picture's name */
	char title[256];
	bool script;             /* print the commands for gnuplot instead */
	struct ccs_json *json;   /* export to it instead; NULL: draw a picture */
	unsigned most;           /* flows */
	unsigned qp;             /* draw only this QP; or PLOT_ANY_QP */
	int cdf;                 /* enum plot_what; -1: all, over time */
	bool values;             /* the second pass */
	struct plot_flow **flow; /* in the order of their first rows */
	unsigned n;
	void *tree;              /* the same flows, for searching */
	double latest, t0;       /* last and first point of the time line, s */
	struct {
		double first, last;
	} span[PLOT_WHATS];      /* times of the first and last value in parts, of all flows */
};

extern const char *const plot_words[PLOT_WHATS]; /* as --cdf names them */

/* plot_data.c. Find or create a flow; NULL: no memory, after printing an error. */
struct plot_flow *plot_flow(struct plot *p, unsigned source, uint64_t id);
/* Add a value of a flow that is drawn, in the second pass. NAN and infinity are ignored. */
int plot_add(struct plot *p, struct plot_flow *flow, enum plot_what what, double t, double v);
/* Add an RTT, or bytes in flight, for the lines of percentiles, in both passes. */
int plot_add_to_part(struct plot *p, struct plot_flow *flow, enum plot_what what, double t, double v);
/* Between the passes: mark the busiest flows. Returns the number that is drawn. */
unsigned plot_choose(struct plot *p);
void plot_free(struct plot *p);

/* plot_trace.c, plot_stat.c, plot_bench.c: one pass over a file. 0, or -1 after printing an error. */
typedef int plot_reader(struct plot *p, unsigned source, const char *file);
plot_reader plot_read_trace, plot_read_stat, plot_read_bench;

/* plot_export.c: the Trace Event Format, which Perfetto and Chrome read. */
bool plot_is_export(const char *file);
/* Between the passes: name processes and flows. */
void plot_export_begin(struct plot *p);
/* In the second pass. An instant is written only if there is an export. */
void plot_export_value(struct plot *p, struct plot_flow *flow, enum plot_what what, double t, double v);
void plot_export_instant(struct plot *p, struct plot_flow *flow, const char *name, double t);

/* plot_draw.c. 0, or -1 if no value is to be drawn. */
int plot_draw(const struct plot *p, FILE *script);

#endif
