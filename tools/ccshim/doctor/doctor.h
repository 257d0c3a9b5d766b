/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_DOCTOR_H
#define CCS_TOOLS_DOCTOR_H
/*
 * ccshim doctor: reads the counters of RDMA devices twice, and states what their increase means.
 * A reading is taken from this host, or from a directory in which it was recorded: DIR/sys as in
 * /sys, DIR/nic/INTERFACE as tools/ccshim/check/nic.h describes it, and there the file qdisc with
 * lines "drops: N" and "marks: N"; DIR/agent, what ccshimd --status prints; DIR/stat, what
 * ccshim stat --reset FILE writes.
 */
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/ccshim/check/nic.h"
#include "tools/ccshim/stat/stat.h"
#include "tools/common/qdisc_stats.h"

/* Where a counter was read; names are unique within a source only. */
enum doctor_source { DOCTOR_HW, DOCTOR_PORT, DOCTOR_ETHTOOL, DOCTOR_NETDEV, DOCTOR_QDISC, DOCTOR_SOURCES };

struct doctor_counter {
	enum doctor_source source;
	char name[64];
	uint64_t value;
};

/* A port of an RDMA device, and its interface. */
struct doctor_port {
	char device[64], interface[IF_NAMESIZE + 1];
	unsigned port;
	double speed_bps;                /* 0: unknown */
	long mtu;                        /* the interface's; -1: unknown */
	long np, rp;                     /* DCQCN of the NIC, receiver and sender: 1, 0; -1: unknown */
	bool has_dcb;
	struct nic_dcb dcb;
	struct doctor_counter *counter;
	size_t counters;
};

struct doctor_agent {
	bool present;
	double ce_dropped, cnps_sent, cnps_received;
};

struct doctor_reading {
	struct doctor_port *port;
	size_t ports;
	struct doctor_agent agent;
	struct stat_snapshot stat;
};

/* doctor_read.c. root: "" for this host. Free the reading with doctor_free(). */
void doctor_read(struct doctor_reading *r, const char *root, unsigned priority);
void doctor_free(struct doctor_reading *r);

/* doctor_qdisc.c. Drops and marks of an interface's qdiscs; false: they do not count. */
bool doctor_read_qdisc(const char *root, const char *interface, struct qdisc_stats *q);

/* -- findings ---------------------------------------------------------------------------------- */

enum doctor_severity { DOCTOR_NOTE, DOCTOR_PROBLEM };

/* A number that a finding rests on. */
struct doctor_figure {
	char name[80];
	double value;                    /* the increase, if it is a counter */
	bool is_counter;
};

enum { DOCTOR_FIGURES = 24 };

struct doctor_finding {
	const char *verdict;             /* a word that does not change between versions */
	enum doctor_severity severity;
	char where[160], text[512];
	const char *remedy;
	struct doctor_figure figure[DOCTOR_FIGURES];
	unsigned figures;
};

struct doctor {
	double interval_s, unix_s;       /* unix_s: time of the second reading */
	unsigned priority;               /* of RDMA traffic */
	struct doctor_reading before, after;
	int traffic;                     /* as doctor_traffic(), of all ports */
	struct doctor_finding *finding;
	size_t findings;
};

/* doctor_finding.c */
void doctor_report(struct doctor *d, const struct doctor_finding *f);
void doctor_add_figure(struct doctor_finding *f, bool is_counter, double value, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
unsigned doctor_count(const struct doctor *d, enum doctor_severity severity);

/* Two readings of a port. */
struct doctor_pair {
	struct doctor *d;
	const struct doctor_port *was, *is;
};

/* doctor_increase.c */
/* The increase of a counter; 0 if it does not exist, or decreased because it was reset. */
double doctor_increase(const struct doctor_pair *p, enum doctor_source source, const char *name);
/* The sum of increases of the counters in a list that ends with NULL; each becomes a figure. */
double doctor_gather(struct doctor_finding *f, const struct doctor_pair *p, enum doctor_source source,
		     const char *const *names);
bool doctor_has(const struct doctor_port *p, enum doctor_source source, const char *name);
struct doctor_finding doctor_finding_at(const struct doctor_pair *p, const char *verdict,
					enum doctor_severity severity);
/* Whether RDMA packets were counted in the interval: 1, 0; -1: no counter of them is known. */
int doctor_traffic(const struct doctor_pair *p);

/* Verdicts: doctor_ports.c, doctor_pauses.c, and doctor_flows.c, which judges ccshim's statistics. */
void doctor_judge_port(const struct doctor_pair *p);
void doctor_judge_pauses(const struct doctor_pair *p);
/* first: the port's findings begin there. */
void doctor_judge_dcqcn(const struct doctor_pair *p, size_t first);
void doctor_judge_flows(struct doctor *d);
/* Count the queue pairs that ccshim controls or only observes at the second reading. */
void doctor_count_controlled(const struct doctor *d, uint64_t *controlled, uint64_t *observed);

/* doctor_print.c */
void doctor_print(const struct doctor *d);
bool doctor_print_json(const struct doctor *d); /* false: standard output failed */

#endif
