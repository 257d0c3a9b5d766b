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

/* The increase of a counter of a priority, under the names that drivers have for it. */
static double gather_priority(struct doctor_finding *f, const struct doctor_pair *p, const char *const *formats,
			      unsigned prio)
{
	char text[48];
	const char *const name[] = { text, NULL };
	double sum = 0;

	for (; *formats; formats++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), *formats, prio);
#pragma GCC diagnostic pop
		sum += doctor_gather(f, p, DOCTOR_ETHTOOL, name);
	}
	return sum;
}

static const char *const received[] = { "rx_prio%u_pause", "rx_pfc_ena_frames_pri%u", "rx_priority_%u_xoff.nic", NULL };
static const char *const sent[] = { "tx_prio%u_pause", "tx_pfc_ena_frames_pri%u", "tx_priority_%u_xoff.nic", NULL };
static const char *const discarded[] = { "rx_prio%u_discards", "rx_prio%u_buf_discard", NULL };

/* PAUSE frames of one direction, and the greatest share of the time that a priority was paused. */
struct pauses {
	double frames, share;
	bool measured;                   /* the driver counts the time; if not, share is an upper bound */
};

static void add_share(struct pauses *s, const struct doctor_pair *p, double frames, double duration_us, bool measured)
{
	const double interval_us = 1e6 * p->d->interval_s;
	double share = 0;

	if (measured)
		share = duration_us / interval_us;
	else if (p->is->speed_bps > 0)
		share = frames * QUANTA_BITS / p->is->speed_bps * 1e6 / interval_us;
	s->frames += frames;
	s->measured |= measured;
	s->share = fmax(s->share, fmin(share, 1));
}

static struct pauses gather_pauses(struct doctor_finding *f, const struct doctor_pair *p, const char *direction,
				   const char *const *formats)
{
	struct pauses s = { 0 };
	char name[48];
	const char *const names[] = { name, NULL };
	double frames;

	for (unsigned prio = 0; prio < NIC_PRIORITIES; prio++) {
		frames = gather_priority(f, p, formats, prio);
		snprintf(name, sizeof(name), "%s_prio%u_pause_duration", direction, prio);
		add_share(&s, p, frames, doctor_gather(f, p, DOCTOR_ETHTOOL, names),
			  doctor_has(p->is, DOCTOR_ETHTOOL, name));
	}
	snprintf(name, sizeof(name), "%s_global_pause", direction);
	frames = doctor_gather(f, p, DOCTOR_ETHTOOL, names);
	snprintf(name, sizeof(name), "%s_global_pause_duration", direction);
	add_share(&s, p, frames, doctor_gather(f, p, DOCTOR_ETHTOOL, names),
		  doctor_has(p->is, DOCTOR_ETHTOOL, name));
	return s;
}

static void report_pauses(const struct doctor_pair *p, struct doctor_finding *f, const struct pauses *s,
			  const char *text, const char *remedy)
{
	snprintf(f->text, sizeof(f->text), "%s %s%.*f %% of the time.", text, s->measured ? "" : "at most ",
		 s->share < 0.1, 100 * s->share);
	f->remedy = remedy;
	doctor_report(p->d, f);
}

/* The switch stops this port. */
static void judge_received(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "paused", DOCTOR_PROBLEM);
	const struct pauses s = gather_pauses(&f, p, "rx", received);

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
	static const char *const storms[] = { "tx_pause_storm_warning_events", "tx_pause_storm_error_events", NULL };
	static const char *const stalls[] = { "outbound_pci_stalled_wr", "outbound_pci_stalled_wr_events", NULL };
	struct doctor_finding f = doctor_finding_at(p, "pausing", DOCTOR_PROBLEM);
	const double events = doctor_gather(&f, p, DOCTOR_ETHTOOL, storms);
	const struct pauses s = gather_pauses(&f, p, "tx", sent);

	if (events <= 0 && s.share < STORM && s.frames / p->d->interval_s <= PAUSES_MOST)
		return;
	doctor_gather(&f, p, DOCTOR_ETHTOOL, stalls);
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

/* Packets that the NIC discards, of one priority. */
static void judge_discards(const struct doctor_pair *p, unsigned prio)
{
	struct doctor_finding f = doctor_finding_at(p, "drops", DOCTOR_PROBLEM);
	const double lost = gather_priority(&f, p, discarded, prio);
	const double pauses = gather_priority(&f, p, sent, prio);
	const bool lossless = p->is->has_dcb ? p->is->dcb.pfc & 1u << prio : pauses > 0;

	if (!(lost > 0))
		return;
	if (!lossless) {
		if (prio != p->d->priority)
			f.severity = DOCTOR_NOTE;
		snprintf(f.text, sizeof(f.text), "The NIC discards packets of priority %u, %s: they are lost where "
			 "a buffer is full.", prio, p->is->has_dcb ? "for which PFC is off"
			 : "and whether PFC is on for it cannot be read");
		f.remedy = "If it carries RDMA, switch PFC on for it at the host and all switches (dcb pfc set), "
			   "or control congestion: ccshim run. --priority names the priority of RDMA traffic.";
	} else if (pauses > 0) {
		f.verdict = "headroom";
		snprintf(f.text, sizeof(f.text), "The NIC discards packets of priority %u although it sends PAUSE "
			 "frames: they take effect too late.", prio);
		f.remedy = "Enlarge the NIC's receive buffer of this priority and its headroom for the cable's "
			   "length and the MTU (ccshim plan headroom); check that the switch obeys PFC there.";
	} else {
		snprintf(f.text, sizeof(f.text), "There are drops where pauses should be: PFC is on for priority "
			 "%u, yet the NIC discards its packets and sends no PAUSE frame.", prio);
		f.remedy = "Check that the priority has a buffer with a separate XOFF threshold (mlnx_qos, dcb "
			   "buffer), and that global pause is off.";
		doctor_add_figure(&f, true, 0, "PAUSE frames sent, priority %u", prio);
	}
	doctor_report(p->d, &f);
}

void doctor_judge_pauses(const struct doctor_pair *p)
{
	judge_received(p);
	judge_sent(p);
	for (unsigned prio = 0; prio < NIC_PRIORITIES; prio++)
		judge_discards(p, prio);
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
