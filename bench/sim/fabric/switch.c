/* SPDX-License-Identifier: BSD-2-Clause */
/* A switch: its shared buffer, the next hop, and PAUSE frames to peers that send too much. */
#include <math.h>

#include "fabric/headroom.h"
#include "bench/sim/core/memory.h"
#include "priv.h"

enum { SMALLEST_BITS = 8 * (64 + CCS_FRAME_GAP) }; /* of the smallest frame on the line */

static struct ccs_mmu_account *account(struct ccs_mmu_account *all, uint32_t port, unsigned priority)
{
	return &all[port * FAB_PRIORITIES + priority];
}

static uint64_t cells_of(const struct sim *s, double bytes)
{
	return ccs_mmu_cells(bytes, s->conf->buffer.cell);
}

/* The longest frame of any priority. */
static double longest_frame(const struct sim *s)
{
	const struct fab_wire *w = &s->conf->wire;
	bool telemetry = false;

	for (unsigned q = 0; q < FAB_PRIORITIES; q++)
		telemetry |= wants_telemetry(s, q);
	return w->payload + w->header + (telemetry ? w->data_telemetry : 0);
}

/*
 * The data that arrive by this port after the decision to pause its peer: fabric/headroom.h. With small
 * cells an upper bound of them is larger: the frame that crosses the threshold, frames that begin to
 * arrive before the stop, which waits for an XON and an XOFF of each class, and the last frame.
 */
static uint64_t headroom_cells(const struct sim *s, const struct port *p)
{
	const struct fab_conf *c = s->conf;
	const double frame = longest_frame(s);
	const struct ccs_headroom h = {
		.rate_bps = 8e12 / p->ps_per_byte, .cable_us = us_of(p->delay),
		.t0_us = c->buffer.t0_us, .mtu_bytes = frame, .slot_bits = SMALLEST_BITS,
		.cell_bytes = c->buffer.cell,
	};
	const struct ccs_headroom_need need = ccs_headroom_need(&h);
	const double pauses = 2.0 * __builtin_popcount(c->lossless) * c->wire.pause;
	const double bits = need.total_us * 1e-6 * h.rate_bps - 8 * (frame - pauses);
	const double bound = ccs_headroom_cells(&h, bits) + 2.0 * (double)cells_of(s, frame - c->wire.gap);

	if (!isnan(c->buffer.headroom))
		return cells_of(s, c->buffer.headroom);
	if (!isnan(c->buffer.headroom_us))
		return cells_of(s, h.rate_bps * c->buffer.headroom_us / 8e6);
	return (uint64_t)fmax((double)need.cells, bound);
}

static uint32_t at_most_32_bits(uint64_t cells)
{
	return cells < UINT32_MAX ? (uint32_t)cells : UINT32_MAX;
}

static void init_accounts(struct sim *s, uint32_t port, uint64_t guarantee)
{
	const struct fab_buffer *b = &s->conf->buffer;
	const double rate = 8e12 / s->port[port].ps_per_byte;
	const double alpha = b->alpha_rate > 0 ? b->alpha * rate / b->alpha_rate : b->alpha;

	for (unsigned q = 0; q < FAB_PRIORITIES; q++) {
		const bool lossless = b->pfc && is_lossless(s, q);

		account(s->group, port, q)->limits = (struct ccs_mmu_limits){
			.guarantee = is_lossless(s, q) ? guarantee : 0,
			.alpha = lossless || !(b->queue_alpha > 0) ? alpha : b->queue_alpha,
			.headroom = lossless ? at_most_32_bits(headroom_cells(s, &s->port[port])) : 0,
			.hysteresis = at_most_32_bits(cells_of(s, b->hysteresis)),
			.lossless = lossless,
		};
		account(s->queue, port, q)->limits = (struct ccs_mmu_limits){
			.alpha = lossless ? 0 : b->queue_alpha, .share = UINT64_MAX,
		};
	}
}

/* The pool is the buffer without guarantees and headroom. The node receives by `port`. */
static bool take_from_pool(struct sim *s, uint32_t port)
{
	struct ccs_mmu *mmu = &s->mmu[s->port[port].peer];
	uint64_t taken = 0;

	for (unsigned q = 0; q < FAB_PRIORITIES; q++) {
		const struct ccs_mmu_limits *l = &account(s->group, port, q)->limits;

		taken += l->guarantee + l->headroom;
	}
	if (s->port[port].to_host)
		return true;
	if (mmu->pool <= taken)
		return false;
	mmu->pool -= taken;
	return true;
}

bool switch_init(struct sim *s, char *err, size_t len)
{
	const struct fab_buffer *b = &s->conf->buffer;
	const unsigned nodes = s->conf->topology->nodes;

	s->has_mmu = isfinite(b->bytes);
	if (!s->has_mmu)
		return true;
	s->cells = mem_zeroed(UINT16_MAX + 1, sizeof(*s->cells));
	for (unsigned i = 0; i <= UINT16_MAX; i++)
		s->cells[i] = (uint32_t)cells_of(s, i > s->conf->wire.gap ? i - s->conf->wire.gap : 1);
	s->mmu = mem_zeroed(nodes, sizeof(*s->mmu));
	s->group = mem_lines((size_t)s->ports * FAB_PRIORITIES, sizeof(*s->group));
	s->queue = mem_lines((size_t)s->ports * FAB_PRIORITIES, sizeof(*s->queue));
	for (unsigned i = 0; i < nodes; i++)
		s->mmu[i].pool = (uint64_t)(b->bytes / b->cell);
	for (uint32_t p = 0; p < s->ports; p++) {
		init_accounts(s, p, cells_of(s, b->guarantee));
		if (!take_from_pool(s, p)) {
			snprintf(err, len, "the ports of node %u have guarantees and headroom of "
				 "more than its buffer of %.0f bytes: use a larger --buffer, or a smaller "
				 "--headroom or --guarantee", s->port[p].peer, b->bytes);
			return false;
		}
	}
	return true;
}

void switch_free(struct sim *s)
{
	s->result->headroom_max = (double)s->headroom_max * s->conf->buffer.cell;
	free(s->mmu);
	free(s->group);
	free(s->queue);
	free(s->cells);
}

/* The bytes that the group held when it reached its share. */
static void count_xoff(struct sim *s, const struct ccs_mmu_account *group)
{
	const uint64_t cells = group->guaranteed + group->shared;
	struct fab_result *r = s->result;

	if (!r->pauses || cells < r->xoff_cells_min)
		r->xoff_cells_min = cells;
	if (cells > r->xoff_cells_max)
		r->xoff_cells_max = cells;
}

/* Pause the peer that sends by `port`, or resume it. */
static void send_pause(struct sim *s, uint32_t port, unsigned priority, bool xoff)
{
	const uint32_t i = new_packet(s);

	s->packet[i].kind = PAUSE;
	s->packet[i].len = s->conf->wire.pause;
	s->packet[i].priority = (uint8_t)priority;
	s->packet[i].ce = xoff;
	if (xoff)
		count_xoff(s, account(s->group, port, priority));
	*(xoff ? &s->result->pauses : &s->result->resumes) += 1;
	if (xoff && s->now < s->result->first_pause)
		s->result->first_pause = s->now;
	port_put(s, port ^ 1, i);
}

static void update_pause(struct sim *s, unsigned node, uint32_t port, unsigned priority)
{
	struct ccs_mmu_account *group = account(s->group, port, priority);
	const bool before = group->paused;

	if (group->limits.lossless && ccs_mmu_update_pause(&s->mmu[node], group) != before)
		send_pause(s, port, priority, group->paused);
}

void switch_restore(struct sim *s, uint32_t port)
{
	for (unsigned q = 0; s->has_mmu && q < FAB_PRIORITIES; q++)
		if (account(s->group, port, q)->paused)
			send_pause(s, port, q, true);
}

enum { TCP_PORT = 0, ROCE_PORT = 4791, AGENTS_PORT = 4793 };

/* Agents send CNPs to a separate UDP port. TCP has no rule. */
static unsigned udp_port(const struct sim *s, uint32_t flow, enum kind kind)
{
	const bool agents = kind == HELLO || kind == ADVICE || (kind == CNP && s->conf->agents.present);

	if (s->flow[flow].driver->is_tcp)
		return TCP_PORT;
	return agents ? AGENTS_PORT : ROCE_PORT;
}

/* The packet's queue at this switch; the first switch may set another DSCP. */
static unsigned classify(const struct sim *s, uint32_t port, struct packet *k)
{
	unsigned dscp = k->dscp, queue;

	if (!s->port[port].of_host)
		return ccs_qos_inside(s->conf->qos, dscp);
	queue = ccs_qos_edge(s->conf->qos, udp_port(s, k->flow, k->kind), &dscp);
	k->dscp = (uint8_t)dscp;
	return queue;
}

/* The counter of drops for lack of buffer, or NULL: it is stored. */
static uint64_t *store(struct sim *s, unsigned node, uint32_t to, const struct packet *k)
{
	struct ccs_mmu_account *group = account(s->group, k->port, k->priority);
	const enum ccs_mmu_result r = ccs_mmu_store(&s->mmu[node], group,
						    account(s->queue, to, k->priority),
						    s->cells[k->len]);

	if (group->headroom > s->headroom_max)
		s->headroom_max = group->headroom;
	if (r != CCS_MMU_STORED && k->kind == DATA && is_lossless(s, k->priority))
		s->result->drops.lossless++;
	return r == CCS_MMU_NO_INGRESS ? &s->result->drops.ingress
		: r == CCS_MMU_NO_EGRESS ? &s->result->drops.egress : NULL;
}

void switch_release(struct sim *s, uint32_t port, const struct packet *k)
{
	const unsigned node = s->port[port].node;

	if (!s->has_mmu)
		return;
	ccs_mmu_release(&s->mmu[node], account(s->group, k->port, k->priority),
			account(s->queue, port, k->priority), s->cells[k->len]);
	update_pause(s, node, k->port, k->priority);
}

/* Equal-cost paths are chosen by the flow. */
uint32_t switch_look_up(const struct sim *s, unsigned node, const struct flow *f, bool back)
{
	const struct fab_next_hops *n = fab_next_hops(s->routes[node], node, back ? f->src : f->dst);

	return !n->n ? FAB_NO_PORT : n->port[n->n == 1 ? 0 : fab_hash(&f->key[back], node) % n->n];
}

/* The same from the flow's path, if that has this switch. */
static uint32_t choose(struct sim *s, unsigned node, const struct packet *k)
{
	const unsigned hops = s->conf->ttl - k->ttl - 1;
	const uint32_t of = 2 * k->flow + goes_back(k) + 1;
	struct path *path = path_of(s, k);
	uint32_t port;

	if (hops >= PATH_HOPS)
		return switch_look_up(s, node, &s->flow[k->flow], goes_back(k));
	if (path->of == of && path->hop[hops].node == node)
		return path->hop[hops].port;
	port = switch_look_up(s, node, &s->flow[k->flow], goes_back(k));
	if (path->of != of)
		memset(path, 0xff, sizeof(*path));
	path->of = of;
	path->hop[hops] = (struct path_hop){ node, port };
	return port;
}

static bool is_lost(struct sim *s, const struct packet *k)
{
	return s->conf->loss > 0 && k->kind == DATA && !s->flow[k->flow].spec->unmeasured &&
	       rng_unit(&s->random) < s->conf->loss;
}

void switch_receive(struct sim *s, uint32_t port, uint32_t packet)
{
	const unsigned node = s->port[port].peer;
	struct packet *k = &s->packet[packet];
	unsigned priority;
	uint64_t *full;
	uint32_t to;

	k->port = port;
	if (is_lost(s, k)) {
		drop_packet(s, port, packet, &s->result->drops.link);
		return;
	}
	if (!k->ttl--) {
		drop_packet(s, port, packet, &s->result->drops.ttl);
		return;
	}
	to = choose(s, node, k);
	if (to == FAB_NO_PORT) {
		drop_packet(s, port, packet, &s->result->drops.route);
		return;
	}
	if (s->conf->qos)
		k->priority = (uint8_t)classify(s, port, k);
	if (s->conf->limit && s->port[to].bytes + k->len > s->conf->limit) {
		drop_packet(s, to, packet, &s->result->drops.egress);
		return;
	}
	priority = k->priority;
	if (port_idle(s, to, k)) { /* it needs no buffer */
		port_pass(s, to, packet);
		return;
	}
	if (!s->has_mmu) {
		port_put(s, to, packet);
		return;
	}
	full = store(s, node, to, k);
	if (full) {
		drop_packet(s, to, packet, full);
		return;
	}
	update_pause(s, node, port, priority);
	port_put(s, to, packet);
}
