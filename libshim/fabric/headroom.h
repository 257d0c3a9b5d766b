/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_HEADROOM_H
#define CCS_FABRIC_HEADROOM_H
/*
 * How many cells of buffer a lossless priority of a port needs above its XOFF water mark: what
 * still arrives between the decision to pause the peer and the last bit of the peer's traffic.
 * Pure.
 */
#include <stdint.h>

/* A port, its cable and the assumptions. Rates in bit/s, times in us; all are positive, except
 * that cable_us and t0_us may be 0. */
struct ccs_headroom {
	double rate_bps;
	double cable_us;    /* one way */
	double t0_us;       /* delay in the devices at both ends, beside frames and cable */
	double mtu_bytes;   /* the longest frame that delays a PAUSE frame, or the stop */
	double slot_bits;   /* the smallest frame's share of the line */
	double cell_bytes;
};

/* The four parts of the time from the decision to the last bit, T = Tm1 + Tr1 + Tm2 + Tr2. */
struct ccs_headroom_need {
	double tm1_us, tr1_us, tm2_us, tr2_us, total_us;
	uint64_t cells, bytes;
};

/* Delay of a cable, us; velocity in m/s. */
double ccs_headroom_cable_us(double metres, double velocity);

/*
 * H = ceil(T * rate / slot_bits). A frame in transmission delays the PAUSE frame (in Tm1), and
 * another frame delays the stop (in Tm2). Where t0_us arises is unknown; each end gets half.
 */
struct ccs_headroom_need ccs_headroom_need(const struct ccs_headroom *h);

/* A published headroom, from which the constant of a formula can be computed. */
struct ccs_headroom_row {
	double cells, rate_bps, cable_us;
};

/* An open-closed interval (above, most]. */
struct ccs_interval {
	double above, most;
};

/* All Tm1 + Tm2, in us, for which the row follows from slots of slot_bits. */
struct ccs_interval ccs_headroom_solve_tm(const struct ccs_headroom_row *row, double slot_bits);

/* The same of t0_us, with frames of frame_bytes at both ends. */
struct ccs_interval ccs_headroom_solve_t0(const struct ccs_headroom_row *row, double slot_bits,
					  double frame_bytes);

/* The intersection; empty if !(above < most). */
struct ccs_interval ccs_interval_common(struct ccs_interval a, struct ccs_interval b);

#endif
