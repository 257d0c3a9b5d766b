/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_DOCTOR_H
#define CCS_TOOLS_DOCTOR_H
/*
 * ccshim doctor: reads the counters of RDMA devices twice, and states what their increase means.
 * A reading is taken from this host, or from a directory in which it was recorded: DIR/sys as in
 * /sys, DIR/nic/INTERFACE as tools/ccshim/check/nic.h describes it, and there the file qdisc with
 * lines "drops: N" and "marks: N"; DIR/agent, the output of ccshimd --status; DIR/stat, the file that
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

/* The meaning of an increase. "Here" is the receiving end of a request. */
enum doctor_meaning {
	DOCTOR_UNKNOWN,
	DOCTOR_RNR,                      /* RNR NAKs received */
	DOCTOR_RNR_FAILED,               /* requests given up after RNR NAKs */
	DOCTOR_RNR_HERE,                 /* messages that found no receive here */
	DOCTOR_NAK,                      /* NAKs received: a packet is missing at the peer */
	DOCTOR_RESENT,                   /* timeouts and packets sent again */
	DOCTOR_FAILED,                   /* requests given up after timeouts */
	DOCTOR_REORDERED,                /* packets out of sequence here */
	DOCTOR_INVALID,                  /* requests refused as invalid by the peer */
	DOCTOR_LENGTH,                   /* packets or messages of a wrong length here */
	DOCTOR_OVERSIZE,                 /* frames larger than the port accepts */
	DOCTOR_DAMAGED,                  /* CRC, FCS and symbol errors of this link */
	DOCTOR_DAMAGED_BEFORE,           /* packets damaged on an earlier link */
	DOCTOR_ICRC, DOCTOR_DOWN,
	DOCTOR_DISCARD,                  /* packets discarded by the NIC */
	DOCTOR_XMIT_DISCARD,             /* packets discarded by the port before they are sent */
	DOCTOR_NO_ROUTE,                 /* packets without route, or of a wrong VLAN */
	DOCTOR_WAITED,                   /* ticks in which data waited for credits */
	DOCTOR_MARKED, DOCTOR_CNP_SENT, DOCTOR_CNP_HANDLED, DOCTOR_CNP_IGNORED,
	DOCTOR_RX_PAUSE, DOCTOR_TX_PAUSE, /* PAUSE frames, and the time paused */
	DOCTOR_RX_PAUSE_US, DOCTOR_TX_PAUSE_US,
	DOCTOR_STORM, DOCTOR_STALL,      /* storms sent, and stalls of PCIe */
	DOCTOR_RX_BYTES, DOCTOR_TX_BYTES, DOCTOR_RX_RDMA_BYTES, DOCTOR_TX_RDMA_BYTES,
	DOCTOR_RECEIVED, DOCTOR_SENT,    /* RDMA packets */
	DOCTOR_QDISC_DROP, DOCTOR_QDISC_MARK
};

#define DOCTOR_BIT(meaning) (1ull << (meaning))

enum { DOCTOR_NO_PRIORITY = -1 };

struct doctor_counter {
	enum doctor_source source;
	enum doctor_meaning means;
	int priority;                    /* DOCTOR_NO_PRIORITY: it counts all traffic */
	char name[64];
	uint64_t value;
};

/* A port of an RDMA device, with its interface or one that this interface is made of. */
struct doctor_port {
	char device[64], interface[IF_NAMESIZE + 1];
	char driver[64];                 /* "": unknown */
	unsigned port;
	bool is_member;                  /* interface below a bond or VLAN, without the device's counters */
	bool is_software;
	char state[16];                  /* "ACTIVE", "DOWN", "INIT"...; "": unknown */
	double speed_bps;                /* 0: unknown */
	long mtu;                        /* the interface's; -1: unknown */
	long np, rp;                     /* DCQCN of the NIC, receiver and sender: 1, 0; -1: unknown */
	bool has_dcb;
	struct nic_dcb dcb;
	struct doctor_counter *counter;
	size_t counters;
	unsigned denied;                 /* files and directories that the caller may not read */
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

/* doctor_counters.c. The table of names that drivers have for their counters. */
enum doctor_meaning doctor_meaning_of(enum doctor_source source, const char *name, int *priority);

/* doctor_increase.c. False: the counter is new, or was reset, and its increase is not known. */
bool doctor_compare(const struct doctor_pair *p, const struct doctor_counter *c, double *increase);
/* It stays at its maximum until it is reset. */
bool doctor_is_full(const struct doctor_counter *c);
/* The same counter; NULL: the port does not have it. */
const struct doctor_counter *doctor_find_counter(const struct doctor_port *p, const struct doctor_counter *c);
/* 0 if it is not known. */
double doctor_increase(const struct doctor_pair *p, const struct doctor_counter *c);
/*
 * The increase of all counters with a meaning of the mask; each that increased becomes a figure,
 * unless f is NULL. Sources count the same events: the result is the greatest sum of a source.
 */
double doctor_gather(struct doctor_finding *f, const struct doctor_pair *p, uint64_t mask, int priority);
bool doctor_has(const struct doctor_port *p, uint64_t mask, int priority);
/* Whether the increase of a counter with a meaning of the mask is known. */
bool doctor_is_counted(const struct doctor_pair *p, uint64_t mask);
/* The same port in that reading; NULL: it did not exist. */
const struct doctor_port *doctor_find_port(const struct doctor_reading *r, const struct doctor_port *port);
/* The earlier reading of the same port; false: it did not exist. */
bool doctor_make_pair(struct doctor_pair *p, struct doctor *d, const struct doctor_port *is);
struct doctor_finding doctor_finding_at(const struct doctor_pair *p, const char *verdict,
					enum doctor_severity severity);
/* Whether RDMA packets were counted in the interval: 1, 0; -1: it is not known. */
int doctor_traffic(const struct doctor_pair *p);

/* Verdicts: doctor_ports.c, doctor_path.c, doctor_pauses.c, and doctor_flows.c for ccshim's statistics. */
void doctor_judge_port(const struct doctor_pair *p);
/* True: packets are lost because no path exists, not by congestion. */
bool doctor_judge_path(const struct doctor_pair *p);
void doctor_judge_notes(const struct doctor_pair *p);
/* Ports that only one of the readings has, and hosts without ports or packets. */
void doctor_judge_missing(struct doctor *d);
void doctor_judge_pauses(const struct doctor_pair *p);
/* first: the port's findings begin there. */
void doctor_judge_dcqcn(const struct doctor_pair *p, size_t first);
void doctor_judge_flows(struct doctor *d);
/* Count the queue pairs that ccshim controls or only observes at the second reading. */
void doctor_count_controlled(const struct doctor *d, uint64_t *controlled, uint64_t *observed);

/* doctor_failures.c. Print the account of these files, or the record of a live process; the status. */
int doctor_merge(int count, char **files, bool json);
int doctor_record(pid_t pid);

/* doctor_print.c */
void doctor_print(const struct doctor *d);
bool doctor_print_json(const struct doctor *d); /* false: standard output failed */

#endif
