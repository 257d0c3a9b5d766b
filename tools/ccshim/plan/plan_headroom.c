/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan headroom. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "fabric/headroom.h"
#include "plan.h"
#include "tools/common/topology.h"
#include "tools/ccshim/shared/ccshim.h"

static const struct plan_option options[] = {
	{ "rate", "RATE", "100g", "line rate of the port", "!all" },
	{ "cable", "LENGTH", "100m", "length of the cable", "!all" },
	{ "mtu", "SIZE", "1500", "longest frame, in transmission at each end", NULL },
	{ "t0", "TIME", "1.5us", "delay of both devices, or standard (802.3)", NULL },
	{ "velocity", "M_PER_S", "2e8", "speed of the signal in the cable", NULL },
	{ "slot", "BITS", "672", "smallest frame with preamble and gap", NULL },
	{ "cell", "SIZE", "256", "cell of the switch's buffer", NULL },
	{ "all", "FILE", NULL, "each link of a topology file instead of one port", NULL },
	{ 0 }
};

static const struct plan_formula formulas[] = {
	{ "H = ceil(T * rate / slot), one cell for each of the smallest frames",
	  "UCloud's article, section Headroom" },
	{ "if it is more, H = the most cells that T * rate bits fill: a frame of f bytes, from the smallest "
	  "to the MTU, takes ceil(f / cell) cells and 8 * (f + 20) bits", "derived" },
	{ "T = Tm1 + Tr1 + Tm2 + Tr2: until the PAUSE frame is sent, on the cable, until the peer stops, "
	  "on the cable", "UCloud's article, section Headroom" },
	{ "Tr1 = Tr2 = length / velocity", "UCloud's article, section Headroom" },
	{ "Tm1 + Tm2 = t0 + 2 * 8 * mtu / rate: the article calls it constant, but no constant gives both "
	  "of its values; a frame in transmission at each end does", "derived" },
	{ "t0 = standard: 67, 80, 118, 147, 394, 453, 905, 905 quanta of 512 bits at 10, 25, 40, 50, 100, 200, "
	  "400, 800 Gb/s", "802.3, 31B.3.7, for PFC of 802.1Qbb; 800 Gb/s as in SONiC" },
	{ 0 }
};

/* Buffers have some 100 000 cells and 100 MB. */
#define CELLS_MAX 1000000000ull
#define BYTES_MAX (1ull << 40)

struct ccs_headroom plan_headroom_options(struct plan *p, double *velocity)
{
	struct ccs_headroom h = { 0 };

	*velocity = plan_value(p, "velocity", CCS_UNIT_NONE);
	h.t0_us = strcmp(plan_text(p, "t0"), "standard") ? plan_value_or_0(p, "t0", CCS_UNIT_TIME) : NAN;
	h.mtu_bytes = plan_value_or_0(p, "mtu", CCS_UNIT_BYTES);
	h.slot_bits = plan_value(p, "slot", CCS_UNIT_NONE);
	h.cell_bytes = plan_value(p, "cell", CCS_UNIT_BYTES);
	if (h.mtu_bytes > 0 && h.slot_bits > 8 * (h.mtu_bytes + CCS_FRAME_GAP))
		plan_refuse(p, "mtu", "a frame of %g bytes is shorter than the smallest one, of --slot", h.mtu_bytes);
	return h;
}

void plan_set_rate(struct plan *p, struct ccs_headroom *h, double rate_bps)
{
	h->rate_bps = rate_bps;
	if (!isnan(h->t0_us))
		return;
	h->t0_us = ccs_headroom_response_us(rate_bps);
	if (isnan(h->t0_us))
		plan_refuse(p, "t0", "802.3 has no value for ports of %s; give a time", plan_rate_text(rate_bps));
}

static struct ccs_headroom read_port(struct plan *p, double *velocity)
{
	struct ccs_headroom h = plan_headroom_options(p, velocity);

	if (!plan_text(p, "all"))
		plan_set_rate(p, &h, plan_value(p, "rate", CCS_UNIT_RATE));
	h.cable_us = ccs_headroom_cable_us(plan_value_or_0(p, "cable", CCS_UNIT_LENGTH), *velocity);
	return h;
}

static void print_json(struct plan *p, const struct ccs_headroom *h, const struct ccs_headroom_need *need)
{
	ccs_json_uint(&p->j, "cells", need->cells);
	ccs_json_uint(&p->j, "bytes", need->bytes);
	ccs_json_object(&p->j, "terms_ns");
	ccs_json_num(&p->j, "tm1", need->tm1_us * 1000);
	ccs_json_num(&p->j, "tr1", need->tr1_us * 1000);
	ccs_json_num(&p->j, "tm2", need->tm2_us * 1000);
	ccs_json_num(&p->j, "tr2", need->tr2_us * 1000);
	ccs_json_end(&p->j);
	ccs_json_num(&p->j, "total_ns", need->total_us * 1000);
	ccs_json_num(&p->j, "standard_t0_ns", ccs_headroom_response_us(h->rate_bps) * 1000);
}

static void print_table(const struct ccs_headroom *h, const struct ccs_headroom_need *need)
{
	const double standard = ccs_headroom_response_us(h->rate_bps);

	printf("Headroom of a port of %s: %" PRIu64 " cells (%" PRIu64 " bytes)\n\n",
	       plan_rate_text(h->rate_bps), need->cells, need->bytes);
	printf("  Tm1  XOFF mark reached until the PAUSE frame is sent  %9.1f ns\n", need->tm1_us * 1000);
	printf("  Tr1  the PAUSE frame on the cable                     %9.1f ns\n", need->tr1_us * 1000);
	printf("  Tm2  the PAUSE frame received until the peer stops    %9.1f ns\n", need->tm2_us * 1000);
	printf("  Tr2  the peer's last bit on the cable                 %9.1f ns\n", need->tr2_us * 1000);
	printf("  T    sum; t0 is divided equally between Tm1 and Tm2   %9.1f ns\n",
	       need->total_us * 1000);
	if (!isnan(standard))
		printf("  t0 may be, by 802.3, at this rate                     %9.1f ns\n", standard * 1000);
	printf("\nThis is the least; real switches get a margin.\n");
}

static int plan_port(struct plan *p)
{
	double velocity;
	const struct ccs_headroom h = read_port(p, &velocity);
	struct ccs_headroom_need need;

	if (p->failed)
		return EXIT_USAGE;
	need = ccs_headroom_need(&h);
	if (need.cells > CELLS_MAX || need.bytes > BYTES_MAX) {
		plan_refuse(p, "rate", "with this cable, MTU and t0 the headroom is %" PRIu64
			    " cells, more than a buffer has", need.cells);
		return EXIT_USAGE;
	}
	if (p->json)
		print_json(p, &h, &need);
	else
		print_table(&h, &need);
	return EXIT_OK;
}

static void print_link(struct plan *p, struct ccs_headroom h, const struct topology_link *l)
{
	struct ccs_headroom_need need;

	plan_set_rate(p, &h, l->rate_bps);
	if (p->failed)
		return;
	h.cable_us = l->delay_us;
	need = ccs_headroom_need(&h);
	if (!p->json) {
		printf("  %4u  %4u  %-9s  %9.1f  %6" PRIu64 "  %8" PRIu64 "\n", l->from, l->to,
		       plan_rate_text(h.rate_bps), h.cable_us * 1000, need.cells, need.bytes);
		return;
	}
	ccs_json_object(&p->j, NULL);
	ccs_json_uint(&p->j, "from", l->from);
	ccs_json_uint(&p->j, "to", l->to);
	ccs_json_num(&p->j, "rate_bps", h.rate_bps);
	ccs_json_num(&p->j, "delay_ns", h.cable_us * 1000);
	ccs_json_uint(&p->j, "cells", need.cells);
	ccs_json_uint(&p->j, "bytes", need.bytes);
	ccs_json_end(&p->j);
}

static int plan_links(struct plan *p)
{
	double velocity;
	const struct ccs_headroom h = read_port(p, &velocity);
	struct topology t;

	if (p->failed || !plan_topology(p, "all", &t))
		return EXIT_USAGE;
	if (p->json)
		ccs_json_array(&p->j, "links");
	else
		printf("Headroom at both ends of each link\n\n"
		       "  from    to  rate        delay ns   cells     bytes\n");
	for (unsigned i = 0; i < t.links && !p->failed; i++)
		print_link(p, h, &t.link[i]);
	if (p->json)
		ccs_json_end(&p->j);
	topology_free(&t);
	return EXIT_OK;
}

static int headroom(struct plan *p)
{
	return plan_text(p, "all") ? plan_links(p) : plan_port(p);
}

const struct plan_calc plan_headroom = {
	.name = "headroom", .doc = "cells above the XOFF mark, from rate and cable length",
	.options = options, .formulas = formulas, .main = headroom,
};
