/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan headroom. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/headroom.h"
#include "plan.h"
#include "tools/common/topology.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/terminal.h"

static const struct plan_option options[] = {
	{ "rate", "RATE", "100g", "line rate of the port" },
	{ "cable", "LENGTH", "100m", "length of the cable" },
	{ "mtu", "SIZE", "1500", "frame that may be in transmission at each end" },
	{ "t0", "TIME", "1.5us", "delay of both devices, without frames, cable" },
	{ "velocity", "M_PER_S", "2e8", "speed of the signal in the cable" },
	{ "slot", "BITS", "672", "smallest frame with preamble and gap" },
	{ "cell", "SIZE", "256", "cell of the switch's buffer" },
	{ "all", "FILE", NULL, "each link of a topology file instead of one port" },
	{ "solve", "N@RATE/LENGTH", NULL, "compute the constants from published cells" },
	{ 0 }
};

static const struct plan_formula formulas[] = {
	{ "H = ceil(T * rate / slot), one cell for each of the smallest frames",
	  "UCloud's article, section Headroom" },
	{ "T = Tm1 + Tr1 + Tm2 + Tr2: until the PAUSE frame is sent, on the cable, until the peer stops, "
	  "on the cable", "UCloud's article, section Headroom" },
	{ "Tr1 = Tr2 = length / velocity", "UCloud's article, section Headroom" },
	{ "Tm1 + Tm2 = t0 + 2 * 8 * mtu / rate: the article calls it constant, but no constant gives both "
	  "of its values; a frame in transmission at each end does (--solve)", "derived" },
	{ 0 }
};

/* Buffers have some 100 000 cells and 100 MB. */
#define CELLS_MAX 1000000000ull
#define BYTES_MAX (1ull << 40)

struct ccs_headroom plan_headroom_options(struct plan *p, double *velocity)
{
	struct ccs_headroom h = { 0 };

	*velocity = plan_value(p, "velocity", CCS_UNIT_NONE);
	h.t0_us = plan_value_or_0(p, "t0", CCS_UNIT_TIME);
	h.mtu_bytes = plan_value_or_0(p, "mtu", CCS_UNIT_BYTES);
	h.slot_bits = plan_value(p, "slot", CCS_UNIT_NONE);
	h.cell_bytes = plan_value(p, "cell", CCS_UNIT_BYTES);
	return h;
}

static struct ccs_headroom read_port(struct plan *p, double *velocity)
{
	struct ccs_headroom h = plan_headroom_options(p, velocity);

	h.rate_bps = plan_value(p, "rate", CCS_UNIT_RATE);
	h.cable_us = ccs_headroom_cable_us(plan_value_or_0(p, "cable", CCS_UNIT_LENGTH), *velocity);
	return h;
}

static void print_json(struct plan *p, const struct ccs_headroom_need *need)
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
}

static void print_table(const struct ccs_headroom *h, const struct ccs_headroom_need *need)
{
	printf("Headroom of a port of %s: %" PRIu64 " cells (%" PRIu64 " bytes)\n\n",
	       plan_rate_text(h->rate_bps), need->cells, need->bytes);
	printf("  Tm1  XOFF mark reached until the PAUSE frame is sent  %9.1f ns\n", need->tm1_us * 1000);
	printf("  Tr1  the PAUSE frame on the cable                     %9.1f ns\n", need->tr1_us * 1000);
	printf("  Tm2  the PAUSE frame received until the peer stops    %9.1f ns\n", need->tm2_us * 1000);
	printf("  Tr2  the peer's last bit on the cable                 %9.1f ns\n", need->tr2_us * 1000);
	printf("  T    sum; t0 is divided equally between Tm1 and Tm2   %9.1f ns\n",
	       need->total_us * 1000);
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
		print_json(p, &need);
	else
		print_table(&h, &need);
	return EXIT_OK;
}

/* One "CELLS@RATE/LENGTH". */
static bool parse_row(struct plan *p, char *text, double velocity, struct ccs_headroom_row *row)
{
	char *rate = strchr(text, '@'), *length = rate ? strchr(rate, '/') : NULL;

	if (!length) {
		plan_refuse(p, "solve", "'%s' is not CELLS@RATE/LENGTH, such as 408@100g/100m", text);
		return false;
	}
	*rate++ = *length++ = '\0';
	row->cells = plan_parse(p, "solve", text, CCS_UNIT_NONE);
	row->rate_bps = plan_parse(p, "solve", rate, CCS_UNIT_RATE);
	row->cable_us = ccs_headroom_cable_us(plan_parse(p, "solve", length, CCS_UNIT_LENGTH), velocity);
	return !p->failed;
}

enum { ROWS_MAX = 16 };

static unsigned parse_rows(struct plan *p, double velocity, struct ccs_headroom_row *rows)
{
	char *list = strdup(plan_text(p, "solve")), *at = list, *text;
	unsigned n = 0;

	while (list && (text = strsep(&at, ",")) && n < ROWS_MAX && parse_row(p, text, velocity, rows + n))
		n++;
	free(list);
	return n;
}

static void print_interval(struct plan *p, const char *what, double slot, double frame,
			   struct ccs_interval i)
{
	if (p->json) {
		ccs_json_object(&p->j, NULL);
		ccs_json_str(&p->j, "what", what);
		ccs_json_num(&p->j, "slot_bits", slot);
		ccs_json_num(&p->j, "frame_bytes", frame);
		ccs_json_bool(&p->j, "exists", i.above < i.most);
		ccs_json_num(&p->j, "above_us", i.above);
		ccs_json_num(&p->j, "most_us", i.most);
		ccs_json_end(&p->j);
	} else if (i.above < i.most) {
		printf("  %-9s  %4.0f  %5.0f  (%.4f, %.4f] us\n", what, slot, frame, i.above, i.most);
	} else {
		printf("  %-9s  %4.0f  %5.0f  none\n", what, slot, frame);
	}
}

/* Tm1 + Tm2 of each row and of all, as the article has it: no frames. */
static void solve_constant(struct plan *p, const struct ccs_headroom_row *rows, unsigned n,
			   double slot)
{
	struct ccs_interval all = { -INFINITY, INFINITY };
	char name[16];

	for (unsigned i = 0; i < n; i++) {
		const struct ccs_interval tm = ccs_headroom_solve_tm(rows + i, slot);

		snprintf(name, sizeof(name), "Tm row %u", i + 1);
		print_interval(p, name, slot, 0, tm);
		all = ccs_interval_common(all, tm);
	}
	print_interval(p, "Tm all", slot, 0, all);
}

static void solve_frames(struct plan *p, const struct ccs_headroom_row *rows, unsigned n,
			 double slot, double frame)
{
	struct ccs_interval all = { -INFINITY, INFINITY };

	for (unsigned i = 0; i < n; i++)
		all = ccs_interval_common(all, ccs_headroom_solve_t0(rows + i, slot, frame));
	print_interval(p, "t0 all", slot, frame, all);
}

/* The article counts 64 bytes per slot. On the line a frame also takes 20 bytes of preamble and gap,
 * so the smallest frame has 84 bytes. A long frame also has 18 bytes of header and checksum. */
static int solve(struct plan *p)
{
	enum { SMALLEST_BITS = 512, FRAME_OVERHEAD = 38 };
	struct ccs_headroom_row rows[ROWS_MAX];
	double velocity;
	const struct ccs_headroom h = read_port(p, &velocity);
	const double slots[] = { SMALLEST_BITS, h.slot_bits };
	const unsigned n = parse_rows(p, velocity, rows);

	if (p->failed)
		return EXIT_USAGE;
	if (p->json)
		ccs_json_array(&p->j, "solutions");
	else
		printf("Constants from which all given cells follow: Tm = Tm1 + Tm2 without frames,\n"
		       "t0 with a frame at each end\n\n  constant   slot  frame  interval\n");
	for (unsigned i = 0; i < 2; i++)
		solve_constant(p, rows, n, slots[i]);
	for (unsigned i = 0; i < 2; i++) {
		solve_frames(p, rows, n, slots[i], h.mtu_bytes);
		solve_frames(p, rows, n, slots[i], h.mtu_bytes + FRAME_OVERHEAD);
	}
	if (p->json)
		ccs_json_end(&p->j);
	return EXIT_OK;
}

static void print_link(struct plan *p, const struct ccs_headroom *h, unsigned from, unsigned to)
{
	const struct ccs_headroom_need need = ccs_headroom_need(h);

	if (!p->json) {
		printf("  %4u  %4u  %-9s  %9.1f  %6" PRIu64 "  %8" PRIu64 "\n", from, to,
		       plan_rate_text(h->rate_bps), h->cable_us * 1000, need.cells, need.bytes);
		return;
	}
	ccs_json_object(&p->j, NULL);
	ccs_json_uint(&p->j, "from", from);
	ccs_json_uint(&p->j, "to", to);
	ccs_json_num(&p->j, "rate_bps", h->rate_bps);
	ccs_json_num(&p->j, "delay_ns", h->cable_us * 1000);
	ccs_json_uint(&p->j, "cells", need.cells);
	ccs_json_uint(&p->j, "bytes", need.bytes);
	ccs_json_end(&p->j);
}

static int plan_links(struct plan *p)
{
	double velocity;
	struct ccs_headroom h = read_port(p, &velocity);
	struct topology t;

	if (p->failed || !plan_topology(p, "all", &t))
		return EXIT_USAGE;
	if (p->json)
		ccs_json_array(&p->j, "links");
	else
		printf("Headroom at both ends of each link\n\n"
		       "  from    to  rate        delay ns   cells     bytes\n");
	for (unsigned i = 0; i < t.links; i++) {
		h.rate_bps = t.link[i].rate_bps;
		h.cable_us = t.link[i].delay_us;
		print_link(p, &h, t.link[i].from, t.link[i].to);
	}
	if (p->json)
		ccs_json_end(&p->j);
	topology_free(&t);
	return EXIT_OK;
}

static int headroom(struct plan *p)
{
	if (plan_text(p, "solve"))
		return solve(p);
	return plan_text(p, "all") ? plan_links(p) : plan_port(p);
}

const struct plan_calc plan_headroom = {
	.name = "headroom", .doc = "cells above the XOFF mark, from rate and cable length",
	.options = options, .formulas = formulas, .main = headroom,
};
