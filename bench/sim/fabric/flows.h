/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_FLOWS_H
#define BENCH_SIM_FLOWS_H
/*
 * Flows to be run, as in the HPCC simulator's files: a line with their number, and for each a line
 * "SOURCE DESTINATION PRIORITY PORT BYTES SECONDS"; the last is when it starts.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

enum { FAB_WAITS = 2 };

/* The flow layer's hosts distinguish them. */
enum fab_verb { FAB_WRITE, FAB_READ, FAB_SEND };

struct fab_flow_spec {
	unsigned src, dst;       /* nodes */
	unsigned priority, port; /* 0 to 7; the destination's UDP port, by which paths are chosen */
	uint64_t size;           /* bytes */
	uint64_t message;        /* bytes of each message; 0: one message */
	uint64_t start;          /* ps */
	enum fab_verb verb;
	unsigned id;             /* the order in which they were added; set by fab_flows_add */
	/* Message m is posted when message m - lag of these flows was received: id + 1; 0: of none. */
	unsigned after[FAB_WAITS], lag;
	/* Flows of a group have operations of `messages` messages each; lag counts within one. A group's
	 * next operation begins `pause` after all messages of the one before were received. */
	unsigned group;          /* 0: no operations */
	unsigned messages;
	unsigned tenant;         /* 0: of no tenant */
	uint64_t pause;          /* ps */
	bool unmeasured;         /* claims and probes: in no figures, and links lose none of their packets */
	unsigned depth;          /* messages outstanding without any control; 0: an algorithm controls */
	double first_rate, max_rate; /* bit/s; 0: as the algorithm chooses, any */
};

struct fab_flows {
	unsigned n;
	struct fab_flow_spec *flow; /* in the order of their starts */
};

struct topology;

/* Flows between hosts of t. False with a sentence in err. */
bool fab_flows_read(struct fab_flows *f, const char *path, const struct topology *t, char *err, size_t len);
void fab_flows_add(struct fab_flows *f, struct fab_flow_spec flow);
void fab_flows_sort(struct fab_flows *f); /* after the last was added; keeps equal starts' order */
void fab_flows_free(struct fab_flows *f);

#endif
