/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver without algorithm and shim: an application posts whole messages to the NIC, a
 * fixed number at a time. It is the rival of the flows under test, and the victim.
 */
#include "priv.h"

static void fill(struct star *s, struct star_flow *f)
{
	while (f->live && f->head - f->tail < f->depth)
		star_post(s, f, f->message);
}

static unsigned depth(const struct sim_conf *c, uint32_t message)
{
	const unsigned of_1mb = (1u << 20) / message;

	if (c->depth)
		return c->depth;
	return of_1mb < 2 ? 2 : of_1mb > 128 ? 128 : of_1mb;
}

static void start(struct star *s, struct star_flow *f)
{
	const unsigned reads = s->conf->max_reads ? s->conf->max_reads : STAR_READS;

	if (!f->message) {
		f->message = s->conf->message ? s->conf->message : 1u << 20;
		f->depth = depth(s->conf, f->message);
	}
	if (f->op == SIM_READ && f->depth > reads)
		f->depth = reads;
	fill(s, f);
}

static void ack(struct star *s, struct star_flow *f, const struct segment *seg, double rtt_jitter_us)
{
	(void)seg;
	(void)rtt_jitter_us;
	fill(s, f);
}

const struct star_driver star_plain = { .start = start, .ack = ack };
