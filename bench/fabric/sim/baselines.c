/* SPDX-License-Identifier: BSD-2-Clause */
#include "baselines.h"

#include <math.h>

#include "priv.h"

static const struct {
	const struct ccs_cc_ops *ops;
	const struct driver *driver;
} baseline[] = {
	{ &fab_reno, &tcp_driver }, { &fab_dctcp, &tcp_driver },
	{ &fab_eqds, &credit_driver }, { &fab_nscc, &nscc_driver },
};

enum { BASELINES = sizeof(baseline) / sizeof(baseline[0]) };

const struct driver *fab_baseline(const struct ccs_cc_spec *spec)
{
	for (unsigned i = 0; i < BASELINES; i++)
		if (spec->ops == baseline[i].ops)
			return baseline[i].driver;
	return NULL;
}

bool fab_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t len)
{
	const size_t name = ccs_cc_name_len(text);

	for (unsigned i = 0; i < BASELINES; i++) {
		const struct ccs_cc_ops *ops = baseline[i].ops;

		if (strlen(ops->name) == name && strncmp(ops->name, text, name) == 0)
			return ccs_cc_parse_params(spec, ops, text + name, err, len) == 0;
	}
	return ccs_cc_parse(spec, text, err, len) == 0;
}

double fab_param(const struct ccs_cc_spec *spec, unsigned i)
{
	return isnan(spec->given[i]) ? spec->ops->params[i].def : spec->given[i];
}

uint64_t driver_due_now(const struct sim *s, const struct flow *f)
{
	(void)s;
	(void)f;
	return 0;
}

void driver_sent_nothing(struct sim *s, struct flow *f, uint32_t bytes)
{
	(void)s;
	(void)f;
	(void)bytes;
}

void driver_no_advice(struct sim *s, uint32_t flow, const struct packet *k)
{
	(void)s;
	(void)flow;
	(void)k;
}

void driver_ready(struct sim *s, uint32_t flow)
{
	s->flow[flow].posted = flow_ready(s, flow);
	flow_update(s, flow);
}
