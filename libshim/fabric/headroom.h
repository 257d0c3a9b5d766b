/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_HEADROOM_H
#define CCS_FABRIC_HEADROOM_H
/*
 * How many cells of buffer a lossless priority of a port needs above its XOFF water mark: what
 * still arrives between the decision to pause the peer and the last bit of the peer's traffic.
 * Pure.
 */
#include <stdint.h>

enum { CCS_FRAME_GAP = 20 }; /* bytes of preamble and gap, which no buffer stores */

/* A port, its cable and the assumptions. Rates in bit/s, times in us; all are positive, except
 * that cable_us and t0_us may be 0. */
struct ccs_headroom {
	double rate_bps;
	double cable_us;    /* one way */
	double t0_us;       /* delay in the devices at both ends, beside frames and cable */
	double mtu_bytes;   /* the longest frame, which delays a PAUSE frame or the stop */
	double slot_bits;   /* the smallest frame's share of the line, with preamble and gap */
	double cell_bytes;
};

/* The four parts of the time from the decision to the last bit, T = Tm1 + Tr1 + Tm2 + Tr2. */
struct ccs_headroom_need {
	double tm1_us, tr1_us, tm2_us, tr2_us, total_us;
	uint64_t cells, bytes;
};

/* Delay of a cable, us; velocity in m/s. */
double ccs_headroom_cable_us(double metres, double velocity);

/* The time, in us, in which 802.3, 31B.3.7, requires a port of this rate to react to a PAUSE frame:
 * quanta of 512 bits. NAN for a rate without a published value. */
double ccs_headroom_response_us(double rate_bps);

/*
 * The most cells that this many bits of the line fill. A frame of f bytes takes ceil(f / cell_bytes)
 * cells and 8 * (f + gap) bits, so the worst frames are the smallest, or a byte longer than full cells.
 */
double ccs_headroom_cells(const struct ccs_headroom *h, double bits);

/*
 * The cells of T * rate bits. A frame in transmission delays the PAUSE frame (in Tm1), and
 * another frame delays the stop (in Tm2). Where t0_us arises is unknown; each end gets half.
 */
struct ccs_headroom_need ccs_headroom_need(const struct ccs_headroom *h);

#endif
