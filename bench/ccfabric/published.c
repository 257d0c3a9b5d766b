/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccfabric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A family, with its variants that are published, and the variant of the HPCC simulator. */
static const struct family {
	const struct ccs_cc_ops *ops;
	const char *published, *simulated;
} families[] = {
	{ &ccs_cc_dcqcn, "paper and mlx", "mlx" },
	{ &ccs_cc_hpcc, "paper and ns3", "ns3" },
	{ &ccs_cc_timely, "snippet, paper, patched, patched_pure and ns3", "ns3" },
};

#define add(d, ...) snprintf((d)->sentence[(d)->n++], sizeof(*(d)->sentence), __VA_ARGS__)

static const struct family *family_of(const struct ccs_cc_spec *spec)
{
	for (unsigned i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (spec->ops == families[i].ops)
			return &families[i];
	return NULL;
}

/* The variant is the first parameter of each family. */
static const char *variant_of(const struct ccs_cc_spec *spec)
{
	const double given = spec->given[0];

	return spec->ops->params[0].choices[isnan(given) ? 0 : (unsigned)given];
}

static bool has_parameters(const struct ccs_cc_spec *spec)
{
	for (unsigned i = 1; i < spec->ops->nparams; i++)
		if (!isnan(spec->given[i]))
			return true;
	return false;
}

/* DCQCN's paper and simulator have one set of marks and parameters; its Figures 14 and 20. */
static void add_marks(struct fab_differences *d, const struct options *o, bool simulated)
{
	if (simulated && !o->like_ns3)
		add(d, "dcqcn: marks return as CNPs, at most one in %g us, and not in acknowledgements",
		    o->conf.cnp_us);
	else if (!simulated && !o->ecn)
		add(d, "dcqcn: marks are not the paper's, --ecn 5k:200k:1%%@40g");
}

static void add_family(struct fab_differences *d, const struct options *o, const struct ccs_cc_spec *spec,
		       const struct family *f)
{
	const char *name = spec->ops->name, *variant = variant_of(spec);
	const bool own = !strstr(f->published, variant), simulated = strcmp(variant, f->simulated) == 0;

	if (own)
		add(d, "%s: variant %s is ccshim's; %s are published", name, variant, f->published);
	else if (!has_parameters(spec) && (f->ops != &ccs_cc_dcqcn || simulated))
		add(d, "%s: parameters of variant %s are derived from the path; publications state others",
		    name, variant);
	if (f->ops == &ccs_cc_dcqcn)
		add_marks(d, o, simulated);
}

void fab_find_differences(const struct options *o, struct fab_differences *d)
{
	const struct fab_conf *c = &o->conf;
	bool any = false;

	d->n = 0;
	for (unsigned i = 0; i <= FAB_PRIORITIES; i++) {
		const struct ccs_cc_spec *spec = i ? c->priority_spec[i - 1] : c->spec;
		const struct family *f = spec ? family_of(spec) : NULL;

		if (f)
			add_family(d, o, spec, f);
		any |= f != NULL;
	}
	if (any && !o->like_ns3)
		add(d, "buffers, frames and acknowledgements are not the HPCC simulator's, --like ns3");
}
