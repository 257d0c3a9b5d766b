/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan buffer. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/headroom.h"
#include "fabric/mmu.h"
#include "plan.h"
#include "tools/ccshim/shared/ccshim.h"

static const struct plan_option options[] = {
	{ "buffer", "SIZE", "32m", "the switch's buffer", NULL },
	{ "cell", "SIZE", "256", "its unit", NULL },
	{ "ports", "NxRATE:LENGTH", "32x25g:15m,8x100g:100m", "ports and cables", NULL },
	{ "lossless", "N", "1", "lossless priorities", NULL },
	{ "alpha", "FRACTION", "1/8", "PG-Share is alpha times what is free", NULL },
	{ "kmax", "CELLS", "1400cells", "upper mark of ECN", NULL },
	{ "lossy-alpha", "FRACTION", "8", "alpha of a full lossy queue", NULL },
	{ "ingresses", "N", NULL, "ports that send to one [all others]", NULL },
	{ "frame", "SIZE", "9216", "guaranteed to each PG and queue", NULL },
	{ "queue-share", "CELLS", NULL, "static Queue-Share [the whole buffer]", NULL },
	{ "mtu", "SIZE", "1500", "for the headroom, as in 'plan headroom'", NULL },
	{ "t0", "TIME", "1.5us", "for the headroom, or standard", NULL },
	{ "slot", "BITS", "672", "for the headroom", NULL },
	{ "velocity", "M_PER_S", "2e8", "for the headroom", NULL },
	{ 0 }
};

static const struct plan_formula formulas[] = {
	{ "pool = cells - headrooms - guarantees", "UCloud's article, section Lossless" },
	{ "guarantee = one frame of each PG, in cells", "UCloud's article, PG-Guaranteed" },
	{ "PG-Share = remaining buffer * alpha; with n full PGs each has alpha * pool / (1 + n * alpha)",
	  "UCloud's article, PG-Share; its fixed point" },
	{ "(PG-Share + PG-Guarantee + Headroom) * ingresses <= Queue-Share + Queue-Guarantee",
	  "UCloud's article, PG-Share" },
	{ "queues = floor(alpha * pool / (1 + alpha) / Kmax): one ingress divides its share among them",
	  "UCloud's article, PG-Share, on a small alpha" },
	{ "XOFF beside a lossy queue = alpha * pool / (1 + alpha + lossy alpha)",
	  "UCloud's article, Queue-Share, on lossy queues" },
	{ "drain time = 8 * buffer / rate", "UCloud's article, on the delay of a buffer" },
	{ 0 }
};

enum { KINDS_MAX = 32, PORTS_MAX = 4096 };

#define CELLS_MAX (UINT64_C(1) << 40) /* sums over ports and priorities do not overflow */

/* Ports of one rate and cable. */
struct kind {
	unsigned ports;
	double rate_bps;
	uint64_t headroom;
};

struct buffer {
	struct kind kind[KINDS_MAX]; /* the largest headroom first */
	unsigned kinds, ports, lossless, ingresses;
	double bytes, cell_bytes, alpha, lossy_alpha, kmax;
	uint64_t cells, headroom, guarantee, pool;
	uint64_t frame;              /* cells of one guarantee */
	uint64_t right;              /* side of the inequality */
};

static bool parse_kind(struct plan *p, char *text, struct ccs_headroom h, double velocity,
		       struct buffer *b)
{
	char *rate = strchr(text, 'x'), *length = rate ? strchr(rate, ':') : NULL;
	struct kind *kind = &b->kind[b->kinds];
	double ports;

	if (!length || b->kinds == KINDS_MAX) {
		plan_refuse(p, "ports", length ? "more than 32 kinds of ports" :
			    "'%s' is not NxRATE:LENGTH, such as 32x25g:15m", text);
		return false;
	}
	*rate++ = *length++ = '\0';
	ports = plan_parse(p, "ports", text, CCS_UNIT_NONE);
	if (ports != floor(ports) || ports + b->ports > PORTS_MAX)
		plan_refuse(p, "ports", "'%s' is not a number of ports; %d are possible", text, PORTS_MAX);
	kind->rate_bps = plan_parse(p, "ports", rate, CCS_UNIT_RATE);
	plan_set_rate(p, &h, kind->rate_bps);
	h.cable_us = ccs_headroom_cable_us(plan_parse(p, "ports", length, CCS_UNIT_LENGTH), velocity);
	if (p->failed)
		return false;
	kind->ports = (unsigned)ports;
	kind->headroom = ccs_headroom_need(&h).cells;
	b->ports += kind->ports;
	b->kinds++;
	return true;
}

static int larger_headroom(const void *a, const void *b)
{
	const uint64_t x = ((const struct kind *)a)->headroom, y = ((const struct kind *)b)->headroom;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void parse_ports(struct plan *p, struct buffer *b)
{
	double velocity;
	const struct ccs_headroom h = plan_headroom_options(p, &velocity);
	char *list = strdup(plan_text(p, "ports")), *at = list, *text;

	while (!p->failed && list && (text = strsep(&at, ",")) && parse_kind(p, text, h, velocity, b))
		;
	free(list);
	qsort(b->kind, b->kinds, sizeof(*b->kind), larger_headroom);
	if (!p->failed && b->ports < 2)
		plan_refuse(p, "ports", "a switch has at least two");
}

/* The n ports with the most headroom: the worst case of n to 1. */
static uint64_t largest_headrooms(const struct buffer *b, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < b->kinds && n; i++) {
		const unsigned ports = n < b->kind[i].ports ? n : b->kind[i].ports;

		sum += ports * b->kind[i].headroom;
		n -= ports;
	}
	return sum;
}

static void read_sizes(struct plan *p, struct buffer *b)
{
	const char *share = plan_text(p, "queue-share");

	b->bytes = plan_value(p, "buffer", CCS_UNIT_BYTES);
	b->cell_bytes = plan_value(p, "cell", CCS_UNIT_BYTES);
	b->lossless = plan_count(p, "lossless", 1, 8);
	b->alpha = plan_fraction(p, "alpha");
	b->lossy_alpha = plan_fraction(p, "lossy-alpha");
	b->kmax = plan_cells(p, "kmax", plan_text(p, "kmax"), b->cell_bytes);
	b->frame = ccs_mmu_cells(plan_value(p, "frame", CCS_UNIT_BYTES), b->cell_bytes);
	b->cells = (uint64_t)fmin(b->bytes / b->cell_bytes, 0x1p53);
	b->right = b->cells;
	if (share)
		b->right = (uint64_t)fmin(plan_cells(p, "queue-share", share, b->cell_bytes), 0x1p53) +
			   b->frame;
}

static bool read_buffer(struct plan *p, struct buffer *b)
{
	read_sizes(p, b);
	parse_ports(p, b);
	if (p->failed)
		return false;
	b->ingresses = plan_text(p, "ingresses") ? plan_count(p, "ingresses", 1, b->ports - 1)
						 : b->ports - 1;
	for (unsigned i = 0; i < b->kinds; i++)
		if (fmax((double)b->kind[i].headroom, (double)b->frame) > (double)b->cells)
			plan_refuse(p, "buffer", "%" PRIu64 " cells are too few for one port", b->cells);
	if (p->failed || b->cells > CELLS_MAX) {
		plan_refuse(p, "buffer", "it is too large");
		return false;
	}
	b->headroom = largest_headrooms(b, b->ports) * b->lossless;
	b->guarantee = b->ports * b->frame * b->lossless;
	if (b->headroom + b->guarantee >= b->cells)
		plan_refuse(p, "buffer", "%" PRIu64 " cells are too few: headroom needs %" PRIu64
			    ", guarantees need %" PRIu64, b->cells, b->headroom, b->guarantee);
	else
		b->pool = b->cells - b->headroom - b->guarantee;
	return !p->failed;
}

static double share_of(const struct buffer *b, double alpha, unsigned n, double others)
{
	return floor(ccs_mmu_fixed_point((double)b->pool, alpha, n, others));
}

/* Guarantees and headrooms of the n ingresses, without their shares. */
static double fixed_of_ingresses(const struct buffer *b)
{
	return (double)(largest_headrooms(b, b->ingresses) + b->ingresses * b->frame);
}

static double left_side(const struct buffer *b, double alpha)
{
	return floor(b->ingresses * ccs_mmu_fixed_point((double)b->pool, alpha, b->ingresses, 0)) +
	       fixed_of_ingresses(b);
}

static double largest_static_share(const struct buffer *b)
{
	return fmax(floor(((double)b->right - fixed_of_ingresses(b)) / b->ingresses), 0);
}

/* The maximum number of queues that an ingress port fills to `cells` each. */
static double queues_filled(const struct buffer *b, double alpha, double cells)
{
	return floor(ccs_mmu_fixed_point((double)b->pool, alpha, 1, 0) / cells);
}

/* The alphas that switches offer, smallest first. */
static const struct { double alpha; const char *text; } usual[] = {
	{ 1 / 64., "1/64" }, { 1 / 32., "1/32" }, { 1 / 16., "1/16" }, { 1 / 8., "1/8" },
	{ 1 / 4., "1/4" }, { 1 / 2., "1/2" }, { 1, "1" },
};

static void json_alpha(struct plan *p, const struct buffer *b, double alpha)
{
	ccs_json_object(&p->j, NULL);
	ccs_json_num(&p->j, "alpha", alpha);
	ccs_json_num(&p->j, "ingresses", b->ingresses);
	ccs_json_num(&p->j, "each_cells", share_of(b, alpha, b->ingresses, 0));
	ccs_json_num(&p->j, "all_cells",
		     floor(b->ingresses * ccs_mmu_fixed_point((double)b->pool, alpha, b->ingresses, 0)));
	ccs_json_num(&p->j, "left_cells", left_side(b, alpha));
	ccs_json_bool(&p->j, "holds", left_side(b, alpha) <= (double)b->right);
	ccs_json_num(&p->j, "queues_to_kmax", queues_filled(b, alpha, b->kmax));
	ccs_json_num(&p->j, "queues_to_half_kmax", queues_filled(b, alpha, b->kmax / 2));
	ccs_json_end(&p->j);
}

static void print_json(struct plan *p, const struct buffer *b)
{
	const struct kind *slowest = &b->kind[b->kinds - 1];

	ccs_json_uint(&p->j, "cells", b->cells);
	ccs_json_uint(&p->j, "headroom_cells", b->headroom);
	ccs_json_uint(&p->j, "guarantee_cells", b->guarantee);
	ccs_json_uint(&p->j, "shared_cells", b->pool);
	ccs_json_num(&p->j, "ingresses", b->ingresses);
	ccs_json_num(&p->j, "xoff_cells", share_of(b, b->alpha, b->ingresses, 0));
	ccs_json_num(&p->j, "xoff_alone_cells", share_of(b, b->alpha, 1, 0));
	ccs_json_num(&p->j, "xoff_beside_lossy_cells", share_of(b, b->alpha, 1, b->lossy_alpha));
	ccs_json_bool(&p->j, "inequality_holds", left_side(b, b->alpha) <= (double)b->right);
	ccs_json_num(&p->j, "left_cells", left_side(b, b->alpha));
	ccs_json_uint(&p->j, "right_cells", b->right);
	ccs_json_num(&p->j, "largest_static_share_cells", largest_static_share(b));
	ccs_json_num(&p->j, "queues_to_kmax", queues_filled(b, b->alpha, b->kmax));
	ccs_json_num(&p->j, "queues_to_half_kmax", queues_filled(b, b->alpha, b->kmax / 2));
	ccs_json_num(&p->j, "drain_ms", 8e3 * b->bytes / slowest->rate_bps);
	ccs_json_num(&p->j, "bytes_per_ms", slowest->rate_bps / 8e3);
	ccs_json_array(&p->j, "alphas");
	for (unsigned i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		json_alpha(p, b, usual[i].alpha);
	ccs_json_end(&p->j);
}

static void print_alpha(const struct buffer *b, const char *text, double alpha)
{
	const double all =
		floor(b->ingresses * ccs_mmu_fixed_point((double)b->pool, alpha, b->ingresses, 0));

	printf("  %-7s %8.0f  %8.0f  %8.0f  %8.0f   %-3s  %6.0f  %6.0f\n", text,
	       share_of(b, alpha, 1, 0), share_of(b, alpha, b->ingresses, 0), all, left_side(b, alpha),
	       left_side(b, alpha) <= (double)b->right ? "yes" : "no", queues_filled(b, alpha, b->kmax),
	       queues_filled(b, alpha, b->kmax / 2));
}

static void print_cells(const struct buffer *b)
{
	printf("Buffer of %.0f bytes, in cells of %.0f\n\n", b->bytes, b->cell_bytes);
	printf("  cells             %9" PRIu64 "\n", b->cells);
	printf("  headroom          %9" PRIu64 "  ", b->headroom);
	for (unsigned i = b->kinds; i-- > 0;)
		printf("%u * %" PRIu64 "%s", b->kind[i].ports, b->kind[i].headroom, i ? " + " : "");
	printf("\n  guarantees        %9" PRIu64 "  %u * %" PRIu64 "\n", b->guarantee,
	       b->ports * b->lossless, b->frame);
	printf("  shared pool       %9" PRIu64 "\n\n", b->pool);
}

static void print_verdict(struct plan *p, const struct buffer *b)
{
	const double beyond = queues_filled(b, b->alpha, b->kmax / 2);
	const struct kind *slowest = &b->kind[b->kinds - 1];

	printf("\nWith alpha %s:\n", plan_text(p, "alpha"));
	printf("  The peers are paused before the queue drops: %s (right side %" PRIu64 " cells);\n"
	       "  a static PG-Share could be %.0f cells.\n",
	       left_side(b, b->alpha) <= (double)b->right ? "yes" : "NO", b->right,
	       largest_static_share(b));
	printf("  ECN is dead if one ingress feeds more than %.0f queues: they stay below Kmax/2.\n", beyond);
	printf("  A full lossy queue with alpha %s lowers XOFF from %.0f to %.0f cells%s\n",
	       plan_text(p, "lossy-alpha"), share_of(b, b->alpha, 1, 0),
	       share_of(b, b->alpha, 1, b->lossy_alpha),
	       b->lossy_alpha > 2 * b->alpha ? ":\n  limit it." : ".");
	printf("  At %s, 1 ms drains %.3f MB (10^6 bytes), the buffer drains in %.1f ms.\n",
	       plan_rate_text(slowest->rate_bps), slowest->rate_bps / 8e9,
	       8e3 * b->bytes / slowest->rate_bps);
}

static void print_table(struct plan *p, const struct buffer *b)
{
	bool printed = false;

	print_cells(b);
	printf("           XOFF, n =        1  %8u  all of n  the left     <=  queues to\n", b->ingresses);
	printf("  alpha                                          side  right    Kmax  Kmax/2\n");
	for (unsigned i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		print_alpha(b, usual[i].text, usual[i].alpha);
		printed |= usual[i].alpha == b->alpha;
	}
	if (!printed)
		print_alpha(b, plan_text(p, "alpha"), b->alpha);
	print_verdict(p, b);
}

static int buffer(struct plan *p)
{
	static struct buffer b;

	if (!read_buffer(p, &b))
		return EXIT_USAGE;
	if (p->json)
		print_json(p, &b);
	else
		print_table(p, &b);
	return left_side(&b, b.alpha) <= (double)b.right ? EXIT_OK : EXIT_FAILED;
}

const struct plan_calc plan_buffer = {
	.name = "buffer", .doc = "water marks of a shared buffer: PG-Share, XOFF, alpha",
	.options = options, .formulas = formulas, .main = buffer,
};
