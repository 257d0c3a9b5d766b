/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts on a port's PAUSE frames, and on packets that it discards in spite of them. */
#include "doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* More PAUSE frames a second than this are too many: the UCloud article's second goal. */
#define PAUSES_MOST 5.0
/* From this share of the time on, a pause is a storm. */
#define STORM 0.5
/* The longest time that a PAUSE frame asks for, in bits: 65535 quanta of 512. */
#define QUANTA_BITS (65535 * 512.0)

/*
 * PAUSE frames of one direction, and the greatest share of the time that a priority was paused.
 * Where the driver does not count the time, the frames only give an upper bound.
 */
struct pauses {
	double frames, share, bound;
	bool is_measured;
};

static struct pauses gather_pauses(struct doctor_finding *f, const struct doctor_pair *p,
				   enum doctor_meaning frames, enum doctor_meaning time)
{
	const double interval_us = 1e6 * p->d->interval_s;
	struct pauses s = { 0 };

	for (int prio = DOCTOR_NO_PRIORITY; prio < NIC_PRIORITIES; prio++) {
		const double n = doctor_gather(f, p, DOCTOR_BIT(frames), prio);

		s.frames += n;
		s.is_measured |= doctor_has(p->is, DOCTOR_BIT(time), prio);
		s.share = fmax(s.share, fmin(doctor_gather(f, p, DOCTOR_BIT(time), prio) / interval_us, 1));
		if (p->is->speed_bps > 0)
			s.bound = fmax(s.bound, fmin(n * QUANTA_BITS / p->is->speed_bps / p->d->interval_s, 1));
	}
	return s;
}

static void report_pauses(const struct doctor_pair *p, struct doctor_finding *f, const struct pauses *s,
			  const char *text, const char *remedy)
{
	const double share = s->is_measured ? s->share : s->bound;

	if (s->is_measured || share > 0)
		snprintf(f->text, sizeof(f->text), "%s %s%.*f %% of the time.%s", text,
			 s->is_measured ? "" : "at most ", share < 0.1, 100 * share,
			 s->is_measured ? "" : " The driver does not count the time.");
	else
		snprintf(f->text, sizeof(f->text), "%s for a time that the driver does not count.", text);
	f->remedy = remedy;
	doctor_report(p->d, f);
}

/* The switch stops this port. */
static void judge_received(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "paused", DOCTOR_PROBLEM);
	const struct pauses s = gather_pauses(&f, p, DOCTOR_RX_PAUSE, DOCTOR_RX_PAUSE_US);

	if (s.share >= STORM) {
		f.verdict = "pause-storm";
		report_pauses(p, &f, &s, "A PAUSE storm reaches this port: the switch forbids it to send",
			      "Find the port where it begins: on each hop, follow the port that receives PAUSE "
			      "frames and is not congested, up to a host that sends such frames but does not "
			      "receive any. Enable the PFC watchdog of the switches.");
	} else if (s.frames / p->d->interval_s > PAUSES_MOST) {
		report_pauses(p, &f, &s, "A slow port follows the switch: its buffer fills up and it stops "
			      "this port, with everything that shares the priority,",
			      "Let the switch mark earlier than it pauses (ccshim plan ecn), and control the "
			      "senders (ccshim run). Compare link speeds on the path: the slow port may be a host "
			      "whose own 'ccshim doctor' says 'pausing'.");
	}
}

/* This host stops the switch. */
static void judge_sent(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "pausing", DOCTOR_PROBLEM);
	const double events = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_STORM), DOCTOR_NO_PRIORITY);
	const struct pauses s = gather_pauses(&f, p, DOCTOR_TX_PAUSE, DOCTOR_TX_PAUSE_US);

	if (events <= 0 && s.share < STORM && s.frames / p->d->interval_s <= PAUSES_MOST)
		return;
	doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_STALL), DOCTOR_NO_PRIORITY);
	if (events > 0 || s.share >= STORM) {
		f.verdict = "pause-storm";
		report_pauses(p, &f, &s, "This host sends a PAUSE storm, which blocks others' traffic: it forbids "
			      "the switch to send", "Take the host out of service or restart its RDMA programs: "
			      "the NIC cannot pass packets on. Check its firmware, PCIe and memory; enable "
			      "the NIC's stall prevention and the switches' PFC watchdog.");
	} else {
		report_pauses(p, &f, &s, "This host is the slow port: it takes packets more slowly than they arrive "
			      "and forbids the switch to send",
			      "Check the PCIe link's width and speed, the IOMMU, the NUMA node of buffers, the "
			      "number of QPs and memory regions, and that receives are posted in time.");
	}
}

/* Whether most RDMA bytes that arrive are of this priority; false if the driver does not count them. */
static bool carries_rdma(const struct doctor_pair *p, int prio)
{
	const double rdma = doctor_gather(NULL, p, DOCTOR_BIT(DOCTOR_RX_RDMA_BYTES), DOCTOR_NO_PRIORITY);

	return rdma > 1e6 && doctor_gather(NULL, p, DOCTOR_BIT(DOCTOR_RX_BYTES), prio) > rdma / 2;
}

/* Packets that the NIC discards, of one priority; returns their number. */
static double judge_discards(const struct doctor_pair *p, int prio)
{
	struct doctor_finding f = doctor_finding_at(p, "drops", DOCTOR_PROBLEM);
	const double lost = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_DISCARD), prio);
	const double pauses = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_TX_PAUSE), prio);
	const bool lossless = p->is->has_dcb ? p->is->dcb.pfc & 1u << prio : pauses > 0;

	if (!(lost > 0))
		return 0;
	if (!lossless) {
		if (prio != (int)p->d->priority && !carries_rdma(p, prio))
			f.severity = DOCTOR_NOTE;
		snprintf(f.text, sizeof(f.text), "The NIC discards packets of priority %d, %s: they are lost where "
			 "a buffer is full.", prio, p->is->has_dcb ? "for which PFC is off"
			 : "and whether PFC is on for it cannot be read");
		f.remedy = "If it carries RDMA, switch PFC on for it at the host and all switches (dcb pfc set), "
			   "or control congestion: ccshim run. --priority names the priority of RDMA traffic.";
	} else if (pauses > 0) {
		f.verdict = "headroom";
		snprintf(f.text, sizeof(f.text), "The NIC discards packets of priority %d although it sends PAUSE "
			 "frames: they take effect too late.", prio);
		f.remedy = "Enlarge the NIC's receive buffer of this priority and its headroom for the cable's "
			   "length and the MTU (ccshim plan headroom); check that the switch obeys PFC there.";
	} else {
		snprintf(f.text, sizeof(f.text), "There are drops where pauses should be: PFC is on for priority "
			 "%d, yet the NIC discards its packets and sends no PAUSE frame.", prio);
		f.remedy = "Check that the priority has a buffer with a separate XOFF threshold (mlnx_qos, dcb "
			   "buffer), and that global pause is off.";
		doctor_add_figure(&f, true, 0, "PAUSE frames sent, priority %d", prio);
	}
	doctor_report(p->d, &f);
	return lost;
}

/* Packets that the NIC discards and counts without their priority; of_priorities: with it. */
static void judge_all_discards(const struct doctor_pair *p, double of_priorities)
{
	struct doctor_finding f = doctor_finding_at(p, "drops", DOCTOR_PROBLEM);
	const double lost = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_DISCARD), DOCTOR_NO_PRIORITY);
	bool counts_pauses = false;
	double pauses = 0;

	if (!(lost > 1.1 * of_priorities))
		return;
	for (int prio = DOCTOR_NO_PRIORITY; prio < NIC_PRIORITIES; prio++) {
		counts_pauses |= doctor_has(p->is, DOCTOR_BIT(DOCTOR_TX_PAUSE), prio);
		pauses += doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_TX_PAUSE), prio);
	}
	if (lost < p->d->interval_s)
		f.severity = DOCTOR_NOTE;
	snprintf(f.text, sizeof(f.text), "The NIC discards packets for lack of buffers: they come faster than the "
		 "host takes them, or than the link sends them%s.", pauses > 0
		 ? ", although it sends PAUSE frames" : counts_pauses ? ", and it sends no PAUSE frame" : "");
	f.remedy = "If they are RDMA packets, switch PFC on for their priority at the host and all switches, and "
		   "control congestion: ccshim run. If not, enlarge the interface's rings (ethtool -G). Check the "
		   "PCIe link's width and speed.";
	doctor_report(p->d, &f);
}

void doctor_judge_pauses(const struct doctor_pair *p)
{
	double discards = 0;

	judge_received(p);
	judge_sent(p);
	for (int prio = 0; prio < NIC_PRIORITIES; prio++)
		discards += judge_discards(p, prio);
	judge_all_discards(p, discards);
}

/* Whether congestion is the problem, which DCQCN cures; not a cable, an MTU, a DSCP or missing
 * receives. */
static bool is_congestion(const struct doctor_finding *f)
{
	static const char *const verdicts[] = {
		"loss", "loss-in", "qdisc-drops", "no-cnps", "cnps-ignored", "paused", "pausing",
		"pause-storm", "drops", "headroom"
	};
	bool is = false;

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(*verdicts); i++)
		is |= strcmp(f->verdict, verdicts[i]) == 0;
	return is && f->severity == DOCTOR_PROBLEM;
}

void doctor_judge_dcqcn(const struct doctor_pair *p, size_t first)
{
	struct doctor_finding f = doctor_finding_at(p, "dcqcn-off", DOCTOR_PROBLEM);
	uint64_t controlled, observed;
	bool congested = false;

	if (p->is->np && p->is->rp)
		return;
	for (size_t i = first; i < p->d->findings; i++)
		congested |= is_congestion(&p->d->finding[i]);
	doctor_count_controlled(p->d, &controlled, &observed);
	if (!congested || controlled)
		return;
	if (p->is->np >= 0)
		doctor_add_figure(&f, false, (double)p->is->np, "ecn/roce_np/enable/%u", p->d->priority);
	if (p->is->rp >= 0)
		doctor_add_figure(&f, false, (double)p->is->rp, "ecn/roce_rp/enable/%u", p->d->priority);
	if (observed)
		doctor_add_figure(&f, false, (double)observed, "queue pairs that ccshim only observes");
	snprintf(f.text, sizeof(f.text), "The NIC's DCQCN is off for priority %u and %s: only PAUSE "
		 "frames and losses slow the senders down.", p->d->priority, observed
		 ? "ccshim only observes, and controls no queue pair" : "no process runs under ccshim");
	f.remedy = observed
		? "Switch control on with ccshim set --all mode=enforce, or enable DCQCN at both ends of each NIC "
		  "(/sys/class/net/DEV/ecn), with marking at the switches."
		: "Control the programs with ccshim run, or enable DCQCN at both ends of each NIC "
		  "(/sys/class/net/DEV/ecn), with marking at the switches.";
	doctor_report(p->d, &f);
}
