/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for the queues of a port of a Linux switch. */
#include <math.h>
#include <stdint.h>

#include "plan.h"
#include "plan_qos.h"

/* Burst of a token bucket, and the time that packets may wait for tokens. */
#define BURST_S 0.001
#define LIMIT_S 0.01

/* Bytes of a packet in the kernel, besides its MTU; and how much longer than Kmax RED's queue is. */
enum { STORED_OVERHEAD = 62, DSCP_SHIFT = 2, DSCP_MASK = 0xfc, RED_LIMIT = 4, QUANTUM_MAX = 200000 };

static double frame_bytes(const struct qos *q)
{
	return q->mtu + STORED_OVERHEAD;
}

/* Values for which tc finds no parameters of RED. */
void qos_check_tc(struct plan *p, const struct qos *q)
{
	const double least = (q->red.kmax - q->red.kmin) / 0x1p31;

	if (q->red.kmin < 2 * frame_bytes(q))
		plan_refuse(p, "kmin", "tc needs two packets at least, %.0f bytes", 2 * frame_bytes(q));
	if (RED_LIMIT * q->red.kmax > UINT32_MAX)
		plan_refuse(p, "kmax", "tc has no marks above 1 GB");
	if (q->red.pmax <= least)
		plan_refuse(p, "pmax", "tc needs more than %.3g %% between these marks", 100 * least);
}

/* One queue of the root serves CNPs, the other has the rest. A port may have no root to delete. */
static void print_first(FILE *f, const struct qos *q)
{
	fprintf(f, "tc qdisc del dev %s root 2>/dev/null || true\n", q->dev);
	fprintf(f, "tc qdisc add dev %s root handle 1: prio bands 2"
		" priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", q->dev);
	fprintf(f, "tc qdisc add dev %s parent 1:1 handle %u: tbf rate %.0fbit burst %.0f limit %.0f\n",
		q->dev, 10 + q->first, q->cap_bps, fmax(4 * frame_bytes(q), q->cap_bps / 8 * BURST_S),
		fmax(16 * frame_bytes(q), q->cap_bps / 8 * LIMIT_S));
}

static void print_red(FILE *f, const struct qos *q, unsigned queue)
{
	const double packet = frame_bytes(q);

	fprintf(f, "tc qdisc add dev %s parent 2:%u handle %u: red limit %.0f min %.0f max %.0f"
		" avpkt %.0f burst %.0f bandwidth %.0fbit probability %.6g ecn\n", q->dev, queue + 1,
		10 + queue, RED_LIMIT * q->red.kmax, q->red.kmin, q->red.kmax, packet,
		ceil((2 * q->red.kmin + q->red.kmax) / (3 * packet)),
		fmin(q->rate_bps, 8.0 * UINT32_MAX) /* 32 bits for bytes/s */, q->red.pmax);
}

/* Queue N is class 2:(N + 1), since 2:0 is not a valid class. */
static void print_weighted(FILE *f, const struct qos *q)
{
	double sum = 0, least = INFINITY;

	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++) {
		sum += q->weight[i];
		if (q->weight[i] > 0)
			least = fmin(least, q->weight[i]);
	}
	fprintf(f, "tc qdisc add dev %s parent 1:2 handle 2: htb default %u\n", q->dev, q->map.other + 1);
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++)
		if (q->weight[i] > 0)
			fprintf(f, "tc class add dev %s parent 2: classid 2:%u htb rate %.0fbit ceil %.0fbit"
				" quantum %.0f\n", q->dev, i + 1, q->rate_bps * q->weight[i] / sum, q->rate_bps,
				fmin(2 * frame_bytes(q) * q->weight[i] / least, QUANTUM_MAX));
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++)
		if (q->lossless >> i & 1 && q->weight[i] > 0)
			print_red(f, q, i);
}

/* port 0: any packet with this DSCP. */
static void print_filter(FILE *f, const struct qos *q, unsigned number, unsigned port, unsigned dscp,
			 unsigned queue)
{
	static const char *const protocols[] = { "ip", "ipv6" };
	char match[48] = "", class[16];

	if (port)
		snprintf(match, sizeof(match), " ip_proto udp dst_port %u", port);
	snprintf(class, sizeof(class), queue == q->first ? "1:1" : "2:%u", queue + 1);
	for (unsigned i = 0; i < 2; i++)
		fprintf(f, "tc filter add dev %s parent %s protocol %s prio %u flower%s ip_tos 0x%x/0x%x"
			" classid %s\n", q->dev, queue == q->first ? "1:" : "2:", protocols[i],
			2 * number + i + 1, match, dscp << DSCP_SHIFT, DSCP_MASK, class);
}

void qos_print_tc(FILE *f, const struct qos *q, bool edge)
{
	unsigned number = 0;

	print_first(f, q);
	print_weighted(f, q);
	for (unsigned i = 0; edge && i < q->map.rules; i++)
		print_filter(f, q, number++, q->map.rule[i].udp_dport, q->map.rule[i].dscp,
			     q->map.rule[i].queue);
	for (unsigned dscp = 0; !edge && dscp < CCS_QOS_DSCPS; dscp++)
		if (ccs_qos_inside(&q->map, dscp) != q->map.other)
			print_filter(f, q, number++, 0, dscp, ccs_qos_inside(&q->map, dscp));
	fprintf(f, "# On a port with DCB hardware:\n");
	fprintf(f, "# dcb pfc set dev %s prio-pfc all:off", q->dev);
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++)
		if (q->lossless >> i & 1)
			fprintf(f, " %u:on", i);
	fputc('\n', f);
	for (unsigned dscp = 0; dscp < CCS_QOS_DSCPS; dscp++)
		if (ccs_qos_inside(&q->map, dscp) != q->map.other)
			fprintf(f, "# dcb app add dev %s dscp-prio %u:%u\n", q->dev, dscp,
				ccs_qos_inside(&q->map, dscp));
}
