/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts on a port: lost packets, missing receives, marks and CNPs, MTU, DSCP, the cable. */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* -- counters that mean one thing -------------------------------------------------------------- */

/* INSTEAD: only if the previous rule did not match, since drivers count the same packets there. */
enum { FEW_ARE_NORMAL = 1, SHOW_MTU = 2, INSTEAD = 4 };

#define DAMAGES "The link to the switch damages packets."
#define CABLE "Clean or replace the cable or transceiver; compare the FEC mode of both ends."
#define FLAPS "The link to the switch goes down and comes up again. No packet passes in that time, and " \
	"requests may time out."
#define LOGS "Read the reason in the logs of the kernel (dmesg) and the switch. Seat the cable and " \
	"transceiver again, or replace them; compare speed, autonegotiation and FEC mode of both ends."

/* Counters of mlx5, bnxt_re (new and old versions), irdma, mana and rxe, in this order. */
static const struct rule {
	unsigned flags;
	const char *verdict;
	enum doctor_source source;
	const char *const *names, *const *failed; /* failed: requests that were given up */
	const char *text, *remedy;
} rules[] = {
	{ FEW_ARE_NORMAL, "rnr", DOCTOR_HW,
	  NAMES("rnr_nak_retry_err", "rnr_naks_rcvd", "RNR received", "requester_rnr_nak", "rcvd_rnr_err"),
	  NAMES("req_rnr_retries_exceeded", "retry_rnr_exceeded_err"),
	  "Peers post too few receives: they refuse messages of this host (RNR NAK), and each waits "
	  "for a timer before it is sent again.",
	  "At the peers, post more receives and post them earlier, or enlarge the shared receive queue; "
	  "check that the thread that posts them gets CPU time." },
	{ FEW_ARE_NORMAL, "rnr-here", DOCTOR_HW,
	  NAMES("out_of_buffer", "rx_out_of_buffer", "RNR sent", "responder_rnr_nak", "send_rnr_err"), NULL,
	  "Programs on this host post too few receives: messages arrive without a posted receive.",
	  "Post more receives and post them earlier, or enlarge the shared receive queue; check that the "
	  "thread that posts them gets CPU time." },
	{ 0, "loss", DOCTOR_HW,
	  NAMES("packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err", "roce_adp_retrans",
		"seq_err_naks_rcvd", "to_retransmits", "RetransSegs", "tcpRetransSegs",
		"Nak Sequence Error", "Nak Sequence Error Implied", "RTO", "requester_oos_nak",
		"requester_timeout", "requester_implicit_nak", "rcvd_seq_err", "completer_retry_err"),
	  NAMES("req_transport_retries_exceeded", "max_retry_exceeded", "retry_exceeded_err"),
	  "Packets that this host sends, or their ACKs, are lost: it sends data again.",
	  "If the network is to be lossless, check PFC on the whole path (ccshim check --fabric, ccshim "
	  "plan headroom). If not, control congestion: ccshim run. If packets of a QP take several paths, "
	  "reordering counts here as well." },
	{ 0, "loss-in", DOCTOR_HW,
	  NAMES("out_of_sequence", "oos_drop_count", "Rcvd Out of order packets", "responder_oos",
		"out_of_seq_request"), NULL,
	  "Packets to this host are lost on their way, or overtake each other: sequence numbers are "
	  "missing.",
	  "Examine drops at the ports of all switches towards this host; at the senders, "
	  "'ccshim doctor' shows data that is sent again." },
	{ 0, "qdisc-drops", DOCTOR_QDISC, NAMES("qdisc_drops"), NULL,
	  "This host itself drops packets before they are sent, in the queue (qdisc) of the interface.",
	  "Give the qdisc a larger limit, let it mark (ECN) below that, or control the senders: ccshim "
	  "run. 'tc -s qdisc' shows which qdisc it is." },
	{ SHOW_MTU, "mtu", DOCTOR_ETHTOOL, NAMES("rx_oversize_pkts_phy", "rx_length_errors"), NULL,
	  "Packets arrive that are larger than this port accepts, and are dropped: the MTU of a peer or "
	  "switch is larger.",
	  "Set one MTU at both ends and all switches between them, 4200 or more for RoCE's 4096." },
	{ SHOW_MTU | INSTEAD, "mtu", DOCTOR_NETDEV, NAMES("rx_length_errors"), NULL,
	  "Packets arrive that are larger than this interface accepts, and are dropped: the MTU of a "
	  "peer or switch is larger.",
	  "Set one MTU at both ends and all switches between them, 4200 or more for RoCE's 4096." },
	{ 0, "bad-link", DOCTOR_ETHTOOL,
	  NAMES("rx_crc_errors_phy", "rx_symbol_err_phy", "rx_pcs_symbol_err_phy"), NULL, DAMAGES, CABLE },
	{ INSTEAD, "bad-link", DOCTOR_PORT, NAMES("symbol_error", "local_link_integrity_errors"), NULL,
	  DAMAGES, CABLE },
	{ 0, "link-down", DOCTOR_ETHTOOL, NAMES("link_down_events_phy"), NULL, FLAPS, LOGS },
	{ INSTEAD, "link-down", DOCTOR_PORT, NAMES("link_downed", "link_error_recovery"), NULL, FLAPS, LOGS },
	{ INSTEAD, "link-down", DOCTOR_HW, NAMES("link_downed"), NULL, FLAPS, LOGS },
	{ 0, "bad-link", DOCTOR_HW, NAMES("rx_icrc_encapsulated", "CRC errors"), NULL,
	  "RDMA packets arrive damaged.",
	  "Check whether a switch or NIC on the path rewrites headers that the ICRC covers, and whether "
	  "a cable is damaged." },
};

static bool judge_rule(const struct doctor_pair *p, const struct rule *r)
{
	struct doctor_finding f = doctor_finding_at(p, r->verdict, DOCTOR_PROBLEM);
	double failed = 0, n;

	if (r->failed)
		failed = doctor_gather(&f, p, r->source, r->failed);
	n = failed + doctor_gather(&f, p, r->source, r->names);
	if (!(n > 0))
		return false;
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
	return true;
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
	struct doctor_finding f = doctor_finding_at(p, "no-cnps", DOCTOR_PROBLEM), unused = { 0 };
	const double marks = doctor_gather(&f, p, DOCTOR_HW, NAMES(
		"np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd"));
	const double cnps = doctor_gather(&unused, p, DOCTOR_HW, NAMES(
		"np_cnp_sent", "tx_cnp_pkts", "cnpSent"));

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
	struct doctor_finding f = doctor_finding_at(p, "no-cnps-back", DOCTOR_NOTE), unused = { 0 };
	const double marks = doctor_gather(&f, p, DOCTOR_QDISC, NAMES("qdisc_marks"));
	const double cnps = doctor_gather(&unused, p, DOCTOR_HW, NAMES(
		"rp_cnp_handled", "rp_cnp_ignored", "rx_cnp_pkts", "cnpHandled", "cnpIgnored"));

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
	const double ignored = doctor_gather(&f, p, DOCTOR_HW, NAMES("rp_cnp_ignored", "cnpIgnored"));
	const double handled = doctor_gather(&f, p, DOCTOR_HW, NAMES("rp_cnp_handled", "cnpHandled"));

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
static double lossless_bytes(const struct doctor_pair *p, const char *direction, struct doctor_finding *f)
{
	char name[32];
	double sum = 0;

	for (unsigned prio = 0; prio < NIC_PRIORITIES; prio++) {
		double n;

		if (!(p->is->dcb.pfc & 1u << prio))
			continue;
		snprintf(name, sizeof(name), "%s_prio%u_bytes", direction, prio);
		n = doctor_increase(p, DOCTOR_ETHTOOL, name);
		doctor_add_figure(f, true, n, "%s", name);
		sum += n;
	}
	return sum;
}

/*
 * The priorities with PFC carry fewer bytes than RDMA alone has: the rest went in others. A port's
 * counters include headers, RDMA's do not, so that the comparison errs on the safe side.
 */
static void judge_dscp(const struct doctor_pair *p, const char *direction, const char *text, const char *remedy)
{
	struct doctor_finding f = doctor_finding_at(p, "dscp", DOCTOR_PROBLEM);
	char name[48];
	double rdma, lossless;

	if (!p->is->has_dcb || !p->is->dcb.pfc)
		return;
	snprintf(name, sizeof(name), "%s_vport_rdma_unicast_bytes", direction);
	rdma = doctor_gather(&f, p, DOCTOR_ETHTOOL, NAMES(name));
	lossless = lossless_bytes(p, direction, &f);
	if (rdma < 1e6 || lossless >= 0.9 * rdma)
		return;
	snprintf(f.text, sizeof(f.text), "%.0f %% of the RDMA bytes that %s", 100 * (1 - lossless / rdma), text);
	f.remedy = remedy;
	doctor_report(p->d, &f);
}

void doctor_judge_port(const struct doctor_pair *p)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (!found || !(rules[i].flags & INSTEAD))
			found = judge_rule(p, &rules[i]);
	judge_marks(p);
	judge_own_marks(p);
	judge_cnps(p);
	judge_dscp(p, "rx", "arrive are in priorities without PFC: peers "
		   "use another DSCP than this host, or a switch changes it.",
		   "Set the same traffic class at all hosts (option dscp, NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS), "
		   "and compare the DSCP-to-priority tables: ccshim check --fabric, ccshim plan qos.");
	judge_dscp(p, "tx", "this host sends are in priorities without PFC: "
		   "programs use a DSCP that does not lead to the lossless priority.",
		   "Set the traffic class of the programs (option dscp, NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS), "
		   "or map their DSCP: dcb app add dev DEV dscp-prio DSCP:PRIORITY.");
}
