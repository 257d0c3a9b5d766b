/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts on a port: lost packets, missing receives, marks and CNPs, MTU, DSCP, the cable. */
#include "doctor.h"

#include <stdio.h>

/* -- counters that mean one thing -------------------------------------------------------------- */

enum { FEW_ARE_NORMAL = 1, SHOW_MTU = 2, NEEDS_PATH = 4 };

static const struct rule {
	unsigned flags;
	const char *verdict;
	uint64_t means, failed;          /* failed: requests that were given up */
	const char *text, *remedy;
} rules[] = {
	{ FEW_ARE_NORMAL, "rnr", DOCTOR_BIT(DOCTOR_RNR), DOCTOR_BIT(DOCTOR_RNR_FAILED),
	  "Peers post too few receives: they refuse messages of this host (RNR NAK), and each waits "
	  "for a timer before it is sent again.",
	  "At the peers, post more receives and post them earlier, or enlarge the shared receive queue; "
	  "check that the thread that posts them gets CPU time." },
	{ FEW_ARE_NORMAL, "rnr-here", DOCTOR_BIT(DOCTOR_RNR_HERE), 0,
	  "Programs on this host post too few receives: messages arrive without a posted receive.",
	  "Post more receives and post them earlier, or enlarge the shared receive queue; check that the "
	  "thread that posts them gets CPU time." },
	{ NEEDS_PATH, "loss", DOCTOR_BIT(DOCTOR_NAK) | DOCTOR_BIT(DOCTOR_RESENT), DOCTOR_BIT(DOCTOR_FAILED),
	  "Packets that this host sends, or their ACKs, are lost: it sends data again.",
	  "If the network is to be lossless, check PFC on the whole path (ccshim check --fabric, ccshim "
	  "plan headroom). If not, control congestion: ccshim run. If packets of a QP take several paths, "
	  "reordering counts here as well." },
	{ 0, "loss", DOCTOR_BIT(DOCTOR_XMIT_DISCARD), 0,
	  "The port discards packets before they are sent: it is down, or its credits stay away for too long.",
	  "Follow the path to the port that gives no credits: ibdiagnet or perfquery of all switches. Control "
	  "the senders to it: ccshim run." },
	{ 0, "loss-in", DOCTOR_BIT(DOCTOR_REORDERED), 0,
	  "Packets to this host are lost on their way, or overtake each other: sequence numbers are "
	  "missing.",
	  "Examine drops at the ports of all switches towards this host; at the senders, "
	  "'ccshim doctor' shows data that is sent again." },
	{ 0, "no-path", DOCTOR_BIT(DOCTOR_NO_ROUTE), 0,
	  "RDMA packets have no route or neighbor, or arrive in a VLAN that is not set up here.",
	  "Check the VLAN at both ends and at the switches, the routes (ip route get PEER) and the GID index." },
	{ SHOW_MTU, "path-mtu", DOCTOR_BIT(DOCTOR_INVALID), 0,
	  "Peers refuse requests of this host as invalid: its queue pairs have a larger path MTU than the "
	  "peers', or messages are larger than their receives.",
	  "Set the same path MTU at both ends (ibv_modify_qp; programs take it from active_mtu, which follows "
	  "the interface's MTU), and compare message and receive sizes. The peers count local length errors." },
	{ SHOW_MTU, "path-mtu", DOCTOR_BIT(DOCTOR_LENGTH), 0,
	  "Requests arrive with a wrong length: peers have a larger path MTU than the queue pairs here, or "
	  "send messages that are larger than the posted receives.",
	  "Set the same path MTU at both ends (ibv_modify_qp; programs take it from active_mtu, which follows "
	  "the interface's MTU), and compare message and receive sizes. The peers count remote invalid requests." },
	{ 0, "qdisc-drops", DOCTOR_BIT(DOCTOR_QDISC_DROP), 0,
	  "This host itself drops packets before they are sent, in the queue (qdisc) of the interface.",
	  "Give the qdisc a larger limit, let it mark (ECN) below that, or control the senders: ccshim "
	  "run. 'tc -s qdisc' shows which qdisc it is." },
	{ SHOW_MTU, "mtu", DOCTOR_BIT(DOCTOR_OVERSIZE), 0,
	  "Packets arrive that are larger than this port accepts, and are dropped: the MTU of a peer or "
	  "switch is larger.",
	  "Set one MTU at both ends and all switches between them, 4200 or more for RoCE's 4096." },
	{ 0, "bad-link", DOCTOR_BIT(DOCTOR_DAMAGED), 0, "The link to the switch damages packets.",
	  "Clean or replace the cable or transceiver; compare the FEC mode of both ends." },
	{ 0, "bad-link", DOCTOR_BIT(DOCTOR_DAMAGED_BEFORE), 0,
	  "Packets arrive that an earlier link has damaged, not the link to this port.",
	  "Find the port with CRC or symbol errors on the path from the peers, and clean or replace its cable." },
	{ 0, "link-down", DOCTOR_BIT(DOCTOR_DOWN), 0,
	  "The link to the switch goes down and comes up again. No packet passes in that time, and "
	  "requests may time out.",
	  "Read the reason in the logs of the kernel (dmesg) and the switch. Seat the cable and "
	  "transceiver again, or replace them; compare speed, autonegotiation and FEC mode of both ends." },
	{ 0, "bad-link", DOCTOR_BIT(DOCTOR_ICRC), 0, "RDMA packets arrive damaged.",
	  "Check whether a switch or NIC on the path rewrites headers that the ICRC covers, and whether "
	  "a cable is damaged." },
};

static void judge_rule(const struct doctor_pair *p, const struct rule *r)
{
	struct doctor_finding f = doctor_finding_at(p, r->verdict, DOCTOR_PROBLEM);
	const double failed = doctor_gather(&f, p, r->failed, DOCTOR_NO_PRIORITY);
	const double n = failed + doctor_gather(&f, p, r->means, DOCTOR_NO_PRIORITY);

	if (!(n > 0))
		return;
	/* Less than one a second does no harm; it occurs whenever programs start. */
	if (r->flags & FEW_ARE_NORMAL && !(failed > 0) && n < p->d->interval_s)
		f.severity = DOCTOR_NOTE;
	snprintf(f.text, sizeof(f.text), "%s%s", r->text, failed > 0
		 ? " Some requests failed: all retries were in vain, and their queue pairs are in the error "
		   "state." : "");
	f.remedy = r->remedy;
	if (r->flags & SHOW_MTU && p->is->mtu > 0)
		doctor_add_figure(&f, false, (double)p->is->mtu, "MTU of %s", p->is->interface);
	doctor_report(p->d, &f);
}

/* -- marks and CNPs ---------------------------------------------------------------------------- */

static double agent_increase(const struct doctor *d, double was, double is)
{
	return d->before.agent.present && d->after.agent.present && is > was ? is - was : 0;
}

static void add_switch(struct doctor_finding *f, const char *end, long value)
{
	if (value >= 0)
		doctor_add_figure(f, false, (double)value, "ecn/roce_%s/enable", end);
}

/* Marked packets arrive, but the NIC and the agent do not send CNPs. */
static void judge_marks(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "no-cnps", DOCTOR_PROBLEM);
	const double marks = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_MARKED), DOCTOR_NO_PRIORITY);
	const double cnps = doctor_gather(NULL, p, DOCTOR_BIT(DOCTOR_CNP_SENT), DOCTOR_NO_PRIORITY);

	if (!(marks > 0) || cnps > 0 ||
	    agent_increase(p->d, p->d->before.agent.cnps_sent, p->d->after.agent.cnps_sent) > 0)
		return;
	doctor_add_figure(&f, true, 0, "CNPs sent");
	add_switch(&f, "np", p->is->np);
	snprintf(f.text, sizeof(f.text), "Marked packets arrive, but this host sends no CNPs: "
		 "the senders do not learn of the congestion%s.", p->is->np == 0
		 ? ", since the NIC's DCQCN is off at the receiving end" : "");
	f.remedy = "Enable the NIC's notification point for the priority of RDMA traffic "
		   "(ecn/roce_np/enable), or run ccshimd, which sends CNPs to hosts under ccshim.";
	doctor_report(p->d, &f);
}

/* This host's own queue marks what it sends, and no CNP returns. */
static void judge_own_marks(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "no-cnps-back", DOCTOR_NOTE);
	const double marks = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_QDISC_MARK), DOCTOR_NO_PRIORITY);
	const double cnps = doctor_gather(NULL, p, DOCTOR_BIT(DOCTOR_CNP_HANDLED) |
					  DOCTOR_BIT(DOCTOR_CNP_IGNORED), DOCTOR_NO_PRIORITY);

	if (!(marks > 0) || cnps > 0 || agent_increase(p->d, p->d->before.agent.cnps_received,
						       p->d->after.agent.cnps_received) > 0)
		return;
	doctor_add_figure(&f, true, 0, "CNPs received");
	snprintf(f.text, sizeof(f.text), "The queue of this interface marks packets, and no CNP comes back. "
		 "If they are RDMA packets, the peers do not answer marks.");
	f.remedy = "Run ccshimd at the peers, or enable the notification point of their NICs.";
	doctor_report(p->d, &f);
}

static void judge_cnps(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "cnps-ignored", DOCTOR_PROBLEM);
	const double ignored = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_CNP_IGNORED), DOCTOR_NO_PRIORITY);
	const double handled = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_CNP_HANDLED), DOCTOR_NO_PRIORITY);

	if (!(ignored > 0) || handled > ignored)
		return;
	add_switch(&f, "rp", p->is->rp);
	snprintf(f.text, sizeof(f.text), "CNPs arrive and the NIC ignores them: it does not slow down where "
		 "the network is congested%s.", p->is->rp == 0
		 ? ", since its DCQCN is off at the sending end" : "");
	f.remedy = "Enable the NIC's reaction point for the priority of RDMA traffic (ecn/roce_rp/enable); or "
		   "leave it off and control the senders with ccshim run.";
	doctor_report(p->d, &f);
}

/* -- the priority of RDMA traffic -------------------------------------------------------------- */

/* Bytes of all priorities with PFC. */
static double lossless_bytes(const struct doctor_pair *p, bool rx, struct doctor_finding *f)
{
	const enum doctor_meaning bytes = rx ? DOCTOR_RX_BYTES : DOCTOR_TX_BYTES;
	double sum = 0;

	for (int prio = 0; prio < NIC_PRIORITIES; prio++) {
		double n;

		if (!(p->is->dcb.pfc & 1u << prio))
			continue;
		n = doctor_gather(NULL, p, DOCTOR_BIT(bytes), prio);
		doctor_add_figure(f, true, n, "%s_prio%d_bytes", rx ? "rx" : "tx", prio);
		sum += n;
	}
	return sum;
}

/*
 * The priorities with PFC carry fewer bytes than RDMA alone has: the rest went in others. A port's
 * counters include headers, RDMA's do not, so that the comparison errs on the safe side.
 */
static void judge_dscp(const struct doctor_pair *p, bool rx, const char *text, const char *remedy)
{
	struct doctor_finding f = doctor_finding_at(p, "dscp", DOCTOR_PROBLEM);
	double rdma, lossless;

	if (!p->is->has_dcb || !p->is->dcb.pfc)
		return;
	rdma = doctor_gather(&f, p, DOCTOR_BIT(rx ? DOCTOR_RX_RDMA_BYTES : DOCTOR_TX_RDMA_BYTES),
			     DOCTOR_NO_PRIORITY);
	lossless = lossless_bytes(p, rx, &f);
	if (rdma < 1e6 || lossless >= 0.9 * rdma)
		return;
	snprintf(f.text, sizeof(f.text), "%.0f %% of the RDMA bytes that %s", 100 * (1 - lossless / rdma), text);
	f.remedy = remedy;
	doctor_report(p->d, &f);
}

void doctor_judge_port(const struct doctor_pair *p)
{
	const bool has_path = !doctor_judge_path(p);

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (has_path || !(rules[i].flags & NEEDS_PATH))
			judge_rule(p, &rules[i]);
	judge_marks(p);
	judge_own_marks(p);
	judge_cnps(p);
	judge_dscp(p, true, "arrive are in priorities without PFC: peers "
		   "use another DSCP than this host, or a switch changes it.",
		   "Set the same traffic class at all hosts (option dscp, NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS), "
		   "and compare the DSCP-to-priority tables: ccshim check --fabric, ccshim plan qos.");
	judge_dscp(p, false, "this host sends are in priorities without PFC: "
		   "programs use a DSCP that does not lead to the lossless priority.",
		   "Set the traffic class of the programs (option dscp, NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS), "
		   "or map their DSCP: dcb app add dev DEV dscp-prio DSCP:PRIORITY.");
}
