/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONTROL_STATE_H
#define CCS_CONTROL_STATE_H
/*
 * Whether an algorithm still has an effect on the queue of its flow's path. It has no effect while
 * RTTs are far above the empty path's and the rate is at its floor or at its upper limit: either
 * uncontrolled traffic fills the queue, or a setting is wrong.
 *
 * The queue of many controlled flows may be long as well, but it becomes short at times, while
 * uncontrolled flows keep it long. So a sample counts only if its RTT is not far below the average.
 * The state changes after a second in which each sample differs from it (or after CCS_CONTROL_RTTS
 * if these take longer), and after CCS_CONTROL_SAMPLES at least. A burst of other traffic is not
 * reported, and a single low RTT does not end the state. After a pause the second starts again. No
 * clock; times are in ns.
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
	uint64_t since_ns;               /* time of the first sample that shows `next` */
	float average_us;                /* moving average of the RTT */
	enum ccs_control now : 8;        /* the state */
	enum ccs_control next : 8;       /* the state that recent samples show */
	uint8_t samples;                 /* number of these, at most CCS_CONTROL_SAMPLES */
};

/*
 * Add a sample. shown: the state that it shows, unless its RTT is far below the average; AT_FLOOR
 * and AT_LIMIT are for RTTs far above the empty path's. last_ns: time of the previous sample.
 */
void ccs_control_sample(struct ccs_control_state *c, enum ccs_control shown, double rtt_us,
			uint64_t last_ns, uint64_t now_ns);

#endif
