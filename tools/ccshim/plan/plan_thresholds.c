/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan thresholds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/marking.h"
#include "plan.h"
#include "tools/ccshim/shared/ccshim.h"

static const struct plan_option options[] = {
	{ "buffer", "SIZE", "12000k", "the switch's buffer; k is 1000 here", NULL },
	{ "ports", "N", "32", "its ports", NULL },
	{ "priorities", "N", "8", "lossless priorities", NULL },
	{ "flight", "SIZE", "22.4k", "arrives at a port after its PAUSE frame", NULL },
	{ "beta", "NUMBER", "8", "t_PFC is beta times what is free", NULL },
	{ "check", "KMIN:KMAX", NULL, "check these marks of ECN", NULL },
	{ "t-pfc", "SIZE", NULL, "with --check: static t_PFC [dynamic, by beta]", "check" },
	{ 0 }
};

static const struct plan_formula formulas[] = {
	{ "static t_PFC <= (B - P * n * t_flight - s) / (P * n), s = 0", "DCQCN, section 4" },
	{ "dynamic t_PFC <= beta * (B - P * n * t_flight - s) / P", "DCQCN, section 4" },
	{ "t_PFC >= n * t_ECN: ECN marks before PFC pauses", "DCQCN, section 4" },
	{ "t_ECN < beta * (B - P * n * t_flight) / (P * n * (beta + 1)); this needs s <= P * n * t_ECN",
	  "DCQCN, section 4" },
	{ "t_ECN < beta * (B - P * n * t_flight) / (n * (beta + P)), from s <= n * t_ECN",
	  "derived from the premise that the article on DCQCN prints" },
	{ "static t_ECN = t_PFC / n; the paper prints 0.85 KB for it", "DCQCN, section 4" },
	{ 0 }
};

#define KILO 1000.0 /* the paper's KB */

struct bounds {
	struct ccs_thresholds t;
	double pfc_static, ecn_static, ecn_dynamic, ecn_one_priority;
};

/* Sizes are decimal here, as in the paper: 22.4k is 22 400. */
static double parse_size(struct plan *p, const char *option, const char *text)
{
	double value = plan_parse(p, option, text, CCS_UNIT_BYTES);

	if (strchr(text, 'i') || strchr(text, 'I'))
		return value;
	for (const char *prefix = "kmgt", *c = prefix; *c; c++)
		if (strpbrk(text, (char[]){ *c, (char)(*c - 'a' + 'A'), '\0' }))
			for (const char *step = prefix; step <= c; step++)
				value *= KILO / 1024;
	return value;
}

static bool read_bounds(struct plan *p, struct bounds *b)
{
	b->t.buffer = parse_size(p, "buffer", plan_text(p, "buffer"));
	b->t.flight = parse_size(p, "flight", plan_text(p, "flight"));
	b->t.ports = plan_count(p, "ports", 1, 65535);
	b->t.priorities = plan_count(p, "priorities", 1, 8);
	b->t.beta = plan_value(p, "beta", CCS_UNIT_NONE);
	if (!p->failed && ccs_thresholds_rest(&b->t) <= 0)
		plan_refuse(p, "buffer", "%.0f bytes are too few: %.0f may arrive after PAUSE frames",
			    b->t.buffer, b->t.priorities * b->t.ports * b->t.flight);
	b->pfc_static = ccs_thresholds_pfc_static(&b->t);
	b->ecn_static = ccs_thresholds_ecn_static(&b->t);
	b->ecn_dynamic = ccs_thresholds_ecn_dynamic(&b->t, b->t.priorities);
	b->ecn_one_priority = ccs_thresholds_ecn_dynamic(&b->t, 1);
	return !p->failed;
}

struct marks {
	double kmin, kmax, t_pfc; /* t_pfc with all queues at kmax */
	bool below_ecn, before_pfc;
};

static bool read_marks(struct plan *p, const struct bounds *b, struct marks *m)
{
	char *text = strdup(plan_text(p, "check")), *kmax = text ? strchr(text, ':') : NULL;
	const char *t_pfc = plan_text(p, "t-pfc");

	if (!kmax) {
		plan_refuse(p, "check", "'%s' is not KMIN:KMAX, such as 5k:20k", plan_text(p, "check"));
	} else {
		*kmax++ = '\0';
		m->kmin = parse_size(p, "check", text);
		m->kmax = parse_size(p, "check", kmax);
		if (m->kmin > m->kmax)
			plan_refuse(p, "check", "Kmin is above Kmax");
		m->t_pfc = t_pfc ? parse_size(p, "t-pfc", t_pfc) : fmax(0,
			ccs_thresholds_pfc_dynamic(&b->t, b->t.priorities * b->t.ports * m->kmax));
		m->below_ecn = m->kmax <= b->ecn_dynamic;
		m->before_pfc = b->t.ports * m->kmax <= m->t_pfc;
	}
	free(text);
	return !p->failed;
}

static void print_json(struct plan *p, const struct bounds *b, const struct marks *m)
{
	ccs_json_num(&p->j, "t_pfc_bytes", b->pfc_static);
	ccs_json_num(&p->j, "t_ecn_bytes", b->ecn_dynamic);
	ccs_json_num(&p->j, "t_ecn_static_bytes", b->ecn_static);
	ccs_json_num(&p->j, "t_ecn_one_priority_bytes", b->ecn_one_priority);
	ccs_json_num(&p->j, "reserved_bytes", b->t.buffer - ccs_thresholds_rest(&b->t));
	if (!m)
		return;
	ccs_json_object(&p->j, "check");
	ccs_json_bool(&p->j, "kmax_below_t_ecn", m->below_ecn);
	ccs_json_bool(&p->j, "ecn_before_pfc", m->before_pfc);
	ccs_json_num(&p->j, "t_pfc_bytes", m->t_pfc);
	ccs_json_end(&p->j);
}

static void print_check(const struct bounds *b, const struct marks *m)
{
	printf("\nKmin %.3f KB, Kmax %.3f KB:\n", m->kmin / KILO, m->kmax / KILO);
	printf("  Kmax <= t_ECN       %-6s  %.3f <= %.3f KB\n", m->below_ecn ? "holds" : "BROKEN",
	       m->kmax / KILO, b->ecn_dynamic / KILO);
	printf("  n * Kmax <= t_PFC   %-6s  %.3f <= %.3f KB\n", m->before_pfc ? "holds" : "BROKEN",
	       b->t.ports * m->kmax / KILO, m->t_pfc / KILO);
}

static void print_table(const struct bounds *b)
{
	printf("DCQCN's thresholds; KB of 1000 bytes\n\n");
	printf("  t_PFC static                %9.3f KB  at most\n", b->pfc_static / KILO);
	printf("  t_ECN with dynamic t_PFC  < %9.3f KB\n", b->ecn_dynamic / KILO);
	printf("  t_ECN with static t_PFC     %9.3f KB  t_PFC / n", b->ecn_static / KILO);
	printf("%s\n\n", b->ecn_static < 1500 ? "; less than a frame" : "");
	printf("The article on DCQCN derives the dynamic t_ECN from s <= n * t_ECN, one queue a\n"
	       "port. That gives %.3f KB. The paper's formula needs s <= P * n * t_ECN, all\n"
	       "priorities, and is the smaller and safe one.\n", b->ecn_one_priority / KILO);
}

static int thresholds(struct plan *p)
{
	const bool check = plan_text(p, "check") != NULL;
	struct bounds b;
	struct marks m;

	if (!read_bounds(p, &b) || (check && !read_marks(p, &b, &m)))
		return EXIT_USAGE;
	if (p->json)
		print_json(p, &b, check ? &m : NULL);
	else
		print_table(&b);
	if (check && !p->json)
		print_check(&b, &m);
	return check && !(m.below_ecn && m.before_pfc) ? EXIT_FAILED : EXIT_OK;
}

const struct plan_calc plan_thresholds = {
	.name = "thresholds", .doc = "DCQCN's t_PFC and t_ECN, from buffer and ports",
	.options = options, .formulas = formulas, .main = thresholds,
};
