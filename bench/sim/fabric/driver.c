/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that several drivers share. */
#include <math.h>

#include "baselines.h"
#include "priv.h"

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
