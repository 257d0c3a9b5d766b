/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_TOP_H
#define CCS_TOOLS_TOP_H
/* ccshim top: a screen of the busiest flows, renewed at an interval. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/ccshim/stat/stat.h"

enum top_order { TOP_BY_GATED, TOP_BY_GOODPUT, TOP_BY_RATE, TOP_BY_RTT, TOP_BY_PROGRAM, TOP_ORDERS };

struct top_row {
	const struct stat_process *process;
	const struct stat_qp *qp;        /* the increase in the interval */
	enum stat_limit limit;
	double goodput_bps, gated;       /* gated: share of the time */
	double share;                    /* as stat_share() */
	double p50_us, p99_us;           /* 0: there was no RTT */
};

struct top_view {
	enum top_order order;
	char filter[64];                 /* part of a program's name, of a peer's address, or a PID */
	enum stat_by by;
	bool paused, typing, help;       /* typing: the filter is being edited; help: the keys are shown */
	size_t first;                    /* flows above the first line; top_page() limits it */
	double interval_s;
	bool colour;
	size_t rows, columns;            /* rows 0: as many as there are */
};

/* top_rows.c */
/* Keep the flows that the view's filter selects, and sum them up. -1: no memory. */
int top_select(struct stat_snapshot *s, const struct top_view *v);
/* s: the increase in an interval. Busy flows come first, each kind in the view's order. Returns the
 * number of rows; *rows is malloc()ed and points into s. */
size_t top_rows(const struct stat_snapshot *s, const struct top_view *v, struct top_row **rows);
/* The order of that name; TOP_ORDERS if it is unknown. */
enum top_order top_order_of(const char *name);
extern const char *const top_orders[TOP_ORDERS];

/* top_page.c: the page as text; its lines are no longer than v->columns. */
enum { TOP_LINES_AROUND = 4 };           /* lines of a page that are no flows */
void top_page(const struct stat_snapshot *s, struct top_view *v, FILE *out);

/* top_screen.c: the alternate screen of a terminal, and its keys. */
bool top_screen_open(void);
void top_screen_close(void);
/* The terminal's size, or 24 by 80 if it is unknown. */
void top_screen_size(size_t *rows, size_t *columns);
/* Replace what is on the screen by the text, or its first rows. */
void top_screen_draw(const char *text, size_t rows);
/* Wait for a key: its code, TOP_TIMEOUT, TOP_REDRAW after a change of size, or TOP_QUIT. */
enum {
	TOP_TIMEOUT = 256, TOP_REDRAW, TOP_QUIT,
	TOP_UP, TOP_DOWN, TOP_PAGE_UP, TOP_PAGE_DOWN, TOP_HOME, TOP_END, TOP_OTHER_KEY
};
int top_screen_key(double seconds);

#endif
