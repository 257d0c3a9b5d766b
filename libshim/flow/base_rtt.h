/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_RTT_H
#define CCS_BASE_RTT_H
/*
 * The base RTT of a path, a windowed minimum: the least RTT of the present window of 10 s and of
 * the previous window. A shorter path takes effect with the first sample, a longer path after 10
 * to 20 s.
 *
 * The base RTT is the RTT of a whole segment on the empty path, which includes the segment's time
 * on the slowest link. RTTs of whole segments also include a queue that never empties, so they are
 * limited to the least RTT of any segment plus that time.
 */
#include <stdbool.h>
#include <stdint.h>

struct ccs_base_rtt {
	double any_us[2];        /* least RTT of any segment in this and in the previous window */
	float whole_us[2];       /* least RTT of whole segments only; INFINITY: no sample */
	uint64_t window_ns;      /* when this window began */
};

void ccs_base_rtt_init(struct ccs_base_rtt *b, uint64_t now_ns);

/*
 * Add a sample. rest_us is the time by which a whole segment would have been longer on a link at
 * line rate, 0 if the segment was whole.
 */
void ccs_base_rtt_add(struct ccs_base_rtt *b, double rtt_us, double rest_us, bool whole,
		      uint64_t now_ns);

/* The base RTT, where a whole segment takes segment_us on the slowest link. INFINITY: no sample. */
double ccs_base_rtt_us(const struct ccs_base_rtt *b, double segment_us);

#endif
