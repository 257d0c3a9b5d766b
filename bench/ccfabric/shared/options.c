/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "error.h"
#include "output.h"
#include "tools/common/gnuplot.h"

enum {
	TOPOLOGY = 256, DELAY, ROUTES, FLOWS, JITTER, FOR, CC, BASE_RTT, MTU, ECN, POLL, CNP_TIME,
	BUFFER, CELL, PFC, ALPHA, QUEUE_ALPHA, GUARANTEE, HEADROOM, T0, XON, ACK_PRIORITY,
	CNP_PRIORITY, RTO, LIKE, HOSTS, AGENTS, FAIL, RESTORE, CONVERGE, TTL, WATCHDOG, SEED,
	OUT_JSON, FCT, PLOT, WARM_UP, QUEUE, REPEAT, JOBS, EDGE, INSIDE, RECOVERY, DSCP, PRIORITY,
	SAVE_TOPOLOGY, SAVE_FLOWS, MESSAGE, UNTIL, PRIORITY_CC, TELEMETRY, VERB,
	NOISE, SEGMENT,
};

static const struct option known[] = {
	{ "topology", 1, 0, TOPOLOGY }, { "delay", 1, 0, DELAY }, { "routes", 1, 0, ROUTES },
	{ "flows", 1, 0, FLOWS }, { "jitter", 1, 0, JITTER }, { "for", 1, 0, FOR },
	{ "cc", 1, 0, CC }, { "base-rtt", 1, 0, BASE_RTT }, { "mtu", 1, 0, MTU },
	{ "ecn", 1, 0, ECN }, { "poll", 1, 0, POLL }, { "cnp", 1, 0, CNP_TIME },
	{ "buffer", 1, 0, BUFFER }, { "cell", 1, 0, CELL }, { "pfc", 1, 0, PFC },
	{ "alpha", 1, 0, ALPHA }, { "queue-alpha", 1, 0, QUEUE_ALPHA },
	{ "guarantee", 1, 0, GUARANTEE }, { "headroom", 1, 0, HEADROOM }, { "t0", 1, 0, T0 },
	{ "xon", 1, 0, XON }, { "ack-priority", 1, 0, ACK_PRIORITY },
	{ "cnp-priority", 1, 0, CNP_PRIORITY }, { "rto", 1, 0, RTO }, { "like", 1, 0, LIKE },
	{ "hosts", 1, 0, HOSTS }, { "agents", 0, 0, AGENTS }, { "fail", 1, 0, FAIL },
	{ "restore", 1, 0, RESTORE }, { "converge", 1, 0, CONVERGE }, { "ttl", 1, 0, TTL },
	{ "watchdog", 1, 0, WATCHDOG }, { "seed", 1, 0, SEED }, { "out_json", 1, 0, OUT_JSON },
	{ "fct", 1, 0, FCT }, { "plot", 1, 0, PLOT }, { "warmup", 1, 0, WARM_UP },
	{ "queue", 1, 0, QUEUE }, { "repeat", 1, 0, REPEAT }, { "jobs", 1, 0, JOBS },
	{ "recovery", 1, 0, RECOVERY }, { "edge", 1, 0, EDGE }, { "inside", 1, 0, INSIDE },
	{ "dscp", 1, 0, DSCP }, { "priority", 1, 0, PRIORITY },
	{ "save-topology", 1, 0, SAVE_TOPOLOGY }, { "save-flows", 1, 0, SAVE_FLOWS },
	{ "message", 1, 0, MESSAGE }, { "until", 1, 0, UNTIL },
	{ "priority-cc", 1, 0, PRIORITY_CC }, { "telemetry", 1, 0, TELEMETRY },
	{ "verb", 1, 0, VERB }, { "noise", 1, 0, NOISE }, { "segment", 1, 0, SEGMENT },
	{ "quiet", 0, 0, 'q' }, { "help", 0, 0, 'h' }, { 0 }
};

static const char *name_of(int option)
{
	const struct option *o = known;

	while (o->val != option)
		o++;
	return o->name;
}

static double quantity(int option, enum ccs_unit unit, double least, double most)
{
	static const char *const examples[] = {
		[CCS_UNIT_NONE] = "number", [CCS_UNIT_RATE] = "rate such as 10g",
		[CCS_UNIT_BYTES] = "number of bytes such as 64k", [CCS_UNIT_TIME] = "time such as 50us",
	};
	char low[CCS_UNIT_LEN], high[CCS_UNIT_LEN];
	double value;

	if (ccs_parse_unit(optarg, unit, &value) == 0 && value >= least && value <= most)
		return value;
	die("--%s: '%s' is not a %s, from %s to %s", name_of(option), optarg, examples[unit],
	    ccs_format_unit(least, unit, low, sizeof(low)),
	    ccs_format_unit(most, unit, high, sizeof(high)));
}

static double time_us(int option)
{
	return quantity(option, CCS_UNIT_TIME, 0, 1e12);
}

/* A timeout of less than a ps would be due at once again, without end. */
static double none_or_ns(int option)
{
	const double us = time_us(option);

	if (us > 0 && us < 1e-3)
		die("--%s: '%s' is less than 1ns; 0 is none", name_of(option), optarg);
	return us;
}

static double bytes(int option, double least)
{
	return quantity(option, CCS_UNIT_BYTES, least, 1e15);
}

static unsigned priority(int option)
{
	return (unsigned)quantity(option, CCS_UNIT_NONE, 0, FAB_PRIORITIES - 1);
}

double options_fraction(const char *option, const char *given)
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

static double fraction(int option)
{
	return options_fraction(name_of(option), optarg);
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
	m->red.pmax = options_fraction("ecn", word[2]);
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
	o->conf.marking.weight = weight ? options_fraction("poll", weight) : 1;
	if (ccs_parse_unit(copy, CCS_UNIT_TIME, &o->conf.marking.poll_us) ||
	    !(o->conf.marking.weight > 0 && o->conf.marking.weight <= 1))
		die("--poll: '%s' is not TIME[:WEIGHT], such as 50us:1/4", optarg);
}

static void parse_segment(struct fab_conf *c)
{
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

static void parse_change(struct options *o, int option)
{
	struct link_change *c = &o->change[o->changes];
	char time[40];
	int n;

	if (o->changes++ == MAX_CHANGES)
		die("--%s: more than %d changes", name_of(option), MAX_CHANGES);
	c->kind = option == FAIL ? FAB_FAIL : option == RESTORE ? FAB_RESTORE : FAB_CONVERGE;
	c->a = FAB_ALL_NODES;
	if (option != CONVERGE)
		n = sscanf(optarg, "%u-%u@%39s", &c->a, &c->b, time) == 3;
	else
		n = sscanf(optarg, "all@%39s", time) == 1 || sscanf(optarg, "%u@%39s", &c->a, time) == 2;
	if (!n || ccs_parse_unit(time, CCS_UNIT_TIME, &c->at_us) || !(c->at_us < 1e12))
		die("--%s: '%s' is not %s@TIME", name_of(option), optarg,
		    option == CONVERGE ? "NODE, or all" : "NODE-NODE");
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

static void parse_class(struct options *o, int option)
{
	unsigned port, dscp, queue;
	char tail;

	o->conf.qos = &o->qos;
	if (option == EDGE && sscanf(optarg, "%5u:%2u:%1u%c", &port, &dscp, &queue, &tail) == 3 &&
	    port < 65536 && dscp < CCS_QOS_DSCPS && queue < CCS_QOS_QUEUES &&
	    o->qos.rules < CCS_QOS_RULES)
		o->qos.rule[o->qos.rules++] = (struct ccs_qos_rule){ port, dscp, queue };
	else if (option == INSIDE && sscanf(optarg, "%2u:%1u%c", &dscp, &queue, &tail) == 2 &&
		 dscp < CCS_QOS_DSCPS && queue < CCS_QOS_QUEUES)
		o->qos.inside[dscp] = (unsigned char)queue;
	else
		die("--%s: '%s' is not %sDSCP:QUEUE", name_of(option), optarg,
		    option == EDGE ? "PORT:" : "");
}

/* A packet of the wire: Ethernet with FCS, IPv4, UDP, BTH, ICRC, preamble and gap are 82 bytes. */
static void set_defaults(struct options *o)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*o = (struct options){
		.repeat = 1, .jobs = cpus > 0 ? (unsigned)cpus : 1,
		.topology = "star:17@100g", .flows = "incast:16,2m", .cc = "none", .delay_us = 1,
		.priority = 3,
		.conf = {
			.wire = { .payload = 1024, .header = 82, .ack = 86, .cnp = 98, .pause = 84,
				  .data_telemetry = 42, .ack_telemetry = 42,
				  .tx_unit = 1, .queue_unit = 1 },
			.buffer = { .bytes = 32 << 20, .cell = 256, .pfc = true, .alpha = 0.125,
				    .guarantee = 9216, .headroom = NAN, .headroom_us = NAN,
				    .hysteresis = 3072, .t0_us = 1.5 },
			.marking = { { 100 << 10, 400 << 10, 0.2 }, .rate = 25e9 },
			.data_dscp = 46, .ack_priority = 6, .cnp_priority = 6, .cnp_us = 50,
			.rto_us = 4000, .ttl = FAB_TTL, .seed = 1, .end = UINT64_MAX,
		},
	};
}

/* The parameters of mix/run.py and the facts of the model. What depends on the hosts' links comes
 * when they are known. */
static void set_like_ns3(struct options *o)
{
	struct fab_conf *c = &o->conf;

	if (strcmp(optarg, "ns3") != 0)
		die("--like: '%s' is not known; ns3 is", optarg);
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

static void set_text(struct options *o, int option)
{
	switch (option) {
	case TOPOLOGY: o->topology = optarg; break;
	case ROUTES: o->routes = optarg; break;
	case FLOWS: o->flows = optarg; break;
	case CC: o->cc = optarg; break;
	case OUT_JSON: o->json = optarg; break;
	case FCT: o->fct = optarg; break;
	case PLOT: o->plot = optarg; break;
	case SAVE_TOPOLOGY: o->save_topology = optarg; break;
	case SAVE_FLOWS: o->save_flows = optarg; break;
	}
}

static void set_buffer(struct fab_buffer *b, int option)
{
	switch (option) {
	case BUFFER: b->bytes = strcmp(optarg, "inf") ? bytes(option, 1) : INFINITY; break;
	case CELL: b->cell = bytes(option, 1); break;
	case ALPHA: b->alpha = fraction(option); break;
	case QUEUE_ALPHA: b->queue_alpha = fraction(option); break;
	case GUARANTEE: b->guarantee = bytes(option, 0); break;
	case HEADROOM:
		b->headroom = b->headroom_us = NAN;
		if (optarg[strcspn(optarg, "s")])
			b->headroom_us = time_us(option);
		else
			b->headroom = bytes(option, 0);
		break;
	case T0: b->t0_us = time_us(option); break;
	case XON: b->hysteresis = bytes(option, 0); break;
	case PFC:
		b->pfc = strcmp(optarg, "on") == 0;
		if (!b->pfc && strcmp(optarg, "off") != 0)
			die("--pfc: '%s' is neither on nor off", optarg);
		break;
	}
}

static enum fab_verb parse_verb(void)
{
	static const char *const name[] = { "write", "read", "send" };

	for (unsigned i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (strcmp(optarg, name[i]) == 0)
			return (enum fab_verb)i;
	die("--verb: '%s' is none of write, read and send", optarg);
}

static void set_hosts(struct options *o, int option)
{
	struct fab_conf *c = &o->conf;

	switch (option) {
	case HOSTS:
		c->shim = strcmp(optarg, "shim") == 0;
		if (!c->shim && strcmp(optarg, "plain") != 0)
			die("--hosts: '%s' is neither plain nor shim", optarg);
		break;
	case RECOVERY:
		c->selective = strcmp(optarg, "selective") == 0;
		if (!c->selective && strcmp(optarg, "go-back-n") != 0)
			die("--recovery: '%s' is neither go-back-n nor selective", optarg);
		break;
	case VERB: o->verb = parse_verb(); break;
	case NOISE: c->noise_us = time_us(option); break;
	case SEGMENT: parse_segment(c); break;
	}
}

static void parse_option(struct options *o, int option)
{
	struct fab_conf *c = &o->conf;

	switch (option) {
	case DELAY: o->delay_us = time_us(option); break;
	case JITTER: o->jitter_us = time_us(option); break;
	case WARM_UP: c->warm = (uint64_t)(time_us(option) * FAB_PS_PER_US); break;
	case UNTIL: o->until_us = time_us(option); break;
	case MESSAGE: o->message = (uint64_t)bytes(option, 1); break;
	case FOR: o->for_us = time_us(option); break;
	case BASE_RTT: c->base_rtt_us = time_us(option); break;
	case MTU: c->wire.payload = (uint32_t)quantity(option, CCS_UNIT_BYTES, 64, 16384); break;
	case ECN: parse_ecn(o); break;
	case POLL: parse_poll(o); break;
	case PRIORITY_CC: parse_priority_cc(o); break;
	case CNP_TIME: c->cnp_us = time_us(option); break;
	case ACK_PRIORITY: c->ack_priority = priority(option); break;
	case CNP_PRIORITY: c->cnp_priority = priority(option); break;
	case RTO: c->rto_us = none_or_ns(option); break;
	case LIKE: set_like_ns3(o); break;
	case FAIL: case RESTORE: case CONVERGE: parse_change(o, option); break;
	case TTL: c->ttl = (unsigned)quantity(option, CCS_UNIT_NONE, 1, 255); break;
	case WATCHDOG: parse_watchdog(o); break;
	case QUEUE: parse_queue(o); break;
	case EDGE: case INSIDE: parse_class(o, option); break;
	case DSCP: c->data_dscp = (unsigned)quantity(option, CCS_UNIT_NONE, 0, 63); break;
	case PRIORITY: o->priority = priority(option); break;
	case REPEAT: o->repeat = (unsigned)quantity(option, CCS_UNIT_NONE, 1, 1e6); break;
	case JOBS: o->jobs = (unsigned)quantity(option, CCS_UNIT_NONE, 1, 1024); break;
	case AGENTS: c->agents = true; break;
	case TELEMETRY:
		c->wire.count_received = strcmp(optarg, "received") == 0;
		if (!c->wire.count_received && strcmp(optarg, "sent") != 0)
			die("--telemetry: '%s' is neither sent nor received", optarg);
		break;
	case HOSTS: case RECOVERY: case VERB: case NOISE: case SEGMENT: set_hosts(o, option); break;
	case SEED: c->seed = (uint64_t)quantity(option, CCS_UNIT_NONE, 0, 0x1p53); break;
	case 'q': o->quiet = true; break;
	case 'h': output_help(options_usage);
	case '?': fputs("Try 'ccfabric run --help'.\n", stderr); exit(2);
	case TOPOLOGY: case ROUTES: case FLOWS: case CC: case OUT_JSON: case FCT: case PLOT:
	case SAVE_TOPOLOGY: case SAVE_FLOWS: set_text(o, option); break;
	default: set_buffer(&c->buffer, option);
	}
}

void options_follow_topology(struct options *o, const struct topology *t)
{
	double rate = INFINITY;

	for (unsigned i = 0; i < t->links; i++)
		rate = fmin(rate, t->link[i].rate_bps);
	if (!o->like_ns3)
		return;
	o->conf.buffer.alpha_rate = rate;
	if (isnan(o->conf.buffer.bytes))
		o->conf.buffer.bytes = 16 * 1048576 * (rate / 50e9);
}

void options_parse(struct options *o, int argc, char **argv)
{
	set_defaults(o);
	optind = 0;
	for (int c; (c = getopt_long(argc, argv, "qh", known, NULL)) != -1;)
		parse_option(o, c);
	if (optind < argc)
		die("'%s' is no option", argv[optind]);
	if (o->repeat > 1 && (o->fct || o->plot || o->save_topology || o->save_flows))
		die("--repeat has no single run whose flows, picture or traffic could be written");
	if (o->verb != FAB_WRITE && !o->conf.shim)
		die("--verb: only the flow layer makes a difference, so READ and SEND need --hosts shim");
	if (o->for_us > 0 && (double)o->conf.warm >= o->for_us * FAB_PS_PER_US)
		die("--warmup is not shorter than --for: nothing would be counted");
	if (o->conf.segment && o->conf.segment % o->conf.wire.payload)
		die("--segment: it is not a multiple of a packet's --mtu of %u bytes", o->conf.wire.payload);
	o->conf.lossless = o->priority;
	o->conf.series = o->plot;
	if (o->plot && !gnuplot_can_write(o->plot))
		die("--plot: '%s' ends in neither .svg nor .png", o->plot);
}
