/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_FLOW_FIXTURE_H
#define CCS_TESTS_FLOW_FIXTURE_H
/* Fixture for tests of struct ccs_flow: a flow with an algorithm that records its samples. */
#include <math.h>
#include <string.h>

#include "flow/flow.h"
#include "flow_next.h"

/* An algorithm that records its samples, with a fixed rate and window. */
extern const struct ccs_cc_ops spy;
extern double spy_rate, spy_window;      /* when it starts, and again at each CNP */
extern struct ccs_cc_ack acks[64];       /* the last samples, modulo 64 */
extern unsigned ack_count;

/* 8 Gbit/s, so that a byte takes 1 ns; a base RTT of 20 us is given; the flow has no limit. */
struct ccs_flow_config flow_config(double segment);

/* Zero and set up a flow that the spy controls; forgets earlier samples. */
void open_flow(struct ccs_flow *f, const struct ccs_flow_config *conf, uint32_t wr_limit,
	       uint32_t seg_limit, uint64_t now);
/* The same with short queues, and with slow start over: each sample goes to the spy. */
void open_started(struct ccs_flow *f, const struct ccs_flow_config *conf);
void end_slow_start(struct ccs_flow *f);

/* The completion of that segment and of all before it, seen now. */
void complete_up_to(struct ccs_flow *f, uint64_t number, uint64_t now);
/* Send a whole segment and complete it; *now is the time of its completion then. */
void one_round_trip(struct ccs_flow *f, uint64_t *now, double rtt_us);
/* Send four segments at once; *last is the number of the last. */
void send_four(struct ccs_flow *f, uint64_t now, uint64_t *last);
/* The RTT of the spy's last sample. */
double last_rtt(void);

/*
 * Post one WR, without reading the clock if that is possible; true if it was not. Fails the test
 * if the segment is not handed over.
 */
bool is_time_needed(struct ccs_flow *f, uint64_t len, uint32_t flags, uint64_t now);

#endif
