/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notification point: a CE mark of a leased peer's packet is a CNP to its agent, one of
 * an answer to a READ is a CNP for the flow here that reads; at most one per flow and
 * interval. Flows live in a table of fixed size. One whose interval is over
 * differs in nothing from one never seen but in its count of marks, so the oldest
 * gives way, and nothing has to be aged.
 */
#include "agent/priv.h"

enum { SETS = 16384, WAYS = 4 };

int ccs_np_open(struct ccs_agent *a)
{
	a->np = calloc(SETS * WAYS, sizeof(*a->np));
	return a->np ? 0 : -1;
}

static struct ccs_np_flow *flow_of(struct ccs_agent *a, uint64_t key)
{
	struct ccs_np_flow *set = &a->np[ccs_mix(key ^ a->salt) % SETS * WAYS], *oldest = set;

	for (struct ccs_np_flow *f = set; f < set + WAYS; f++) {
		if (f->key == key)
			return f;
		if (!f->key || f->np.next_us < oldest->np.next_us)
			oldest = f;
		if (!f->key)
			break;
	}
	*oldest = (struct ccs_np_flow){
		.key = key,
		.np = ccs_dcqcn_np_init((double)a->config.interval_ns / 1e3),
	};
	return oldest;
}

enum whose { THEIRS, OURS, NEITHERS };

/*
 * Whose flow the data of a packet are: the sender's, or, in an answer to a READ, the
 * receiver's. On one QP there may be both. Requests to READ and acknowledgements carry none:
 * to slow the flow that they belong to would not help the way on which they were marked.
 */
static enum whose whose_data(uint8_t opcode)
{
	switch (opcode & 0x1f) {         /* the upper bits are the transport service */
	case 0x0d: case 0x0e: case 0x0f: case 0x10: /* READ response */
		return OURS;
	case 0x0c: case 0x11: case 0x12: /* READ request, acknowledgements */
		return NEITHERS;
	default:
		return THEIRS;
	}
}

static bool is_asked_for(const struct ccs_agent *a, const struct ccs_peer *p, enum whose whose,
			 uint32_t qpn, uint64_t now_ns)
{
	return whose == THEIRS ? ccs_peer_leased(p, now_ns) :
	       whose == OURS && ccs_inbound_has(a, p, qpn);
}

void ccs_np_mark(struct ccs_agent *a, const struct ccs_ends *ends, uint8_t opcode, uint32_t qpn)
{
	const enum whose whose = whose_data(opcode);
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_peer *p = ccs_peer_find(a, ends);
	struct ccs_np_flow *f;

	if (p && p->ingress)
		ccs_port_marked(p->ingress);
	if (p && p->inbound.port)
		ccs_port_marked(p->inbound.port);
	if (!p || !is_asked_for(a, p, whose, qpn, now_ns)) {
		a->totals.ce_unasked++;
		return;
	}
	f = flow_of(a, (uint64_t)p->serial << 25 | (uint64_t)(whose == OURS) << 24 | qpn);
	f->marked++;
	if (!ccs_dcqcn_np_ce(&f->np, (double)now_ns / 1e3))
		return;
	if (whose == OURS)
		ccs_inbound_cnp(a, p, qpn);
	else
		ccs_message_cnp(a, p, qpn, f->marked);
	f->marked = 0;
}
