/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts on missing paths, on waits for credits, on control by the NIC, and on unknown counters. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A network with this number of CNPs a second, or more, is congested. */
#define CNPS_MANY 100.0
/* Ticks of waits in a second. A tick takes a few ns: WAITS_MANY is about 1 % of the time. */
#define WAITS_MANY 1e6
#define WAITS_SOME 1e4

/* PAUSE frames that reach the port or, if it is a bond's, one of the members. */
static double pauses_received(const struct doctor_pair *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->d->after.ports; i++) {
		const struct doctor_port *is = &p->d->after.port[i];
		struct doctor_pair of;

		if (is->port == p->is->port && strcmp(is->device, p->is->device) == 0 &&
		    doctor_make_pair(&of, p->d, is))
			for (int prio = DOCTOR_NO_PRIORITY; prio < NIC_PRIORITIES; prio++)
				sum += doctor_gather(NULL, &of, DOCTOR_BIT(DOCTOR_RX_PAUSE), prio);
	}
	return sum;
}

bool doctor_judge_path(const struct doctor_pair *p)
{
	const uint64_t answers = DOCTOR_BIT(DOCTOR_RECEIVED) | DOCTOR_BIT(DOCTOR_NAK) | DOCTOR_BIT(DOCTOR_RNR) |
				 DOCTOR_BIT(DOCTOR_CNP_HANDLED) | DOCTOR_BIT(DOCTOR_CNP_IGNORED);
	struct doctor_finding f = doctor_finding_at(p, "no-path", DOCTOR_PROBLEM);
	const double failed = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_FAILED), DOCTOR_NO_PRIORITY);
	const double resent = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_RESENT), DOCTOR_NO_PRIORITY);
	const double sent = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_SENT), DOCTOR_NO_PRIORITY);

	if (!(failed > 0 || (resent > 0 && sent > 0)) ||
	    !doctor_is_counted(p, DOCTOR_BIT(DOCTOR_RECEIVED)) ||
	    doctor_gather(NULL, p, answers, DOCTOR_NO_PRIORITY) > 0 || pauses_received(p) > 0)
		return false;
	doctor_add_figure(&f, true, 0, "RDMA packets received");
	snprintf(f.text, sizeof(f.text), "No path to the peers: this host sends data again and %s, and receives no "
		 "RDMA packet at all. This is not congestion: no NAK, CNP or PAUSE frame arrives.",
		 failed > 0 ? "all retries are in vain" : "each request times out");
	f.remedy = "At both ends check the GID index and its RoCE version (v1 or v2: ibv_devinfo -v), the VLAN, the "
		   "MTU of the whole path (ping -M do -s 4172 PEER), and that firewalls let UDP port 4791 pass. "
		   "Check that the peers' programs still run. On InfiniBand check LID, P_Key and the subnet "
		   "manager. Try ibv_rc_pingpong -g INDEX.";
	doctor_report(p->d, &f);
	return true;
}

/* -- notes ------------------------------------------------------------------------------------- */

/* Data waits for credits. Drivers that count PAUSE frames count them as well, and exactly. */
static void judge_waits(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "congestion", DOCTOR_PROBLEM);
	const double ticks = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_WAITED), DOCTOR_NO_PRIORITY) / p->d->interval_s;

	for (int prio = DOCTOR_NO_PRIORITY; prio < NIC_PRIORITIES; prio++)
		if (doctor_has(p->is, DOCTOR_BIT(DOCTOR_RX_PAUSE), prio))
			return;
	if (ticks < WAITS_SOME)
		return;
	if (ticks < WAITS_MANY)
		f.severity = DOCTOR_NOTE;
	snprintf(f.text, sizeof(f.text), "The network is congested: this port has data to send and waits, since the "
		 "switch gives no credits.");
	f.remedy = "Find the slow port: on the path, follow the ports that wait (perfquery, ibdiagnet) to one that does "
		   "not. If it leads to a host, several senders share it, or the host is slow. Control the senders: "
		   "ccshim run.";
	doctor_report(p->d, &f);
}

static void judge_control(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "controlled", DOCTOR_NOTE);
	const double handled = doctor_gather(&f, p, DOCTOR_BIT(DOCTOR_CNP_HANDLED), DOCTOR_NO_PRIORITY);

	if (handled < CNPS_MANY * p->d->interval_s ||
	    doctor_gather(NULL, p, DOCTOR_BIT(DOCTOR_CNP_IGNORED), DOCTOR_NO_PRIORITY) >= handled)
		return;
	snprintf(f.text, sizeof(f.text), "The network is congested, and controlled: %.0f CNPs arrive in a second, and "
		 "the NIC slows down.", handled / p->d->interval_s);
	f.remedy = "Nothing is wrong, if the rates are as expected. If not, several senders share a port, or it is slow: "
		   "compare link speeds, and let fewer hosts send to one at the same time.";
	doctor_report(p->d, &f);
}

/* Add the counters of a source: the increased counters come first. */
static void add_unknown(struct doctor_finding *f, const struct doctor_pair *p, enum doctor_source source)
{
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->is->counters; i++) {
			const struct doctor_counter *c = &p->is->counter[i];
			const double n = doctor_increase(p, c);

			if (c->source == source && (n > 0) == (pass == 0))
				doctor_add_figure(f, true, n, "%s", c->name);
		}
}

/* "Nothing found" would be false on a port without known counters. */
static void judge_unknown(const struct doctor_pair *p)
{
	static const char *const places[DOCTOR_SOURCES] = {
		[DOCTOR_HW] = "in hw_counters", [DOCTOR_PORT] = "in counters", [DOCTOR_ETHTOOL] = "of ethtool -S"
	};
	struct doctor_finding f = doctor_finding_at(p, "unknown-counters", DOCTOR_NOTE);
	size_t seen[DOCTOR_SOURCES] = { 0 }, known[DOCTOR_SOURCES] = { 0 };
	char list[96] = "";

	for (size_t i = 0; i < p->is->counters; i++) {
		seen[p->is->counter[i].source]++;
		known[p->is->counter[i].source] += p->is->counter[i].means != DOCTOR_UNKNOWN;
	}
	for (enum doctor_source s = 0; s < DOCTOR_SOURCES; s++) {
		if (!places[s] || !seen[s] || known[s] || (s == DOCTOR_ETHTOOL && p->is->is_software))
			continue;
		ccs_append(list, sizeof(list), "%s%zu %s", *list ? ", " : "", seen[s], places[s]);
		add_unknown(&f, p, s);
	}
	if (*list)
		snprintf(f.text, sizeof(f.text), "Not judged: ccshim knows none of the driver's counters (driver %s: %s). "
			 "They were seen as listed.", *p->is->driver ? p->is->driver : "unknown", list);
	else if (!p->is->is_member && !p->is->denied && !seen[DOCTOR_HW] && !seen[DOCTOR_PORT] && !seen[DOCTOR_ETHTOOL])
		snprintf(f.text, sizeof(f.text), "Not judged: the driver (%s) shows no counters of this port.",
			 *p->is->driver ? p->is->driver : "unknown");
	else
		return;
	f.remedy = "The driver's documentation explains its counters. ccshim-doctor(1) lists the drivers whose counters "
		   "it knows.";
	doctor_report(p->d, &f);
}

enum { RESET, FULL, MISSING, UNCOMPARED };

static void add_uncompared(struct doctor_finding *f, const unsigned *counts)
{
	static const char *const texts[UNCOMPARED] = {
		[RESET] = "that were reset between the readings",
		[FULL] = "that stay at their maximum until they are reset",
		[MISSING] = "that only one reading has",
	};
	const char *before = "Not judged: counters";

	for (unsigned i = 0; i < UNCOMPARED; i++)
		if (counts[i]) {
			ccs_append(f->text, sizeof(f->text), "%s %s (%u)", before, texts[i], counts[i]);
			before = ",";
		}
	ccs_append(f->text, sizeof(f->text), ".");
}

/* Known counters whose increase is not known. */
static void judge_uncompared(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "not-compared", DOCTOR_NOTE);
	unsigned counts[UNCOMPARED] = { 0 };
	double n;

	for (size_t i = 0; i < p->is->counters; i++) {
		const struct doctor_counter *c = &p->is->counter[i];
		const bool is_lost = !doctor_compare(p, c, &n), is_full = n <= 0 && doctor_is_full(c);

		if (!c->means || (!is_lost && !is_full))
			continue;
		counts[is_full ? FULL : doctor_find_counter(p->was, c) ? RESET : MISSING]++;
		doctor_add_figure(&f, false, (double)c->value, "%s", c->name);
	}
	for (size_t i = 0; i < p->was->counters; i++) {
		const struct doctor_counter *c = &p->was->counter[i];

		if (!c->means || doctor_find_counter(p->is, c))
			continue;
		counts[MISSING]++;
		doctor_add_figure(&f, false, (double)c->value, "%s", c->name);
	}
	if (!f.figures)
		return;
	add_uncompared(&f, counts);
	f.remedy = counts[FULL] ? "Reset the counters at their maximum (perfquery -R), and run ccshim doctor again."
				: "Run ccshim doctor again.";
	doctor_report(p->d, &f);
}

/* Counters that the caller may not read: a host where they are left out is not healthy. */
static void judge_denied(const struct doctor_pair *p)
{
	struct doctor_finding f = doctor_finding_at(p, "not-compared", DOCTOR_NOTE);

	if (!p->is->denied)
		return;
	snprintf(f.text, sizeof(f.text), "Not judged: counters that this user may not read (%u file%s).", p->is->denied,
		 p->is->denied == 1 ? "" : "s or directories");
	f.remedy = "Run ccshim doctor as root.";
	doctor_report(p->d, &f);
}

/* A port that was not in use may be down; programs need it if it was active. */
static void judge_state(const struct doctor_pair *p)
{
	const bool was_active = strcmp(p->was->state, "ACTIVE") == 0, waits = strcmp(p->is->state, "INIT") == 0;
	struct doctor_finding f = doctor_finding_at(p, "port-down", was_active ? DOCTOR_PROBLEM : DOCTOR_NOTE);

	if (!*p->is->state || strcmp(p->is->state, "ACTIVE") == 0)
		return;
	snprintf(f.text, sizeof(f.text), "The port is %s%s, and no RDMA packet passes.", p->is->state,
		 was_active ? " since the first reading" : "");
	f.remedy = waits ? "Start a subnet manager (opensm), or see why it does not configure the port (sminfo)."
			 : "If it is to be used, bring its link up (ip link set DEV up), and check cable and switch.";
	doctor_report(p->d, &f);
}

static void report_missing(struct doctor *d, const struct doctor_port *port, const char *text)
{
	const struct doctor_pair p = { .d = d, .was = port, .is = port };
	struct doctor_finding f = doctor_finding_at(&p, "not-compared", DOCTOR_NOTE);

	snprintf(f.text, sizeof(f.text), "Not judged: the port %s.", text);
	f.remedy = "Read the reason in the kernel's log (dmesg), and run ccshim doctor again.";
	doctor_report(d, &f);
}

/* A host without devices or packets is not healthy. */
static void judge_scope(struct doctor *d)
{
	const bool has_device = d->before.ports || d->after.ports;
	struct doctor_finding f = {
		.verdict = has_device ? "no-traffic" : "no-device",
		.severity = has_device ? DOCTOR_NOTE : DOCTOR_PROBLEM, .where = "this host",
		.remedy = has_device
			? "Run the programs at the same time, or give a longer interval with -i."
			: "Load the card's driver, or create a software device: rdma link add rxe0 type rxe netdev NAME.",
	};

	if (has_device && d->traffic != 0)
		return;
	snprintf(f.text, sizeof(f.text), "Not judged: %s.", has_device
		 ? "no RDMA packet was counted in this time" : "there is no RDMA device");
	doctor_report(d, &f);
}

void doctor_judge_missing(struct doctor *d)
{
	judge_scope(d);
	for (size_t i = 0; i < d->after.ports; i++)
		if (!doctor_find_port(&d->before, &d->after.port[i]))
			report_missing(d, &d->after.port[i], "appeared between the readings");
	for (size_t i = 0; i < d->before.ports; i++)
		if (!doctor_find_port(&d->after, &d->before.port[i]))
			report_missing(d, &d->before.port[i], "disappeared between the readings");
}

void doctor_judge_notes(const struct doctor_pair *p)
{
	judge_state(p);
	judge_uncompared(p);
	judge_denied(p);
	judge_waits(p);
	judge_control(p);
	judge_unknown(p);
}
