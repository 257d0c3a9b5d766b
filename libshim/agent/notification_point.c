/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CE mark on a packet of a leased peer causes a CNP to that peer's agent; a mark on a READ
 * response causes a CNP for the local flow that READs; at most one per flow and interval. The
 * table of flows has a fixed size. An entry whose interval is over holds no state except its
 * count of marks, so the oldest entry is replaced and no ageing is needed.
 */
#include "agent/events.h"

#include <errno.h>

#include "agent/cnp/cnp.h"
#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/telemetry.h"

enum { SETS = 16384, WAYS = 4 };

/* Packets may have made-up QP numbers: the number of checks is limited. */
#define CHECKS_PER_S 2000u
#define RECHECK_LIVE_NS 10000000000ull
#define RECHECK_REFUSED_NS 100000000ull

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

enum data_kind { DATA_OF_SENDER, DATA_OF_READER, NO_DATA };

/*
 * The flow that controls the data of a packet: the sender's, or, for a READ response, the
 * receiver's. One QP may have both. READ requests and acknowledgements carry no data: slowing
 * their flow would not relieve the direction in which they were marked.
 */
static enum data_kind data_kind_of(uint8_t opcode)
{
	switch (opcode & 0x1f) {         /* the upper bits are the transport service */
	case 0x0d: case 0x0e: case 0x0f: case 0x10: /* READ response */
		return DATA_OF_READER;
	case 0x0c: case 0x11: case 0x12: /* READ request, acknowledgements */
		return NO_DATA;
	default:
		return DATA_OF_SENDER;
	}
}

static bool is_cnp_requested(const struct ccs_agent *a, const struct ccs_peer *p,
			     enum data_kind kind, uint32_t qpn, uint64_t now_ns)
{
	return kind == DATA_OF_SENDER ? ccs_peer_leased(p, now_ns) :
	       kind == DATA_OF_READER && ccs_inbound_has(a, p, qpn);
}

static bool claim_check(struct ccs_agent *a, uint64_t now_ns)
{
	if (a->qp_checks_ns + 1000000000 < now_ns)
		a->qp_checks_ns = now_ns - 1000000000;
	if (a->qp_checks_ns >= now_ns)
		return false;
	a->qp_checks_ns += 1000000000 / CHECKS_PER_S;
	return true;
}

/* 0: it can receive, or that cannot be checked. */
static int check_qp(struct ccs_agent *a, uint32_t qpn, char device[64])
{
	const int error = a->config.check_qp(a->config.check_arg, qpn, device);

	if (!error || error == ENOENT)
		return error;
	*device = '\0';
	ccs_agent_warn(a, CCS_AGENT_WARN_QPS,
		       "cannot check whether the queue pairs exist for which marked packets arrive (%s): "
		       "marks count without it", strerror(error));
	return 0;
}

/* Whether the mark is for a QP of this host that, if known, is connected to the sender. The
 * owner of a registered QP was checked. If no check is allowed now, the result of the last check
 * holds. */
static bool is_for_live_qp(struct ccs_agent *a, const struct ccs_peer *p, struct ccs_np_flow *f,
			   uint32_t qpn, uint64_t now_ns)
{
	char device[64] = "";

	if (a->config.check_qp && ccs_inbound_has(a, p, qpn))
		return true;
	if (!a->config.check_qp || now_ns < f->check_ns || !claim_check(a, now_ns))
		return !f->refused;
	f->refused = check_qp(a, qpn, device) || ccs_cnp_feed_has_other_peer(a, device, qpn, p);
	f->check_ns = now_ns + (f->refused ? RECHECK_REFUSED_NS : RECHECK_LIVE_NS);
	return !f->refused;
}

void ccs_np_mark(struct ccs_agent *a, const struct ccs_ends *ends, uint8_t opcode, uint32_t qpn)
{
	const enum data_kind kind = data_kind_of(opcode);
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_peer *p = ccs_peer_find(a, ends);
	struct ccs_np_flow *f;

	if (!p || !is_cnp_requested(a, p, kind, qpn, now_ns)) {
		a->totals.ce_unasked++;
		return;
	}
	f = flow_of(a, (uint64_t)p->serial << 25 | (uint64_t)(kind == DATA_OF_READER) << 24 | qpn);
	if (kind == DATA_OF_SENDER && !is_for_live_qp(a, p, f, qpn, now_ns)) {
		a->totals.ce_no_qp++;
		return;
	}
	f->marked++;
	if (!ccs_dcqcn_np_ce(&f->np, (double)now_ns / 1e3))
		return;
	if (kind == DATA_OF_READER)
		ccs_inbound_cnp(a, p, qpn);
	else
		ccs_send_cnp(a, p, qpn, f->marked);
	f->marked = 0;
}
