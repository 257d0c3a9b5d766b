/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the counters of two readings. */
#include "doctor.h"

#include <string.h>

static const struct doctor_counter *find(const struct doctor_port *p, enum doctor_source source,
					 const char *name)
{
	for (size_t i = 0; i < p->counters; i++)
		if (p->counter[i].source == source && strcmp(p->counter[i].name, name) == 0)
			return &p->counter[i];
	return NULL;
}

bool doctor_has(const struct doctor_port *p, enum doctor_source source, const char *name)
{
	return find(p, source, name);
}

double doctor_increase(const struct doctor_pair *p, enum doctor_source source, const char *name)
{
	const struct doctor_counter *was = find(p->was, source, name), *is = find(p->is, source, name);

	return was && is && is->value > was->value ? (double)(is->value - was->value) : 0;
}

double doctor_gather(struct doctor_finding *f, const struct doctor_pair *p, enum doctor_source source,
		     const char *const *names)
{
	double sum = 0;

	for (; *names; names++) {
		const double n = doctor_increase(p, source, *names);

		if (n > 0)
			doctor_add_figure(f, true, n, "%s", *names);
		sum += n;
	}
	return sum;
}

struct doctor_finding doctor_finding_at(const struct doctor_pair *p, const char *verdict,
					enum doctor_severity severity)
{
	struct doctor_finding f = { .verdict = verdict, .severity = severity };

	snprintf(f.where, sizeof(f.where), "%s/%u%s%s", p->is->device, p->is->port,
		 *p->is->interface ? " on " : "", p->is->interface);
	return f;
}

int doctor_traffic(const struct doctor_pair *p)
{
	static const struct {
		enum doctor_source source;
		const char *name;
	} counters[] = {
		{ DOCTOR_PORT, "port_xmit_packets" }, { DOCTOR_PORT, "port_rcv_packets" }, /* mlx5 */
		{ DOCTOR_HW, "sent_pkts" }, { DOCTOR_HW, "rcvd_pkts" },                    /* rxe */
		{ DOCTOR_HW, "ip4OutPkts" }, { DOCTOR_HW, "ip4InPkts" },                   /* irdma */
		{ DOCTOR_HW, "ip6OutPkts" }, { DOCTOR_HW, "ip6InPkts" },
		{ DOCTOR_HW, "tx_pkts" }, { DOCTOR_HW, "rx_pkts" },                        /* bnxt_re */
	};
	int known = -1;

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		if (doctor_increase(p, counters[i].source, counters[i].name) > 0)
			return 1;
		if (find(p->is, counters[i].source, counters[i].name))
			known = 0;
	}
	return known;
}
