/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_REPLAY_H
#define CCS_TOOLS_REPLAY_H
/* The events of a trace, line by line; ccshim-replay(1) has the format. */
#include <stdbool.h>
#include <stdio.h>

#include "cc/told.h"

#define REPLAY_FIELDS_MAX 128 /* of a line */

enum replay_column {
	COL_T_US, COL_T_NS, COL_EVENT, COL_QP, COL_RTT_US, COL_RTT_NS, COL_BYTES, COL_ACK_SEQ,
	COL_SND_NXT, COL_INFLIGHT, COL_PATH, COL_FLOWS, COL_HOPS, COL_COVERS, COL_ADVISED, COL_NIC_WAIT,
	COL_SET,
	COL_RATE, COL_WINDOW, COL_CLOCK,
	REPLAY_COLUMNS
};

struct replay_row {
	struct ccs_told told;    /* out: what was recorded, NAN where nothing was */
	const char *event;       /* its word */
	double clock_us;         /* on the host's time line; NAN: not recorded */
	bool has_qp;
	uint32_t qp;
};

struct replay_file {
	FILE *file;
	const char *cmd;         /* the subcommand that reads it */
	const char *name;        /* for people */
	unsigned long line;      /* number of the current one */
	unsigned needs;          /* the algorithm's, CCS_NEEDS_* */
	double segment;          /* bytes that an ack without a number acknowledges */
	unsigned fields;
	unsigned char column[REPLAY_FIELDS_MAX]; /* of each field; REPLAY_COLUMNS: ignored */
	bool has[REPLAY_COLUMNS];
	bool whole_lines;        /* a last line without its end does not count, but is ... */
	bool cut;
	uint64_t lost;           /* events so far that were too many to be recorded */
	char *text[REPLAY_COLUMNS]; /* of the current line; NULL: no such column */
	char buf[65536];
};

/* Open it, "-" for standard input, and read the header. 0, or -1 after a complaint. */
int replay_open(struct replay_file *f, const char *path);
void replay_close(struct replay_file *f);

/* The next event: 1, 0 at the end, -1 after a complaint that names line and column. */
int replay_next(struct replay_file *f, struct replay_row *row);

/* "FILE:LINE: column NAME: text" to stderr; gives -1. REPLAY_COLUMNS: of no column. */
int replay_fault(const struct replay_file *f, enum replay_column column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
