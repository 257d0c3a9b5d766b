/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONTROL_STATE_H
#define CCS_CONTROL_STATE_H
/*
 * Whether an algorithm still has an effect on the queue that its flow meets. It has none while the
 * RTT is far above that of an empty path and the rate is at its floor, or at its upper limit: either
 * traffic that is not controlled fills the queue, or a setting is wrong.
 *
 * The queue of many flows that are all controlled is long, too, but it becomes short at times. That
 * of a flow without control always holds what its application has outstanding. So a sample counts
 * only if its RTT is not far below the average, and the state changes when all samples of a second
 * differ from it, or of CCS_CONTROL_RTTS if these take longer, and CCS_CONTROL_SAMPLES at least. A
 * burst of other traffic is thus not reported, and one low RTT does not end the state. After a
 * pause the second starts again. No clock; times are in ns.
 */
#include <stdint.h>

#define CCS_CONTROL_NS 1000000000ull
#define CCS_CONTROL_PAUSE_NS 4000000000ull
#define CCS_CONTROL_RTTS 100
#define CCS_CONTROL_SAMPLES 16

enum ccs_control {
	CCS_CONTROL_OK,
	CCS_CONTROL_AT_FLOOR,    /* the rate cannot fall any further */
	CCS_CONTROL_AT_LIMIT,    /* the rate does not fall */
};

/* "ok", "at-floor" and "at-limit". */
extern const char *const ccs_control_names[];

struct ccs_control_state {
	uint64_t since_ns;               /* samples show `next`, not `now`; with samples */
	float average_us;                /* of RTTs */
	enum ccs_control now : 8, next : 8;
	uint8_t samples;                 /* so many, up to CCS_CONTROL_SAMPLES; 0: they do not */
};

/*
 * A sample that shows this unless its RTT is far below the average: AT_FLOOR and AT_LIMIT are for
 * RTTs far above that of an empty path. The sample before was at last_ns.
 */
void ccs_control_sample(struct ccs_control_state *c, enum ccs_control shown, double rtt_us,
			uint64_t last_ns, uint64_t now_ns);

#endif
