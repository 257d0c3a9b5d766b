/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_REPLAY_H
#define CCS_TOOLS_REPLAY_H
/* Reads the events of a trace, line by line; ccshim-replay(1) documents the format. */
#include <stdbool.h>
#include <stdio.h>

#include "cc/event.h"

#define REPLAY_FIELDS_MAX 128 /* per line */

enum replay_column {
	COL_T_US, COL_T_NS, COL_EVENT, COL_QP, COL_RTT_US, COL_RTT_NS, COL_BYTES, COL_ACK_SEQ,
	COL_SND_NXT, COL_INFLIGHT, COL_PATH, COL_FLOWS, COL_HOPS, COL_COVERS, COL_ADVISED, COL_NIC_WAIT,
	COL_SET,
	COL_RATE, COL_WINDOW, COL_CLOCK, COL_PID, COL_PROGRAM, COL_HOST, COL_RANK,
	REPLAY_COLUMNS
};

extern const char *const replay_column_names[REPLAY_COLUMNS];

/* Texts are "" and pid is 0 if they are not recorded. Texts have no comma, quote or '#'. */
struct replay_process {
	unsigned pid;
	char program[64], host[64], rank[16];
	unsigned next;           /* 1 + an older process whose PID has the same hash, or 0 */
};

enum { REPLAY_CHAINS = 4096 };

struct replay_row {
	struct ccs_cc_event ev; /* out: the recorded decision; NAN: not recorded */
	const char *event;       /* its name */
	double clock_us;         /* the host's clock; NAN: not recorded */
	bool has_qp;
	uint32_t qp;
	unsigned process;        /* index into replay_file.process */
};

struct replay_file {
	FILE *file;
	const char *cmd;         /* the subcommand that reads it */
	const char *name;        /* for messages */
	unsigned long line;      /* number of the current one */
	unsigned needs;          /* CCS_NEEDS_* of the algorithm */
	double segment;          /* bytes acknowledged by an ack without a number */
	unsigned fields;
	unsigned char column[REPLAY_FIELDS_MAX]; /* by field; REPLAY_COLUMNS: ignored */
	bool has[REPLAY_COLUMNS];
	bool whole_lines;        /* ignore a last line without a newline, and set cut */
	bool cut;
	bool empty;              /* there is no line but comments */
	bool report_unknown;     /* print a message for each column that is ignored */
	struct replay_process *process; /* the processes so far */
	unsigned processes;
	unsigned chain[REPLAY_CHAINS]; /* 1 + the newest process by its PID's hash, or 0 */
	unsigned latest;         /* the process whose description was read last */
	/* NULL, or called when a queue pair is connected to a peer with that address. */
	void (*handle_peer)(void *arg, unsigned process, uint32_t qp, const char *address);
	void *arg;
	uint64_t lost;           /* events so far that the recorder dropped */
	char *text[REPLAY_COLUMNS]; /* fields of the current line; NULL: no such column */
	char buf[65536];
};

/* Open a trace, "-" for standard input, and read the header. 0, or -1 after printing an error. */
int replay_open(struct replay_file *f, const char *path);
void replay_close(struct replay_file *f);

/* Read the next event: 1, 0 at the end, -1 after printing an error with line and column. */
int replay_next(struct replay_file *f, struct replay_row *row);

/* Print a message if the end is missing or the recorder dropped events. */
void replay_report_incomplete(const struct replay_file *f);

/* Print all events of the files as one table. Returns an exit status. */
int replay_print_table(char **files);

/* Print "FILE:LINE: column NAME: text" to stderr; returns -1. REPLAY_COLUMNS: without a column. */
int replay_fault(const struct replay_file *f, enum replay_column column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
