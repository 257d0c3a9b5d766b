/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plan qos. */
#include "plan_qos.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "feedback/wire.h"
#include "plan.h"
#include "tools/ccshim/shared/ccshim.h"

/* The third rule is for ccshim's agents. */
#define EDGE "4791/48:6,4791/46:5,4793/48:6"
_Static_assert(CCS_WIRE_PORT == 4793, "EDGE and the manual page have the agents' port");

static const struct plan_option options[] = {
	{ "format", "FORMAT", "table", "table or tc", NULL },
	{ "edge", "PORT/DSCP:QUEUE", EDGE, "rules", NULL },
	{ "inside", "DSCP:QUEUE", "48:6,46:5", "queues of DSCPs inside", NULL },
	{ "other", "QUEUE", "2", "of all other packets", NULL },
	{ "remark", "DSCP", "0", "of all other packets at the edge", NULL },
	{ "where", "PLACE", "edge", "with tc: edge or inside", "format" },
	{ "first", "QUEUE", "6", "with strict priority, for CNPs", NULL },
	{ "lossless", "QUEUE,...", "5", "with PFC and ECN, such as 3,4", NULL },
	{ "weights", "QUEUE:WEIGHT", "5:80,2:20", "of the queues that share the rest", NULL },
	{ "rate", "RATE", "25g", "line rate of the port", NULL },
	{ "cap", "RATE", NULL, "most that the first queue gets [2 % of the rate]", NULL },
	{ "dev", "NAME", "eth0", "the port", "format" },
	{ "kmin", "SIZE", "100k", "marks of ECN", "format" },
	{ "kmax", "SIZE", "400k", "marks of ECN", "format" },
	{ "pmax", "SHARE", "1%", "marks of ECN", "format" },
	{ "mtu", "SIZE", "1024", "largest RDMA MTU of the network", NULL },
	{ "hops", "RATE,...", "25g,100g,100g", "ports on a CNP's path", NULL },
	{ "cnp-latency", "TIME", "3us", "that a CNP may wait on its path", NULL },
	{ "flows", "N", "1000", "whose CNPs leave by the port", NULL },
	{ 0 }
};

static const struct plan_formula formulas[] = {
	{ "edge: udp_dport == 4791 && dscp == 48 -> queue 6; udp_dport == 4791 && dscp == 46 -> queue 5; "
	  "others are re-marked; inside: DSCP 48 -> queue 6, 46 -> queue 5",
	  "UCloud's article, section QoS" },
	{ "edge: udp_dport == 4793 && dscp == 48 -> queue 6", "ccshim's agents, docs/guide/telemetry.md" },
	{ "wait of a CNP = sum over the hops of 8 * (mtu + 82) / rate: a frame in transmission at each",
	  "strict priority without preemption" },
	{ "CNPs = flows * 74 bytes * 8 / 50 us", "RoCEv2's CNP; DCQCN 3.1, notification point" },
	{ 0 }
};

enum { CNP_BYTES = 74, CNP_INTERVAL_US = 50, LINE_OVERHEAD = 82, DEFAULT_CAP_PARTS = 50 };

/* The next of a list of "A:B" or "A/C:B"; all numbers must be below their limits. */
static bool next_item(struct plan *p, const char *option, char **list, const unsigned *below,
		      unsigned *value, bool slash)
{
	char *text = strsep(list, ","), *end = text, tail = '\0';
	unsigned n = 0;

	if (!text)
		return false;
	for (const char *separators = slash ? "/:" : ":"; n < (slash ? 3u : 2u); separators++) {
		const unsigned long number = strtoul(end, &end, 10);

		if (number >= below[n])
			break;
		value[n++] = (unsigned)number;
		tail = *end;
		if (!tail || tail != *separators)
			break;
		end++;
	}
	if (n == (slash ? 3u : 2u) && !tail && *text >= '0' && *text <= '9')
		return true;
	plan_refuse(p, option, "'%s' in the list has the wrong form or a number that is too large",
		    plan_text(p, option));
	return false;
}

static void read_edge(struct plan *p, struct ccs_qos *map)
{
	static const unsigned below[] = { 65536, CCS_QOS_DSCPS, CCS_QOS_QUEUES };
	char *copy = strdup(plan_text(p, "edge")), *list = copy;
	unsigned v[3];

	while (list && next_item(p, "edge", &list, below, v, true)) {
		if (map->rules == CCS_QOS_RULES) {
			plan_refuse(p, "edge", "more than %d rules", CCS_QOS_RULES);
			break;
		}
		for (unsigned i = 0; i < map->rules; i++)
			if (map->rule[i].udp_dport == v[0] && map->rule[i].dscp == v[1])
				plan_refuse(p, "edge", "UDP port %u with DSCP %u is named twice", v[0], v[1]);
		map->rule[map->rules++] = (struct ccs_qos_rule){ v[0], v[1], v[2] };
	}
	free(copy);
}

static void read_inside(struct plan *p, struct ccs_qos *map)
{
	static const unsigned below[] = { CCS_QOS_DSCPS, CCS_QOS_QUEUES };
	char *copy = strdup(plan_text(p, "inside")), *list = copy;
	bool named[CCS_QOS_DSCPS] = { false };
	unsigned v[2];

	for (unsigned i = 0; i < CCS_QOS_DSCPS; i++)
		map->inside[i] = (unsigned char)map->other;
	while (list && next_item(p, "inside", &list, below, v, false)) {
		if (named[v[0]])
			plan_refuse(p, "inside", "DSCP %u is named twice", v[0]);
		named[v[0]] = true;
		map->inside[v[0]] = (unsigned char)v[1];
	}
	free(copy);
}

static void read_weights(struct plan *p, struct qos *q)
{
	static const unsigned below[] = { CCS_QOS_QUEUES, 1001 };
	char *copy = strdup(plan_text(p, "weights")), *list = copy;
	unsigned v[2];

	while (list && next_item(p, "weights", &list, below, v, false)) {
		if (!v[1] || v[0] == q->first || q->weight[v[0]] > 0)
			plan_refuse(p, "weights", "queue %u has %s", v[0], !v[1] ? "no weight" :
				    v[0] == q->first ? "strict priority" : "two weights");
		q->weight[v[0]] = v[1];
	}
	free(copy);
}

static void read_lossless(struct plan *p, struct qos *q)
{
	char *copy = strdup(plan_text(p, "lossless")), *list = copy, *text;

	while (!p->failed && list && (text = strsep(&list, ","))) {
		if (*text < '0' || *text >= '0' + CCS_QOS_QUEUES || text[1])
			plan_refuse(p, "lossless", "'%s' is not a queue from 0 to %d, or several such as 3,4",
				    plan_text(p, "lossless"), CCS_QOS_QUEUES - 1);
		else
			q->lossless |= 1u << (*text - '0');
	}
	free(copy);
}

static void read_hops(struct plan *p, struct qos *q)
{
	char *copy = strdup(plan_text(p, "hops")), *list = copy, *text;

	while (!p->failed && list && (text = strsep(&list, ",")))
		q->wait_us += ccs_qos_wait_us(q->mtu + LINE_OVERHEAD,
					      plan_parse(p, "hops", text, CCS_UNIT_RATE));
	free(copy);
}

/* Every queue that a packet may go to must be served. */
static void check_queues(struct plan *p, const struct qos *q)
{
	bool used[CCS_QOS_QUEUES] = { false };

	used[q->map.other] = true;
	for (unsigned i = 0; i < q->map.rules; i++)
		used[q->map.rule[i].queue] = true;
	for (unsigned i = 0; i < CCS_QOS_DSCPS; i++)
		used[q->map.inside[i]] = true;
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++) {
		const bool lossless = q->lossless >> i & 1;

		if ((used[i] || lossless) && i != q->first && !(q->weight[i] > 0))
			plan_refuse(p, "weights", "queue %u is used, but has no weight", i);
		else if (lossless && (i == q->first || !used[i]))
			plan_refuse(p, "lossless", i == q->first ? "queue %u has strict priority, for CNPs: --first"
				    : "no packet gets into queue %u; --edge and --inside choose a packet's queue", i);
	}
}

static bool read_qos(struct plan *p, struct qos *q)
{
	q->map.other = plan_count(p, "other", 0, CCS_QOS_QUEUES - 1);
	q->map.remark = plan_count(p, "remark", 0, CCS_QOS_DSCPS - 1);
	q->first = plan_count(p, "first", 0, CCS_QOS_QUEUES - 1);
	read_lossless(p, q);
	read_edge(p, &q->map);
	read_inside(p, &q->map);
	read_weights(p, q);
	check_queues(p, q);
	q->rate_bps = plan_value(p, "rate", CCS_UNIT_RATE);
	q->cap_bps = plan_text(p, "cap") ? plan_value(p, "cap", CCS_UNIT_RATE)
					 : q->rate_bps / DEFAULT_CAP_PARTS;
	if (q->cap_bps >= q->rate_bps)
		plan_refuse(p, "cap", "it is not below the port's rate: the other queues would starve");
	q->dev = plan_text(p, "dev");
	if (!*q->dev || strspn(q->dev, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
	    < strlen(q->dev))
		plan_refuse(p, "dev", "'%s' is not the name of a port", q->dev);
	q->red.kmin = plan_value(p, "kmin", CCS_UNIT_BYTES);
	q->red.kmax = plan_value(p, "kmax", CCS_UNIT_BYTES);
	q->red.pmax = plan_share(p, "pmax", plan_text(p, "pmax"));
	if (q->red.kmin >= q->red.kmax)
		plan_refuse(p, "kmin", "it is not below Kmax");
	q->mtu = plan_value(p, "mtu", CCS_UNIT_BYTES);
	q->latency_us = plan_value(p, "cnp-latency", CCS_UNIT_TIME);
	q->flows = plan_count(p, "flows", 1, 100000000);
	q->cnps_bps = ccs_qos_cnp_bps(q->flows, CNP_BYTES, CNP_INTERVAL_US);
	read_hops(p, q);
	return !p->failed;
}

static bool admits_agents(const struct qos *q)
{
	unsigned dscp = CCS_AGENT_DSCP;

	return ccs_qos_edge(&q->map, CCS_WIRE_PORT, &dscp) == q->first;
}

static void print_json(struct plan *p, const struct qos *q)
{
	char dscp[8];

	ccs_json_array(&p->j, "edge");
	for (unsigned i = 0; i < q->map.rules; i++) {
		ccs_json_object(&p->j, NULL);
		ccs_json_uint(&p->j, "udp_dport", q->map.rule[i].udp_dport);
		ccs_json_uint(&p->j, "dscp", q->map.rule[i].dscp);
		ccs_json_uint(&p->j, "queue", q->map.rule[i].queue);
		ccs_json_end(&p->j);
	}
	ccs_json_end(&p->j);
	ccs_json_uint(&p->j, "remark", q->map.remark);
	ccs_json_uint(&p->j, "other", q->map.other);
	ccs_json_array(&p->j, "lossless");
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++)
		if (q->lossless >> i & 1)
			ccs_json_uint(&p->j, NULL, i);
	ccs_json_end(&p->j);
	ccs_json_object(&p->j, "inside");
	for (unsigned i = 0; i < CCS_QOS_DSCPS; i++) {
		snprintf(dscp, sizeof(dscp), "%u", i);
		if (ccs_qos_inside(&q->map, i) != q->map.other)
			ccs_json_uint(&p->j, dscp, ccs_qos_inside(&q->map, i));
	}
	ccs_json_end(&p->j);
	ccs_json_bool(&p->j, "agents_in_first_queue", admits_agents(q));
	ccs_json_num(&p->j, "cnp_wait_us", q->wait_us);
	ccs_json_bool(&p->j, "cnp_latency_holds", q->wait_us <= q->latency_us);
	ccs_json_num(&p->j, "cnps_bps", q->cnps_bps);
	ccs_json_num(&p->j, "cap_bps", q->cap_bps);
	ccs_json_num(&p->j, "flows_at_cap", q->cap_bps / (q->cnps_bps / q->flows));
}

static void print_maps(const struct qos *q)
{
	printf("At the edge             UDP port  DSCP  queue\n");
	for (unsigned i = 0; i < q->map.rules; i++)
		printf("                          %6u  %4u  %5u%s\n", q->map.rule[i].udp_dport,
		       q->map.rule[i].dscp, q->map.rule[i].queue,
		       q->map.rule[i].udp_dport == CCS_WIRE_PORT ? "  ccshim's agents" : "");
	printf("                           other        %5u  DSCP becomes %u\n\n", q->map.other,
	       q->map.remark);
	printf("Inside                              DSCP  queue\n");
	for (unsigned i = 0; i < CCS_QOS_DSCPS; i++)
		if (ccs_qos_inside(&q->map, i) != q->map.other)
			printf("                                    %4u  %5u\n", i, ccs_qos_inside(&q->map, i));
	printf("                                   other  %5u\n\n", q->map.other);
	printf("Queue %u: strict priority, at most %s\n", q->first, plan_rate_text(q->cap_bps));
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++)
		if (q->weight[i] > 0)
			printf("Queue %u: weight %.0f%s\n", i, q->weight[i],
			       q->lossless >> i & 1 ? ", PFC and ECN" : "");
}

static void print_table(const struct qos *q)
{
	print_maps(q);
	printf("\nA CNP waits at most %.2f us for frames of MTU %.0f on its path:\n%s %s.\n", q->wait_us,
	       q->mtu, q->wait_us <= q->latency_us ? "this is within" : "this is LONGER than",
	       plan_time_text(q->latency_us));
	printf("%.0f flows could send %s of CNPs, one per %d us each. The limit of\n"
	       "queue %u passes the CNPs of %.0f flows and drops others.\n", q->flows,
	       plan_rate_text(q->cnps_bps), CNP_INTERVAL_US, q->first,
	       q->cap_bps / (q->cnps_bps / q->flows));
	if (!admits_agents(q))
		printf("CNPs of ccshim's agents (UDP %d, DSCP %d) do NOT get into queue %u.\n",
		       CCS_WIRE_PORT, CCS_AGENT_DSCP, q->first);
}

static void print_commands(struct plan *p, const struct qos *q, bool edge)
{
	char *text = NULL, *line, *at;
	size_t len = 0;
	FILE *f = p->json ? open_memstream(&text, &len) : stdout;

	if (!f)
		return;
	qos_print_tc(f, q, edge);
	if (!p->json)
		return;
	fclose(f);
	ccs_json_array(&p->j, "commands");
	for (at = text; (line = strsep(&at, "\n"));)
		if (*line && *line != '#')
			ccs_json_str(&p->j, NULL, line);
	ccs_json_end(&p->j);
	free(text);
}

static int qos(struct plan *p)
{
	static struct qos q;
	const char *format = plan_text(p, "format"), *where = plan_text(p, "where");

	if (strcmp(format, "table") && strcmp(format, "tc"))
		plan_refuse(p, "format", "'%s' is not known; use table or tc", format);
	if (strcmp(where, "edge") && strcmp(where, "inside"))
		plan_refuse(p, "where", "'%s' is neither edge nor inside", where);
	if (read_qos(p, &q) && strcmp(format, "tc") == 0)
		qos_check_tc(p, &q);
	if (p->failed)
		return EXIT_USAGE;
	if (strcmp(format, "tc") == 0)
		print_commands(p, &q, strcmp(where, "edge") == 0);
	else if (p->json)
		print_json(p, &q);
	else
		print_table(&q);
	return EXIT_OK;
}

const struct plan_calc plan_qos = {
	.name = "qos", .doc = "queues of CNPs and RDMA, for tc",
	.options = options, .formulas = formulas, .main = qos,
};
