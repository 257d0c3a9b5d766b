/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_OPTIONS_H
#define CCFABRIC_OPTIONS_H
/* The command line of `ccfabric run`. */
#include <stdbool.h>
#include <stdint.h>

#include "bench/sim/fabric/fabric.h"

enum { MAX_CHANGES = 64 };

struct options {
	const char *topology, *flows, *routes, *cc;
	const char *priority_cc[FAB_PRIORITIES]; /* NULL: cc */
	const char *json;
	double delay_us, jitter_us, for_us, until_us; /* until: 0: for */
	uint64_t message;        /* bytes of each; 0: a flow is one */
	enum fab_verb verb;
	bool quiet, like_ns3;
	unsigned priority;       /* of generated flows */
	struct link_change {
		enum fab_change_kind kind;
		unsigned a, b;   /* nodes; of FAB_CONVERGE, a alone */
		double at_us;    /* after the first flow's start */
	} change[MAX_CHANGES];
	unsigned changes;
	struct fab_conf conf;    /* without topology, routes, flows and spec */
	struct fab_queue queue[FAB_PRIORITIES];
	struct ccs_qos qos;
	bool ecn;                /* conf.marking was given */
	struct fab_marking marking[FAB_PRIORITIES]; /* memory to which conf.priority_marking points to */
};

extern const char options_usage[];

/* Exits after --help or a mistake, which it has printed. */
void options_parse(struct options *o, int argc, char **argv);

/* Defaults that depend on the links. */
void options_follow_topology(struct options *o, const struct topology *t);

/* Called with the result of a simulation. */
typedef void fab_judge(void *owner, const struct fab_conf *conf, const struct fab_result *r);

#endif
