/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/tenant.h"
#include "fabric/headroom.h"
#include "bench/common/error.h"
#include "bench/common/output.h"
#include "bench/sim/fabric/topology.h"
#include "tools/common/next_option.h"

/* The option that is parsed, and one before --like whose value --like would replace. */
static const char *name, *replaced;

static double quantity(enum ccs_unit unit, double least, double most)
{
	static const char *const examples[] = {
		[CCS_UNIT_NONE] = "whole number", [CCS_UNIT_BYTES] = "whole number of bytes such as 64k",
		[CCS_UNIT_TIME] = "time such as 50us",
	};
	char low[CCS_UNIT_LEN], high[CCS_UNIT_LEN];
	double value;

	if (ccs_parse_unit(optarg, unit, &value) == 0 && value >= least && value <= most &&
	    (unit == CCS_UNIT_TIME || value == floor(value)))
		return value;
	die("--%s: '%s' is not a %s, from %s to %s", name, optarg, examples[unit],
	    ccs_format_unit(least, unit, low, sizeof(low)),
	    ccs_format_unit(most, unit, high, sizeof(high)));
}

static double time_us(void)
{
	return quantity(CCS_UNIT_TIME, 0, 1e12);
}

static double bytes(double least)
{
	return quantity(CCS_UNIT_BYTES, least, 1e15);
}

/* "1/8", "0.125", "20%": from 0 to 1000. option: without its dashes. */
static double parse_fraction(const char *option, const char *given)
{
	const char *text = given;
	char *end;
	double value = strtod(text, &end);

	if (*end == '/' && end != text) {
		text = end + 1;
		value /= strtod(text, &end);
	} else if (*end == '%') {
		value /= 100;
		end++;
	}
	if (end == text || *end || !(value >= 0 && value <= 1e3))
		die("--%s: '%s' is no fraction, such as 1/8, 0.2 or 20%%", option, given);
	return value;
}

/* "N=REST": *text is the rest then. */
static bool of_priority(const char **text, unsigned *number)
{
	if (**text < '0' || **text >= '0' + FAB_PRIORITIES || (*text)[1] != '=')
		return false;
	*number = (unsigned)(**text - '0');
	*text += 2;
	return true;
}

static void parse_ecn(struct options *o)
{
	char copy[128], *at = copy, *word[3] = { NULL };
	struct fab_marking *m = &o->conf.marking;
	const char *text = optarg;
	unsigned number;
	char *rate;

	if (of_priority(&text, &number))
		o->conf.priority_marking[number] = m = &o->marking[number];
	else
		o->ecn = true;
	m->red = (struct ccs_red){ 0 };
	if (strcmp(text, "off") == 0)
		return;
	snprintf(copy, sizeof(copy), "%s", text);
	rate = strchr(copy, '@');
	if (rate)
		*rate++ = '\0';
	m->rate = 0;
	for (unsigned i = 0; i < 3; i++)
		word[i] = strsep(&at, ":");
	if (!word[2] || at || ccs_parse_unit(word[0], CCS_UNIT_BYTES, &m->red.kmin) ||
	    ccs_parse_unit(word[1], CCS_UNIT_BYTES, &m->red.kmax) || m->red.kmax < m->red.kmin ||
	    (rate && (ccs_parse_unit(rate, CCS_UNIT_RATE, &m->rate) || !(m->rate > 0))))
		die("--ecn: '%s' is not [N=]MIN:MAX:P[@RATE], such as 100k:400k:20%%@25g, or off", optarg);
	m->red.pmax = parse_fraction("ecn", word[2]);
	if (m->red.pmax > 1)
		die("--ecn: a probability of %g is above 1", m->red.pmax);
}

static void parse_priority_cc(struct options *o)
{
	const char *text = optarg;
	unsigned number;

	if (!of_priority(&text, &number))
		die("--priority-cc: '%s' is not N=CC, such as 1=dctcp", optarg);
	o->priority_cc[number] = text;
}

static void parse_poll(struct options *o)
{
	char copy[64], *weight;

	snprintf(copy, sizeof(copy), "%s", optarg);
	weight = strchr(copy, ':');
	if (weight)
		*weight++ = '\0';
	o->conf.marking.weight = weight ? parse_fraction("poll", weight) : 1;
	if (ccs_parse_unit(copy, CCS_UNIT_TIME, &o->conf.marking.poll_us) ||
	    !(o->conf.marking.weight > 0 && o->conf.marking.weight <= 1))
		die("--poll: '%s' is not TIME[:WEIGHT], such as 50us:1/4", optarg);
}

static void parse_segment(struct options *o)
{
	struct fab_conf *c = &o->conf;
	char copy[64], *rate;
	double size;

	snprintf(copy, sizeof(copy), "%s", optarg);
	rate = strchr(copy, ':');
	if (rate)
		*rate++ = '\0';
	c->segment_rate = 0;
	if (ccs_parse_unit(copy, CCS_UNIT_BYTES, &size) || !(size >= 1 && size <= 0x1p30) ||
	    (rate && (ccs_parse_unit(rate, CCS_UNIT_RATE, &c->segment_rate) || !(c->segment_rate > 0))))
		die("--segment: '%s' is not BYTES[:RATE], such as 64k:700m", optarg);
	c->segment = (uint32_t)size;
}

static void parse_change(struct options *o)
{
	const bool converge = strcmp(name, "converge") == 0, fail = strcmp(name, "fail") == 0;
	struct link_change *c = &o->change[o->changes];
	char time[40];
	int n;

	if (o->changes++ == MAX_CHANGES)
		die("--%s: more than %d changes", name, MAX_CHANGES);
	c->kind = fail ? FAB_FAIL : converge ? FAB_CONVERGE : FAB_RESTORE;
	c->a = FAB_ALL_NODES;
	if (!converge)
		n = sscanf(optarg, "%u-%u@%39s", &c->a, &c->b, time) == 3;
	else
		n = sscanf(optarg, "all@%39s", time) == 1 || sscanf(optarg, "%u@%39s", &c->a, time) == 2;
	if (!n || fab_has_negative(optarg) || ccs_parse_unit(time, CCS_UNIT_TIME, &c->at_us) || !(c->at_us < 1e12))
		die("--%s: '%s' is not %s@TIME", name, optarg,
		    converge ? "NODE, or all" : "NODE-NODE");
}

static void parse_watchdog(struct options *o)
{
	struct fab_watchdog *w = &o->conf.watchdog;
	char copy[64], *at = copy, *detect, *restore, *action;

	snprintf(copy, sizeof(copy), "%s", optarg);
	detect = strsep(&at, ":");
	restore = strsep(&at, ":");
	action = strsep(&at, ":");
	w->restore_us = 2000;
	if (ccs_parse_unit(detect, CCS_UNIT_TIME, &w->detect_us) || !(w->detect_us > 0) ||
	    (restore && ccs_parse_unit(restore, CCS_UNIT_TIME, &w->restore_us)) ||
	    (action && strcmp(action, "drop") && strcmp(action, "forward")) || at)
		die("--watchdog: '%s' is not TIME[:RESTORE[:drop|forward]]", optarg);
	w->forward = action && strcmp(action, "forward") == 0;
}

static void parse_queue(struct options *o)
{
	struct fab_queue q = { 0 };
	char kind[32], cap[32] = "";
	unsigned number;
	int end = 0;

	if (sscanf(optarg, "%1u:%31[^:]%n:%31s%n", &number, kind, &end, cap, &end) < 2 || optarg[end] ||
	    number >= FAB_PRIORITIES ||
	    (strcmp(kind, "strict") && (ccs_parse_unit(kind, CCS_UNIT_NONE, &q.weight) ||
					!(q.weight >= 1) || !(q.weight <= 1000))) ||
	    (*cap && (ccs_parse_unit(cap, CCS_UNIT_RATE, &q.cap) || !(q.cap > 0))))
		die("--queue: '%s' is not PRIORITY:strict[:CAP] or PRIORITY:WEIGHT[:CAP], such as "
		    "3:2:10g", optarg);
	o->queue[number] = q;
	o->conf.queue = o->queue;
}

static void parse_class(struct options *o)
{
	const bool edge = strcmp(name, "edge") == 0;
	unsigned port, dscp, queue;
	char tail;

	o->conf.qos = &o->qos;
	if (edge && sscanf(optarg, "%5u:%2u:%1u%c", &port, &dscp, &queue, &tail) == 3 &&
	    port < 65536 && dscp < CCS_QOS_DSCPS && queue < CCS_QOS_QUEUES &&
	    o->qos.rules < CCS_QOS_RULES)
		o->qos.rule[o->qos.rules++] = (struct ccs_qos_rule){ port, dscp, queue };
	else if (!edge && sscanf(optarg, "%2u:%1u%c", &dscp, &queue, &tail) == 2 &&
		 dscp < CCS_QOS_DSCPS && queue < CCS_QOS_QUEUES)
		o->qos.inside[dscp] = (unsigned char)queue;
	else
		die("--%s: '%s' is not %sDSCP:QUEUE", name, optarg,
		    edge ? "PORT:" : "");
}

/* A packet of the wire: Ethernet with FCS, IPv4, UDP, BTH, ICRC, preamble and gap are 82 bytes. */
static void set_defaults(struct options *o)
{
	*o = (struct options){
		.topology = "star:17@100g", .flows = "incast:16,2m", .cc = "none", .delay_us = 1,
		.priority = 3,
		.conf = {
			.wire = { .payload = 1024, .header = 82, .ack = 86, .cnp = 98, .pause = 84, .gap = CCS_FRAME_GAP,
				  .data_telemetry = 42, .ack_telemetry = 42,
				  .tx_unit = 1, .queue_unit = 1 },
			.buffer = { .bytes = 32 << 20, .cell = 256, .pfc = true, .alpha = 0.125,
				    .guarantee = 9216, .headroom = NAN, .headroom_us = NAN,
				    .hysteresis = 3072, .t0_us = 1.5 },
			.marking = { { 100 << 10, 400 << 10, 0.2 }, .rate = 25e9 },
			.data_dscp = 46, .ack_priority = 6, .cnp_priority = 6, .cnp_us = 50,
			.rto_us = NAN, .ttl = FAB_TTL, .seed = 1, .end = UINT64_MAX,
		},
	};
}

/* Set the parameters of mix/run.py. options_follow_topology() sets the parameters of the links. */
static void set_like_ns3(struct options *o)
{
	struct fab_conf *c = &o->conf;

	if (strcmp(optarg, "ns3") != 0)
		die("--like: '%s' is not known; ns3 is", optarg);
	if (replaced)
		die("--like: it would replace the value of --%s: give --like before it", replaced);
	o->like_ns3 = true;
	c->wire = (struct fab_wire){
		.payload = 1000, .header = 48, .ack = 60, .cnp = 60, .pause = 43,
		.data_telemetry = 42, .ack_telemetry = 28, .tx_unit = 512, .queue_unit = 320,
		.whole_ns = true, .whole_rtt = true, .late_rates = true, .mark_acks = true,
	};
	c->buffer = (struct fab_buffer){
		.bytes = NAN, .cell = 1, .pfc = true, .alpha = 0.125, .guarantee = 4096,
		.headroom = NAN, .headroom_us = 3, .hysteresis = 3072,
	};
	c->marking = (struct fab_marking){ { 400e3, 1600e3, 0.2 }, .rate = 100e9 };
	c->ack_priority = o->priority;
	c->cnp_us = 0;
}

static void parse_buffer(struct options *o)
{
	o->conf.buffer.bytes = strcmp(optarg, "inf") ? bytes(1) : INFINITY;
}

static void parse_headroom(struct options *o)
{
	struct fab_buffer *b = &o->conf.buffer;

	b->headroom = b->headroom_us = NAN;
	if (optarg[strcspn(optarg, "s")])
		b->headroom_us = time_us();
	else
		b->headroom = bytes(0);
}

static void parse_verb(struct options *o)
{
	static const char *const verbs[] = { "write", "read", "send" };

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(optarg, verbs[i]) == 0) {
			o->verb = (enum fab_verb)i;
			return;
		}
	die("--verb: '%s' is none of write, read and send", optarg);
}

static void parse_warmup(struct options *o)
{
	o->conf.warm = (uint64_t)(time_us() * FAB_PS_PER_US);
}

static void parse_message(struct options *o)
{
	o->message = (uint64_t)bytes(1);
}

/* "WEIGHT[:TERM=VALUE]..." */
static void parse_terms(char *word, struct ccs_terms *t)
{
	struct ccs_terms given = { 0 };
	unsigned set = 0;
	char err[256] = "";
	const char *why;

	if (ccs_term_parse("weight", strsep(&word, ":"), &given, &set, err, sizeof(err)))
		die("--tenants: %s, such as 1,2,4", err);
	for (char *value; (value = strsep(&word, ":"));) {
		const char *term = strsep(&value, "=");

		if (!value || strcmp(term, "weight") == 0 ||
		    ccs_term_parse(term, value, &given, &set, err, sizeof(err)) == ENOENT)
			die("--tenants: '%s' is not cap=RATE, guarantee=RATE, class=CLASS or floor=PERCENT", term);
		if (*err)
			die("--tenants: %s", err);
	}
	*t = CCS_TERMS_DEFAULT;
	why = ccs_terms_set(t, &given, set);
	if (why)
		die("--tenants: %s", why);
}

static void parse_tenants(struct options *o)
{
	struct fab_agents *a = &o->conf.agents;
	char *copy = strdup(optarg), *at = copy, *word;

	a->tenants = 0;
	while (copy && (word = strsep(&at, ",")))
		if (a->tenants == FAB_TENANTS - 1)
			die("--tenants: '%s' has more than %d tenants", optarg, FAB_TENANTS - 1);
		else
			parse_terms(word, &a->terms[a->tenants++]);
	free(copy);
}

static void parse_mtu(struct options *o)
{
	o->conf.wire.payload = (uint32_t)quantity(CCS_UNIT_BYTES, 64, 16384);
}

/* "N[,N]..." */
static void parse_lossless(struct options *o)
{
	const char *at = optarg;

	o->conf.lossless = 0;
	do {
		if (*at < '0' || *at >= '0' + FAB_PRIORITIES || (at[1] && (at[1] != ',' || !at[2])))
			die("--lossless: '%s' is not N[,N]..., priorities from 0 to %d such as 3,4", optarg,
			    FAB_PRIORITIES - 1);
		o->conf.lossless |= 1u << (*at - '0');
		at += at[1] ? 2 : 1;
	} while (*at);
}

static void parse_seed(struct options *o)
{
	o->conf.seed = (uint64_t)quantity(CCS_UNIT_NONE, 0, 0x1p53);
}

/* An option: its type, the permitted values, and the address of its value. */
struct row {
	const char *name;
	enum { TEXT, TIME, BYTES, FRACTION, NUMBER, CHOICE, SET, CALL } kind;
	size_t at;               /* the member of struct options */
	double least, most;      /* BYTES: least; NUMBER */
	const char *word[2];     /* CHOICE: the second one is true, or the first with `least` */
	void (*call)(struct options *o);
};

#define AT(member) .at = offsetof(struct options, member)
#define PRIORITIES 0, FAB_PRIORITIES - 1

static const struct row rows[] = {
	{ "topology", TEXT, AT(topology) }, { "routes", TEXT, AT(routes) },
	{ "flows", TEXT, AT(flows) }, { "cc", TEXT, AT(cc) }, { "out_json", TEXT, AT(json) },
	{ "delay", TIME, AT(delay_us) }, { "jitter", TIME, AT(jitter_us) },
	{ "for", TIME, AT(for_us) }, { "until", TIME, AT(until_us) },
	{ "base-rtt", TIME, AT(conf.base_rtt_us) }, { "cnp", TIME, AT(conf.cnp_us) },
	{ "noise", TIME, AT(conf.host.noise.uniform_us) }, { "t0", TIME, AT(conf.buffer.t0_us) },
	{ "cell", BYTES, AT(conf.buffer.cell), 1 }, { "guarantee", BYTES, AT(conf.buffer.guarantee) },
	{ "xon", BYTES, AT(conf.buffer.hysteresis) }, { "alpha", FRACTION, AT(conf.buffer.alpha) },
	{ "queue-alpha", FRACTION, AT(conf.buffer.queue_alpha) },
	{ "ttl", NUMBER, AT(conf.ttl), 1, 255 }, { "dscp", NUMBER, AT(conf.data_dscp), 0, 63 },
	{ "priority", NUMBER, AT(priority), PRIORITIES },
	{ "ack-priority", NUMBER, AT(conf.ack_priority), PRIORITIES },
	{ "cnp-priority", NUMBER, AT(conf.cnp_priority), PRIORITIES },
	{ "pfc", CHOICE, AT(conf.buffer.pfc), 1, .word = { "on", "off" } },
	{ "hosts", CHOICE, AT(conf.shim), .word = { "plain", "shim" } },
	{ "recovery", CHOICE, AT(conf.selective), .word = { "go-back-n", "selective" } },
	{ "telemetry", CHOICE, AT(conf.wire.count_received), .word = { "sent", "received" } },
	{ "agents", SET, AT(conf.agents.present) },
	{ "tenants", CALL, .call = parse_tenants },
	{ "mtu", CALL, .call = parse_mtu }, { "message", CALL, .call = parse_message },
	{ "seed", CALL, .call = parse_seed }, { "warmup", CALL, .call = parse_warmup },
	{ "rto", TIME, AT(conf.rto_us) }, { "buffer", CALL, .call = parse_buffer },
	{ "headroom", CALL, .call = parse_headroom }, { "ecn", CALL, .call = parse_ecn },
	{ "poll", CALL, .call = parse_poll }, { "priority-cc", CALL, .call = parse_priority_cc },
	{ "like", CALL, .call = set_like_ns3 }, { "verb", CALL, .call = parse_verb },
	{ "segment", CALL, .call = parse_segment }, { "fail", CALL, .call = parse_change },
	{ "restore", CALL, .call = parse_change }, { "converge", CALL, .call = parse_change },
	{ "watchdog", CALL, .call = parse_watchdog }, { "queue", CALL, .call = parse_queue },
	{ "lossless", CALL, .call = parse_lossless },
	{ "edge", CALL, .call = parse_class }, { "inside", CALL, .call = parse_class },
};

enum { ROWS = sizeof(rows) / sizeof(*rows), FIRST_ROW = 256 };

static void parse_option(struct options *o, const struct row *r)
{
	static const char of_like[] = " ack-priority alpha buffer cell cnp ecn guarantee headroom mtu pfc poll t0 "
		"telemetry xon queue-alpha ";
	void *at = (char *)o + r->at;
	char word[32];

	name = r->name;
	snprintf(word, sizeof(word), " %s ", name);
	replaced = !o->like_ns3 && strstr(of_like, word) ? name : replaced;
	switch (r->kind) {
	case TEXT: *(const char **)at = optarg; break;
	case TIME: *(double *)at = time_us(); break;
	case BYTES: *(double *)at = bytes(r->least); break;
	case FRACTION: *(double *)at = parse_fraction(name, optarg); break;
	case NUMBER: *(unsigned *)at = (unsigned)quantity(CCS_UNIT_NONE, r->least, r->most); break;
	case SET: *(bool *)at = true; break;
	case CALL: r->call(o); break;
	case CHOICE:
		if (strcmp(optarg, r->word[0]) != 0 && strcmp(optarg, r->word[1]) != 0)
			die("--%s: '%s' is neither %s nor %s", name, optarg, r->word[0], r->word[1]);
		*(bool *)at = (strcmp(optarg, r->word[0]) == 0) == (r->least > 0);
	}
}

/* By default what 1 Gb/s sends in 4 ms: with less, queues at a slower link would be sent again and again.
 * With a timeout within a packet, no acknowledgement would find its packet. */
static void set_rto(struct fab_conf *c, double slowest)
{
	const double packet_us = 8e6 * (c->wire.payload + c->wire.header) / slowest;

	if (isnan(c->rto_us))
		c->rto_us = 4000 * fmax(1, 1e9 / slowest);
	else if (c->rto_us > 0 && c->rto_us < packet_us)
		die("--rto: %g us is less than a packet takes on the slowest link (%.3g us); 0 is none", c->rto_us,
		    packet_us);
}

void options_follow_topology(struct options *o, const struct topology *t)
{
	double rate = INFINITY;

	for (unsigned i = 0; i < t->links; i++)
		rate = fmin(rate, t->link[i].rate_bps);
	set_rto(&o->conf, rate);
	if (!o->like_ns3)
		return;
	o->conf.buffer.alpha_rate = rate;
	if (isnan(o->conf.buffer.bytes))
		o->conf.buffer.bytes = 16 * 1048576 * (rate / 50e9);
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct option known[ROWS + 3] = { { "quiet", 0, 0, 'q' }, { "help", 0, 0, 'h' } };

	for (unsigned i = 0; i < ROWS; i++)
		known[2 + i] = (struct option){ rows[i].name, rows[i].kind != SET, 0, FIRST_ROW + (int)i };
	set_defaults(o);
	replaced = NULL;
	optind = 0;
	for (int c; (c = next_option(argc, argv, "qh", known, NULL)) != -1;)
		switch (c) {
		case 'q': o->quiet = true; break;
		case 'h': output_help(options_usage);
		case '?': fputs("Try 'ccfabric run --help'.\n", stderr); exit(2);
		default: parse_option(o, &rows[c - FIRST_ROW]);
		}
	if (optind < argc)
		die("'%s' is no option", argv[optind]);
	if (o->verb != FAB_WRITE && !o->conf.shim)
		die("--verb: only the flow layer makes a difference, so READ and SEND need --hosts shim");
	if (o->for_us > 0 && (double)o->conf.warm >= o->for_us * FAB_PS_PER_US)
		die("--warmup is not shorter than --for: nothing would be counted");
	if (o->changes && !(o->for_us > 0))
		die("--fail, --restore and --converge need --for: a flow without a path does not end");
	if (o->conf.segment && o->conf.segment % o->conf.wire.payload)
		die("--segment: it is not a multiple of a packet's --mtu of %u bytes", o->conf.wire.payload);
	if (!o->conf.buffer.pfc && (o->conf.lossless || o->conf.watchdog.detect_us > 0))
		die("--%s: without PFC it has no effect: remove it, or --pfc off", o->conf.lossless ? "lossless" : "watchdog");
	if (!o->conf.lossless)
		o->conf.lossless = 1u << o->priority;
}
