/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan ecn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/marking.h"
#include "fabric/mmu.h"
#include "plan.h"
#include "tools/ccshim/shared/ccshim.h"

static const struct plan_option options[] = {
	{ "rate", "RATE", "25g", "line rate of the senders and the port", NULL },
	{ "mtu", "SIZE", "1024", "RDMA's MTU", NULL },
	{ "pps", "NUMBER", NULL, "packets/s of a shaped port [at its line rate]", NULL },
	{ "qps", "N", "1", "queue pairs that share the port", NULL },
	{ "senders", "N", "1", "ports that send to it at line rate", NULL },
	{ "latency", "TIME:TIME", "40us:80us", "delay of a queue: wanted, and at most", NULL },
	{ "cnp-interval", "TIME", "50us", "least time between a flow's CNPs", NULL },
	{ "at", "SHARE,...", NULL, "CNP/s for these marking probabilities", NULL },
	{ "check", "KMIN:KMAX", NULL, "does the queue stay below Kmax? in cells", NULL },
	{ "pmax", "SHARE", "1%", "with --check: Pmax", "check" },
	{ "poll", "TIME", "0", "with --check: the switch polls the queue", "check" },
	{ "weight", "FRACTION", "1", "with --check: of the newest value in its average", "check" },
	{ "marks", "NUMBER", "2", "with --check: expected marks until a sender slows", "check" },
	{ "reaction", "TIME", "8us", "with --check: from that mark to the slower rate", "check" },
	{ "cell", "SIZE", "256", "cell of the switch's buffer", NULL },
	{ 0 }
};

static const struct plan_formula formulas[] = {
	{ "largest effective Pmax = queue pairs / CNP interval / pps", "UCloud's article, section ECN" },
	{ "CNP/s = 1 / (CNP interval + 1 / (p * pps)) of each queue pair: a knee, no ceiling",
	  "DCQCN 3.1, notification point: the interval, then the wait for a mark" },
	{ "pps = rate / (8 * (mtu + 82)): headers, checksum, preamble and gap of RoCEv2", "RoCEv2, 802.3" },
	{ "Kmin < rate * wanted latency / 8; Kmax <= rate * greatest latency / 8",
	  "UCloud's article, section ECN" },
	{ "p(q) = 0 up to Kmin, Pmax * (q - Kmin) / (Kmax - Kmin) up to Kmax, then 1", "DCQCN 3.1" },
	{ "q grows with the senders' pps - pps from 0 until the integral of p(average) * pps is --marks, and "
	  "for --reaction more; no mark until then has the probability e^-marks", "derived" },
	{ "average += weight * (q - average) at each poll", "UCloud's article, on polled marking" },
	{ 0 }
};

/* Bytes of a RoCEv2 packet besides its MTU: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4; on
 * the line also preamble 8 and gap 12, which a switch does not store. */
enum { STORED_OVERHEAD = 62, LINE_OVERHEAD = 82 };

struct ecn {
	double rate_bps, mtu, pps, qps, senders, cnp_interval_us, cell_bytes;
	double wanted_us, most_us;
	double frame_cells;
	double pmax; /* the largest effective one */
};

static double line_pps(double rate_bps, double mtu)
{
	return rate_bps / (8 * (mtu + LINE_OVERHEAD));
}

/* Split "A:B" in two; false after a message. */
static bool split(struct plan *p, const char *option, char *text, char **second)
{
	*second = text ? strchr(text, ':') : NULL;
	if (*second)
		*(*second)++ = '\0';
	else
		plan_refuse(p, option, "'%s' is not two values with a colon", plan_text(p, option));
	return *second != NULL;
}

static void read_latency(struct plan *p, struct ecn *e)
{
	char *text = strdup(plan_text(p, "latency")), *most;

	if (split(p, "latency", text, &most)) {
		e->wanted_us = plan_parse(p, "latency", text, CCS_UNIT_TIME);
		e->most_us = plan_parse(p, "latency", most, CCS_UNIT_TIME);
		if (e->wanted_us > e->most_us)
			plan_refuse(p, "latency", "the wanted latency is above the greatest one");
	}
	free(text);
}

static bool read_ecn(struct plan *p, struct ecn *e)
{
	e->rate_bps = plan_value(p, "rate", CCS_UNIT_RATE);
	e->mtu = plan_value(p, "mtu", CCS_UNIT_BYTES);
	e->pps = plan_text(p, "pps") ? plan_value(p, "pps", CCS_UNIT_NONE) : line_pps(e->rate_bps, e->mtu);
	e->qps = plan_count(p, "qps", 1, 1000000);
	e->senders = plan_count(p, "senders", 1, 65535);
	e->cnp_interval_us = plan_value(p, "cnp-interval", CCS_UNIT_TIME);
	e->cell_bytes = plan_value(p, "cell", CCS_UNIT_BYTES);
	e->frame_cells = (double)ccs_mmu_cells(e->mtu + STORED_OVERHEAD, e->cell_bytes);
	read_latency(p, e);
	e->pmax = ccs_pmax_effective(e->pps / e->qps, e->cnp_interval_us);
	return !p->failed;
}

static double latency_bytes(const struct ecn *e, double us)
{
	return e->rate_bps * us * 1e-6 / 8;
}

static double cnps_at(const struct ecn *e, double probability)
{
	return e->qps * ccs_cnp_rate(probability, e->pps / e->qps, e->cnp_interval_us);
}

static const double mtus[] = { 256, 512, 1024, 2048, 4096 };

enum { MTUS = sizeof(mtus) / sizeof(*mtus), POINTS_MAX = 32 };

/* Without --at: multiples of the effective Pmax, and 1. */
static unsigned read_points(struct plan *p, const struct ecn *e, double *point)
{
	char *list, *at, *text;
	unsigned n = 0;

	if (!plan_text(p, "at")) {
		for (double multiple = 1 / 4.; multiple <= 4; multiple *= 2)
			if (multiple * e->pmax < 1)
				point[n++] = multiple * e->pmax;
		point[n++] = 1;
		return n;
	}
	list = at = strdup(plan_text(p, "at"));
	while (list && !p->failed && (text = strsep(&at, ",")))
		if (n == POINTS_MAX)
			plan_refuse(p, "at", "more than %d probabilities", POINTS_MAX);
		else
			point[n++] = plan_share(p, "at", text);
	free(list);
	return n;
}

static void print_json(struct plan *p, const struct ecn *e, const double *point, unsigned points)
{
	ccs_json_num(&p->j, "pmax_effective", e->pmax);
	ccs_json_num(&p->j, "pps", e->pps);
	ccs_json_array(&p->j, "by_mtu");
	for (unsigned i = 0; i < MTUS; i++) {
		ccs_json_object(&p->j, NULL);
		ccs_json_num(&p->j, "mtu", mtus[i]);
		ccs_json_num(&p->j, "pmax_effective",
			     ccs_pmax_effective(line_pps(e->rate_bps, mtus[i]) / e->qps, e->cnp_interval_us));
		ccs_json_end(&p->j);
	}
	ccs_json_end(&p->j);
	ccs_json_array(&p->j, "cnps");
	for (unsigned i = 0; i < points; i++) {
		ccs_json_object(&p->j, NULL);
		ccs_json_num(&p->j, "probability", point[i]);
		ccs_json_num(&p->j, "cnps_per_s", cnps_at(e, point[i]));
		ccs_json_end(&p->j);
	}
	ccs_json_end(&p->j);
	ccs_json_num(&p->j, "kmin_below_bytes", latency_bytes(e, e->wanted_us));
	ccs_json_num(&p->j, "kmin_below_cells", floor(latency_bytes(e, e->wanted_us) / e->cell_bytes));
	ccs_json_num(&p->j, "kmax_most_bytes", latency_bytes(e, e->most_us));
	ccs_json_num(&p->j, "kmax_most_cells", floor(latency_bytes(e, e->most_us) / e->cell_bytes));
}

static void print_marks(const char *name, const char *relation, const struct ecn *e, double us)
{
	const double bytes = latency_bytes(e, us);

	printf("  %s  %-8s %8.0f bytes = %6.0f cells of %.0f, %s at %s\n", name, relation, bytes,
	       floor(bytes / e->cell_bytes), e->cell_bytes, plan_time_text(us),
	       plan_rate_text(e->rate_bps));
}

static void print_table(const struct ecn *e, const double *point, unsigned points)
{
	printf("Marks of ECN at a port of %.0f packets/s, %.0f queue pair%s\n\n", e->pps, e->qps,
	       e->qps == 1 ? "" : "s");
	printf("  largest effective Pmax %8.3f %%\n\n", 100 * e->pmax);
	printf("It is a knee, not a ceiling:\n\n  marked %%   CNP/s   against Pmax\n");
	for (unsigned i = 0; i < points; i++)
		printf("  %8.3f  %6.0f     %+7.0f %%\n", 100 * point[i], cnps_at(e, point[i]),
		       100 * (cnps_at(e, point[i]) / cnps_at(e, e->pmax) - 1));
	printf("\nAt %s, the largest effective Pmax by MTU:\n\n ", plan_rate_text(e->rate_bps));
	for (unsigned i = 0; i < MTUS; i++)
		printf(" %4.0f: %.3f %%%s", mtus[i],
		       100 * ccs_pmax_effective(line_pps(e->rate_bps, mtus[i]) / e->qps,
						e->cnp_interval_us), i + 1 < MTUS ? "," : "\n\n");
	print_marks("Kmin", "below", e, e->wanted_us);
	print_marks("Kmax", "at most", e, e->most_us);
}

struct check {
	struct ccs_ramp ramp;
	double peak, largest_kmin;
};

/* The ramp is in cells. */
static bool read_check(struct plan *p, const struct ecn *e, struct check *c)
{
	char *text = strdup(plan_text(p, "check")), *kmax;
	struct ccs_ramp *r = &c->ramp;

	if (split(p, "check", text, &kmax)) {
		r->red.kmin = plan_cells(p, "check", text, e->cell_bytes);
		r->red.kmax = plan_cells(p, "check", kmax, e->cell_bytes);
	}
	free(text);
	r->red.pmax = plan_share(p, "pmax", plan_text(p, "pmax"));
	r->poll_us = plan_value_or_0(p, "poll", CCS_UNIT_TIME);
	r->weight = plan_fraction(p, "weight");
	r->marks = plan_value(p, "marks", CCS_UNIT_NONE);
	r->reaction_us = plan_value_or_0(p, "reaction", CCS_UNIT_TIME);
	r->pps = e->pps;
	r->growth = (e->senders * line_pps(e->rate_bps, e->mtu) - e->pps) * 1e-6 * e->frame_cells;
	if (r->red.kmin > r->red.kmax)
		plan_refuse(p, "check", "Kmin is above Kmax");
	if (r->weight > 1 || r->weight < 1 / 1024.)
		plan_refuse(p, "weight", "it is not from 1/1024 to 1");
	if (r->marks > 1000)
		plan_refuse(p, "marks", "it is above 1000");
	if (r->growth < 1e-9)
		plan_refuse(p, "check", "the queue does not grow: give --pps of a slower port, or --senders");
	if (p->failed)
		return false;
	c->peak = ccs_ramp_peak(r);
	c->largest_kmin = ccs_ramp_largest_kmin(r);
	return true;
}

static void json_check(struct plan *p, const struct check *c)
{
	ccs_json_object(&p->j, "check");
	ccs_json_num(&p->j, "peak_cells", c->peak);
	ccs_json_num(&p->j, "runs_on_cells", c->peak - c->ramp.red.kmin);
	ccs_json_bool(&p->j, "stays_below_kmax", c->peak <= c->ramp.red.kmax);
	ccs_json_num(&p->j, "largest_kmin_cells", c->largest_kmin < 0 ? NAN : floor(c->largest_kmin));
	ccs_json_end(&p->j);
}

static double queue_us(const struct ecn *e, double cells)
{
	return cells / e->frame_cells / line_pps(e->rate_bps, e->mtu) * 1e6;
}

static void print_check(const struct ecn *e, const struct check *c)
{
	const struct ccs_red *red = &c->ramp.red;

	printf("\nKmin %.0f, Kmax %.0f cells (%.0f and %.0f us at line rate), Pmax %.3f %%:\n", red->kmin,
	       red->kmax, queue_us(e, red->kmin), queue_us(e, red->kmax), 100 * red->pmax);
	printf("  the queue grows by %.0f cells/ms and gets to %.0f cells, %.0f above Kmin,\n"
	       "  before %.3g marks are expected and the sender has reacted\n", c->ramp.growth * 1000,
	       c->peak, c->peak - red->kmin, c->ramp.marks);
	printf("  stays below Kmax: %s\n", c->peak <= red->kmax ? "yes" : "NO");
	if (c->largest_kmin < 0)
		printf("  no Kmin keeps it below Kmax: poll more often\n");
	else
		printf("  largest Kmin that does: %.0f cells\n", floor(c->largest_kmin));
}

static int ecn(struct plan *p)
{
	const bool check = plan_text(p, "check") != NULL;
	double point[POINTS_MAX];
	unsigned points;
	struct check c;
	struct ecn e;

	if (!read_ecn(p, &e) || (check && !read_check(p, &e, &c)))
		return EXIT_USAGE;
	points = read_points(p, &e, point);
	if (p->failed)
		return EXIT_USAGE;
	if (p->json)
		print_json(p, &e, point, points);
	else
		print_table(&e, point, points);
	if (check && p->json)
		json_check(p, &c);
	else if (check)
		print_check(&e, &c);
	return check && c.peak > c.ramp.red.kmax ? EXIT_FAILED : EXIT_OK;
}

const struct plan_calc plan_ecn = {
	.name = "ecn", .doc = "Kmin, Kmax and Pmax of the marks",
	.options = options, .formulas = formulas, .main = ecn,
};
