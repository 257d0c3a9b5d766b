/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/qos.h"

unsigned ccs_qos_edge(const struct ccs_qos *q, unsigned udp_dport, unsigned *dscp)
{
	for (unsigned i = 0; i < q->rules; i++)
		if (q->rule[i].udp_dport == udp_dport && q->rule[i].dscp == *dscp)
			return q->rule[i].queue;
	*dscp = q->remark;
	return q->other;
}

unsigned ccs_qos_inside(const struct ccs_qos *q, unsigned dscp)
{
	return q->inside[dscp % CCS_QOS_DSCPS];
}

double ccs_qos_wait_us(double frame_bytes, double rate_bps)
{
	return 8 * frame_bytes / rate_bps * 1e6;
}

double ccs_qos_cnp_bps(double flows, double cnp_bytes, double cnp_interval_us)
{
	return flows * cnp_bytes * 8 * 1e6 / cnp_interval_us;
}
