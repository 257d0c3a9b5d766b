/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows before they start: their ends, keys and paths, and the time that they take alone. */
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"
#include "baselines.h"

enum { FIRST_PORT = 10000, ADDRESS = 0x0b000001 };

static uint32_t address_of(unsigned node)
{
	return ADDRESS + ((node / 256) << 16) + ((node % 256) << 8);
}

static void set_keys(struct flow *f, unsigned sport)
{
	const uint32_t src = address_of(f->spec->src), dst = address_of(f->spec->dst);
	const uint32_t dport = f->spec->port;

	f->key[0] = (struct fab_key){ src, dst, sport | dport << 16 };
	f->key[1] = (struct fab_key){ dst, src, dport | sport << 16 };
}

static int by_pair(const void *a, const void *b)
{
	const struct flow *x = *(struct flow *const *)a, *y = *(struct flow *const *)b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	if (x->dst != y->dst)
		return x->dst < y->dst ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The flows of two hosts are numbered by their source ports. */
static void number_pairs(struct sim *s, unsigned n)
{
	struct flow **sorted = mem_zeroed(n, sizeof(*sorted));
	unsigned number = 0;

	for (unsigned i = 0; i < n; i++)
		sorted[i] = &s->flow[i];
	qsort(sorted, n, sizeof(*sorted), by_pair);
	for (unsigned i = 0; i < n; i++) {
		number = i && sorted[i]->src == sorted[i - 1]->src &&
			 sorted[i]->dst == sorted[i - 1]->dst ? number + 1 : 0;
		set_keys(sorted[i], (FIRST_PORT + number) & 0xffff);
	}
	free(sorted);
}

/* Times in ps along a path, without the lines' delay. */
struct walk {
	uint64_t delay;          /* the lines' */
	uint64_t first, longest; /* time of a full packet, and of it on the slowest link */
	uint64_t last;           /* arrival of the last packet, which waits for its predecessor */
	uint64_t back;           /* time of an acknowledgement */
};

/* Along the present path of the flow's packets. False: it has no path. */
static bool walk(const struct sim *s, const struct flow *f, struct walk *w)
{
	const struct fab_wire *wire = &s->conf->wire;
	const uint32_t more = f->telemetry ? wire->data_telemetry : 0;
	const uint64_t message = f->spec->message ? f->spec->message : UINT64_MAX;
	const uint32_t most = message < wire->payload ? (uint32_t)message : wire->payload;
	const uint64_t packets = (f->spec->size + most - 1) / most;
	const uint32_t tail = (uint32_t)(f->spec->size - (packets - 1) * most);
	const uint32_t payload = packets > 1 ? most : tail;
	unsigned node = f->spec->src;

	*w = (struct walk){ 0 };
	for (unsigned hops = 0; node != f->spec->dst; hops++) {
		const uint32_t port = switch_look_up(s, node, f, false);
		const struct port *p;
		uint64_t full, before;

		if (port == FAB_NO_PORT || hops == FAB_TTL)
			return false;
		p = &s->port[port];
		full = after(s, p->ps_per_byte * (payload + wire->header + more));
		w->first += full;
		w->longest = full > w->longest ? full : w->longest;
		before = packets > 1 ? w->first + (packets - 2) * w->longest : 0;
		w->last = (w->last > before ? w->last : before) +
			  after(s, p->ps_per_byte * (tail + wire->header + more));
		w->delay += p->delay;
		w->back += after(s, p->ps_per_byte *
				 (wire->ack + (f->telemetry ? wire->ack_telemetry : 0)));
		node = p->peer;
	}
	return true;
}

/* TCP's packets have the default DSCP, and its acknowledgements its data's priority. */
static void set_control(const struct sim *s, struct flow *f)
{
	const struct ccs_cc_spec *spec = algorithm_of(s, f->spec->priority);
	const struct fab_conf *c = s->conf;

	f->driver = fab_baseline(spec);
	if (f->spec->depth)
		f->driver = &message_driver;
	else if (!f->driver)
		f->driver = c->shim ? &shim_driver : &plain_driver;
	f->selective = f->driver->is_tcp || c->selective;
	f->echoes = f->driver->echoes || c->wire.mark_acks;
	f->telemetry = wants_telemetry(s, f->spec->priority);
	f->ect = spec->ops != &fab_reno;
	f->dscp = (uint8_t)(f->driver->is_tcp ? 0 : c->data_dscp);
	f->ack_priority = (uint8_t)(f->driver->is_tcp ? f->spec->priority : c->ack_priority);
}

/* Where the tables have a loop, algorithms are given this base RTT. */
#define UNKNOWN_BASE_US 10

static void place(struct sim *s, struct flow *f)
{
	struct walk w;

	f->port = switch_look_up(s, f->spec->src, f, false);
	f->port_back = switch_look_up(s, f->spec->dst, f, true);
	f->base_us = UNKNOWN_BASE_US;
	if (!walk(s, f, &w))
		return;
	f->base_us = us_of(2 * w.delay + w.first + w.back);
	s->result->flow[f->spec->id].ideal = 2 * w.delay + w.last + w.back;
}

void place_flows(struct sim *s)
{
	const struct fab_flows *flows = s->conf->flows;

	s->flow = mem_zeroed(flows->n, sizeof(*s->flow));
	for (unsigned i = 0; i < flows->n; i++) {
		struct flow *f = &s->flow[i];

		f->spec = &flows->flow[i];
		f->size = f->spec->size;
		f->src = s->conf->routes->host[f->spec->src];
		f->dst = s->conf->routes->host[f->spec->dst];
		set_control(s, f);
	}
	number_pairs(s, flows->n);
	for (unsigned i = 0; i < flows->n; i++)
		place(s, &s->flow[i]);
}
