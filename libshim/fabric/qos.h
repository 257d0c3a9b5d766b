/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_QOS_H
#define CCS_FABRIC_QOS_H
/*
 * Queues of a RoCE network: which packets go to which queue at its edge and inside, and how long a
 * CNP waits. Pure.
 */

enum { CCS_QOS_RULES = 16, CCS_QOS_DSCPS = 64, CCS_QOS_QUEUES = 8 };

/* At the edge: packets to this UDP port with this DSCP. */
struct ccs_qos_rule {
	unsigned udp_dport, dscp, queue;
};

struct ccs_qos {
	struct ccs_qos_rule rule[CCS_QOS_RULES];
	unsigned rules;
	unsigned remark, other;               /* DSCP and queue of all other packets at the edge */
	unsigned char inside[CCS_QOS_DSCPS];  /* the queue of each DSCP */
};

/* The queue of a packet that comes in at the edge, and its DSCP inside the fabric. */
unsigned ccs_qos_edge(const struct ccs_qos *q, unsigned udp_dport, unsigned *dscp);

/* The queue of a packet inside. DSCPs above 63 are taken modulo 64. */
unsigned ccs_qos_inside(const struct ccs_qos *q, unsigned dscp);

/* The most that a packet of the first queue waits at a port: one frame in transmission. us */
double ccs_qos_wait_us(double frame_bytes, double rate_bps);

/* Rate of CNPs, bit/s, if each flow sends cnp_bytes per interval. */
double ccs_qos_cnp_bps(double flows, double cnp_bytes, double cnp_interval_us);

#endif
