/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/portrate.h"

/* One lane's data rate. The codes are InfiniBand's (PortInfo LinkSpeedActive); drivers of
 * Ethernet ports use the nearest code, and 2.5 means 1 Gbit/s there. */
static double lane_rate(unsigned code, bool ethernet)
{
	switch (code) {
	case 1: return ethernet ? 1e9 : 2e9;        /* SDR: 2.5 Gbaud, 8b/10b */
	case 2: return ethernet ? 5e9 : 4e9;        /* DDR */
	case 4: return ethernet ? 10e9 : 8e9;       /* QDR */
	case 8: return 10e9;                        /* FDR10, 64b/66b from here */
	case 16: return ethernet ? 14e9 : 13.64e9;  /* FDR */
	case 32: return 25e9;                       /* EDR */
	case 64: return 50e9;                       /* HDR */
	case 128: return 100e9;                     /* NDR */
	default: return 0;
	}
}

static unsigned lanes(unsigned code)
{
	switch (code) {
	case 1: return 1;
	case 2: return 4;
	case 4: return 8;
	case 8: return 12;
	case 16: return 2;
	default: return 0;
	}
}

double ccs_port_rate(unsigned speed, unsigned width, bool ethernet)
{
	return lane_rate(speed, ethernet) * lanes(width);
}
