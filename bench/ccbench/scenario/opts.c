/* SPDX-License-Identifier: BSD-2-Clause */
#include "opts.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "scenario.h"

#define SECOND 1000000000ll

/* Options without a letter. */
enum {
	O_SENDERS = 256, O_DEVICES, O_VICTIM, O_NO_VICTIM, O_VICTIM_SIZE, O_VICTIM_INTERVAL, O_OP,
	O_WARMUP, O_SEED, O_START, O_POLL, O_CC, O_PRELOAD, O_RATE, O_SWITCH_NS, O_SWITCH_PORT,
	O_OUT, O_OUT_JSON, O_PLOT, O_SCENARIO, O_TIMEOUT, O_TCLASS, O_HOSTS, O_SIZES, O_LOAD,
	O_REPEAT, O_QP_POOL, O_LATE, O_COLLECTIVE, O_PAUSE, O_RESPONSE, O_CLAIMS,
};

static const struct option options[] = {
	{ "ib-dev", 1, 0, 'd' }, { "gid-index", 1, 0, 'x' }, { "size", 1, 0, 's' },
	{ "iters", 1, 0, 'n' }, { "duration", 1, 0, 'D' }, { "qp", 1, 0, 'q' },
	{ "tx-depth", 1, 0, 't' }, { "mtu", 1, 0, 'm' }, { "CPU-freq", 0, 0, 'F' },
	{ "help", 0, 0, 'h' },
	{ "senders", 1, 0, O_SENDERS }, { "devices", 1, 0, O_DEVICES },
	{ "victim", 0, 0, O_VICTIM }, { "no-victim", 0, 0, O_NO_VICTIM },
	{ "victim-size", 1, 0, O_VICTIM_SIZE }, { "victim-interval", 1, 0, O_VICTIM_INTERVAL },
	{ "op", 1, 0, O_OP }, { "warmup", 1, 0, O_WARMUP }, { "seed", 1, 0, O_SEED },
	{ "start", 1, 0, O_START }, { "poll", 2, 0, O_POLL }, { "cc", 1, 0, O_CC },
	{ "preload", 1, 0, O_PRELOAD }, { "rate", 1, 0, O_RATE },
	{ "switch-ns", 1, 0, O_SWITCH_NS }, { "switch-port", 1, 0, O_SWITCH_PORT },
	{ "out", 1, 0, O_OUT }, { "out_json", 1, 0, O_OUT_JSON }, { "out-json", 1, 0, O_OUT_JSON },
	{ "plot", 1, 0, O_PLOT }, { "scenario", 1, 0, O_SCENARIO }, { "timeout", 1, 0, O_TIMEOUT },
	{ "tclass", 1, 0, O_TCLASS }, { "hosts", 1, 0, O_HOSTS }, { "sizes", 1, 0, O_SIZES },
	{ "load", 1, 0, O_LOAD }, { "repeat", 1, 0, O_REPEAT }, { "qp-pool", 1, 0, O_QP_POOL },
	{ "late", 1, 0, O_LATE }, { "collective", 1, 0, O_COLLECTIVE }, { "pause", 1, 0, O_PAUSE },
	{ "response", 1, 0, O_RESPONSE }, { "claims", 1, 0, O_CLAIMS },
	{ 0 }
};

/* State of the parser: the options, where an error is written, and --devices and -d as given. */
struct parse {
	struct opts *o;
	char *err;
	size_t errlen;
	const char *dev, *devices;
	bool stagger; /* over the warm-up */
};

static int set_error(struct parse *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int set_error(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->err, p->errlen, fmt, ap);
	va_end(ap);
	return -1;
}

static int parse_count(struct parse *p, const char *name, const char *text, uint64_t min,
		       uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *value < min || *value > max)
		return set_error(p, "%s %s: not a whole number from %llu to %llu", name, text,
				 (unsigned long long)min, (unsigned long long)max);
	return 0;
}

static int parse_unsigned(struct parse *p, const char *name, const char *text, unsigned min,
			  unsigned max, unsigned *value)
{
	uint64_t v;

	if (parse_count(p, name, text, min, max, &v))
		return -1;
	*value = (unsigned)v;
	return 0;
}

static int parse_bytes(struct parse *p, const char *name, const char *text, double max,
		       uint64_t *value)
{
	double v;

	if (ccs_parse_unit(text, CCS_UNIT_BYTES, &v) || v < 1 || v > max || v != floor(v))
		return set_error(p, "%s %s: not a number of bytes (as 4096, 64k, 1m) up to %.0f",
				 name, text, max);
	*value = (uint64_t)v;
	return 0;
}

/* bare: the unit of a number without one, us. */
static int parse_time(struct parse *p, const char *name, const char *text, double bare,
		      int64_t *ns)
{
	double us;
	size_t len = strlen(text);

	if (ccs_parse_unit(text, CCS_UNIT_TIME, &us) || !(us <= 86400e6))
		return set_error(p, "%s %s: not a time (as 2s, 100ms, 50us) up to a day", name, text);
	if (len > 0 && strchr("0123456789.", text[len - 1]))
		us *= bare;
	*ns = (int64_t)llround(us * 1e3);
	return 0;
}

static int parse_rate(struct parse *p, const char *name, const char *text, double *bps)
{
	if (ccs_parse_unit(text, CCS_UNIT_RATE, bps) || !(*bps >= 1000 && isfinite(*bps)))
		return set_error(p, "%s %s: not a rate (as 200mbit, 10g)", name, text);
	return 0;
}

static int parse_mtu(struct parse *p, const char *text)
{
	if (parse_unsigned(p, "--mtu", text, 256, 4096, &p->o->mtu))
		return -1;
	if (p->o->mtu & (p->o->mtu - 1))
		return set_error(p, "--mtu %s: a path MTU is 256, 512, 1024, 2048 or 4096", text);
	return 0;
}

static int parse_op(struct parse *p, const char *text)
{
	enum bench_op op;

	for (op = OP_WRITE; op <= OP_SEND; op++) {
		if (!strcmp(text, op_name(op))) {
			p->o->op = op;
			return 0;
		}
	}
	return set_error(p, "--op %s: write, read or send", text);
}

static int parse_sizes(struct parse *p, const char *text)
{
	enum sizes s;

	for (s = SIZES_FIXED; sizes_name(s); s++) {
		if (!strcmp(text, sizes_name(s))) {
			p->o->sizes = s;
			return 0;
		}
	}
	return set_error(p, "--sizes %s: fixed, websearch or hadoop", text);
}

static int parse_collective(struct parse *p, const char *text)
{
	enum collective c;

	for (c = COLLECTIVE_HALVING; collective_name(c); c++) {
		if (!strcmp(text, collective_name(c))) {
			p->o->collective.kind = c;
			return 0;
		}
	}
	return set_error(p, "--collective %s: halving, tree or ring", text);
}

/* Parse 0.5 or 50%; NAN if the text is neither. *end is set to the text after it. */
static double parse_share(const char *text, char **end)
{
	double v = strtod(text, end);

	if (*end == text)
		return NAN;
	if (**end == '%') {
		v /= 100;
		++*end;
	}
	return v;
}

static int parse_load(struct parse *p, const char *text)
{
	char *end;
	double v = parse_share(text, &end);

	if (*end || !(v > 0 && v <= 2))
		return set_error(p, "--load %s: not a share of the link (as 0.5, 50%%) up to 2", text);
	p->o->load = v;
	return 0;
}

/* Without a time: all the time. */
static int parse_poll(struct parse *p, const char *text)
{
	p->o->poll = true;
	p->o->poll_interval = 0;
	return text ? parse_time(p, "--poll", text, 1, &p->o->poll_interval) : 0;
}

/* SHARE:TIME */
static int parse_late(struct parse *p, const char *text)
{
	char *end;
	double share = parse_share(text, &end);

	if (*end != ':' || !(share > 0 && share <= 1))
		return set_error(p, "--late %s: not a share of the polls and a time (as 1%%:200us)",
				 text);
	p->o->late_share = share;
	return parse_time(p, "--late", end + 1, 1, &p->o->late);
}

/* together | stagger | stagger:TIME */
static int parse_start(struct parse *p, const char *text)
{
	p->stagger = false;
	p->o->stagger = 0;
	if (!strcmp(text, "together"))
		return 0;
	if (!strncmp(text, "stagger:", 8))
		return parse_time(p, "--start", text + 8, 1, &p->o->stagger);
	if (strcmp(text, "stagger"))
		return set_error(p, "--start %s: together, stagger or stagger:TIME", text);
	p->stagger = true;
	return 0;
}

static int parse_cc(struct parse *p, const char *text)
{
	return settings_add(&p->o->cc, text, p->err, p->errlen);
}

static int parse_option(struct parse *p, int letter, const char *arg)
{
	struct opts *o = p->o;

	switch (letter) {
	case 'd': p->dev = arg; return 0;
	case O_DEVICES: p->devices = arg; return 0;
	case 'x': return parse_unsigned(p, "-x", arg, 0, 255, &o->gid_index);
	case 's': return parse_bytes(p, "-s", arg, 0x1p30, &o->size);
	case 'n': return parse_count(p, "-n", arg, 1, 1ull << 40, &o->iterations);
	case 'D': return parse_time(p, "-D", arg, 1e6, &o->duration);
	case 'q': return parse_unsigned(p, "-q", arg, 1, 1024, &o->qps);
	case O_QP_POOL: return parse_unsigned(p, "--qp-pool", arg, 1, 1024, &o->qp_pool);
	case 't': return parse_unsigned(p, "-t", arg, 1, 16384, &o->depth);
	case 'm': return parse_mtu(p, arg);
	case 'F': return 0; /* accepted because perftest has it */
	case O_TCLASS: return parse_unsigned(p, "--tclass", arg, 0, 255, &o->tclass);
	case O_SENDERS: return parse_unsigned(p, "--senders", arg, 1, MAX_HOSTS - 2, &o->senders);
	case O_HOSTS: return parse_unsigned(p, "--hosts", arg, 2, MAX_HOSTS, &o->hosts);
	case O_SIZES: return parse_sizes(p, arg);
	case O_LOAD: return parse_load(p, arg);
	case O_REPEAT: return parse_unsigned(p, "--repeat", arg, 1, MAX_REPEATS, &o->repeat);
	case O_VICTIM: o->victim.wanted = true; return 0;
	case O_NO_VICTIM: o->victim.wanted = false; return 0;
	case O_VICTIM_SIZE: return parse_bytes(p, "--victim-size", arg, 0x1p20, &o->victim.size);
	case O_VICTIM_INTERVAL:
		return parse_time(p, "--victim-interval", arg, 1, &o->victim.interval);
	case O_OP: return parse_op(p, arg);
	case O_WARMUP: return parse_time(p, "--warmup", arg, 1, &o->warmup);
	case O_SEED: return parse_count(p, "--seed", arg, 0, UINT64_MAX, &o->seed);
	case O_START: return parse_start(p, arg);
	case O_POLL: return parse_poll(p, arg);
	case O_LATE: return parse_late(p, arg);
	case O_COLLECTIVE: return parse_collective(p, arg);
	case O_PAUSE: return parse_time(p, "--pause", arg, 1, &o->collective.pause);
	case O_RESPONSE: return parse_bytes(p, "--response", arg, 0x1p30, &o->response);
	case O_CLAIMS: return parse_unsigned(p, "--claims", arg, 1, 1024, &o->claims);
	case O_CC: return parse_cc(p, arg);
	case O_PRELOAD: o->preload = arg; return 0;
	case O_RATE: return parse_rate(p, "--rate", arg, &o->link.rate_bps);
	case O_SWITCH_NS: o->link.switch_ns = arg; return 0;
	case O_SWITCH_PORT: o->link.switch_port = arg; return 0;
	case O_OUT: o->out = arg; o->out_given = true; return 0;
	case O_OUT_JSON: o->out_json = arg; return 0;
	case O_PLOT: o->plot = arg; return 0;
	case O_SCENARIO: o->scenario = arg; return 0;
	case O_TIMEOUT: return parse_time(p, "--timeout", arg, 1e6, &o->timeout);
	}
	return -1;
}

static int name_device(struct parse *p, unsigned host, const char *name, size_t len)
{
	if (len == 0 || len >= DEVICE_LEN)
		return set_error(p, "device name %.*s: empty or too long", (int)len, name);
	memcpy(p->o->device[host], name, len);
	p->o->device[host][len] = '\0';
	return 0;
}

static int split_devices(struct parse *p)
{
	unsigned host, hosts = opts_hosts(p->o);
	const char *name = p->devices, *end;

	for (host = 0; host < hosts; host++, name = end + 1) {
		end = strchrnul(name, ',');
		if (name_device(p, host, name, (size_t)(end - name)))
			return -1;
		if (!*end && host + 1 < hosts)
			return set_error(p, "--devices names %u devices, %u are needed", host + 1, hosts);
	}
	return 0;
}

/* -d names the receiver's device; the others count up from its trailing number. */
static int count_devices(struct parse *p)
{
	size_t len = strlen(p->dev), prefix = len;
	unsigned host, first;
	char name[DEVICE_LEN + 16];

	while (prefix > 0 && strchr("0123456789", p->dev[prefix - 1]))
		prefix--;
	if (prefix == len || len >= DEVICE_LEN || len - prefix > 6)
		return set_error(p, "-d %s: does not end in a number to count up from; name all "
				 "devices with --devices", p->dev);
	first = (unsigned)strtoul(p->dev + prefix, NULL, 10);
	for (host = 0; host < opts_hosts(p->o); host++) {
		snprintf(name, sizeof(name), "%.*s%u", (int)prefix, p->dev, first + host);
		if (name_device(p, host, name, strlen(name)))
			return -1;
	}
	return 0;
}

/* In an MPI job all ranks have a device of the same name. */
static int same_device(struct parse *p)
{
	unsigned host;

	if (!*p->dev) /* the first device */
		return 0;
	for (host = 0; host < opts_hosts(p->o); host++)
		if (name_device(p, host, p->dev, strlen(p->dev)))
			return -1;
	return 0;
}

static int name_devices(struct parse *p)
{
	return p->devices ? split_devices(p) : p->o->ranks ? same_device(p) : count_devices(p);
}

static void set_defaults(struct opts *o, const char *scenario, unsigned ranks)
{
	*o = (struct opts){
		.kind = scenario_find(scenario), .ranks = ranks, .repeat = 1,
		.gid_index = 1, .qps = 1, .duration = 2 * SECOND,
		.victim = { .wanted = true, .size = 64, .interval = SECOND / 1000 },
		.collective.pause = SECOND / 1000, .response = 4096, .claims = 256,
		.warmup = -1, .seed = 1, .link.queue_bytes = NAN, .out = ".",
	};
	o->size = o->kind && o->kind->size ? o->kind->size : 65536;
}

/* Defaults from the variables of ci/lab/lab, which are numbers in base units. */
static int read_lab_variables(struct parse *p)
{
	struct opts *o = p->o;
	const char *s;

	if ((s = getenv("LAB_HOSTS")) && !o->ranks &&
	    parse_unsigned(p, "LAB_HOSTS", s, 2, MAX_HOSTS, &o->hosts))
		return -1;
	if ((s = getenv("LAB_SEED")) && parse_count(p, "LAB_SEED", s, 0, UINT64_MAX, &o->seed))
		return -1;
	if ((s = getenv("LAB_RATE_BPS")) && parse_rate(p, "LAB_RATE_BPS", s, &o->link.rate_bps))
		return -1;
	if ((s = getenv("LAB_NIC_BPS")) && *s && parse_rate(p, "LAB_NIC_BPS", s, &o->link.nic_bps))
		return -1;
	if ((s = getenv("LAB_QUEUE_BYTES")))
		o->link.queue_bytes = strtod(s, NULL);
	o->link.switch_ns = getenv("LAB_SWITCH_NS");
	o->link.switch_port = getenv("LAB_SWITCH_PORT");
	o->engine = getenv("LAB_ENGINE");
	o->time = getenv("LAB_TIME");
	if ((s = getenv("LAB_OUT")) && *s) {
		o->out = s;
		o->out_given = true;
	}
	return 0;
}

/* Set the numbers of hosts and senders that no option sets: all of a job, or 4. */
static int count_hosts(struct parse *p)
{
	struct opts *o = p->o;

	if (!o->senders && !o->ranks)
		o->senders = 4;
	if (!o->hosts)
		o->hosts = o->ranks ? o->ranks : 4;
	if (!o->senders) {
		o->senders = 1;
		if (o->ranks > opts_hosts(o))
			o->senders += o->ranks - opts_hosts(o);
	}
	if (o->ranks && opts_hosts(o) > o->ranks)
		return set_error(p, "%u hosts are needed, the job has %u ranks", opts_hosts(o), o->ranks);
	return 0;
}

static int complete_times(struct parse *p)
{
	struct opts *o = p->o;
	int64_t grace = 60 * SECOND;
	const bool given = o->warmup >= 0;

	if (!given) {
		o->warmup = o->link.rate_bps >= 10e9 ? SECOND / 50 : SECOND / 10;
		if (o->warmup > o->duration / 4)
			o->warmup = o->duration / 4;
	}
	if (p->stagger)
		o->stagger = o->warmup;
	/* With -n a run may take less time than the warm-up, under some settings. */
	if (!given && o->iterations)
		o->warmup = 0;
	if (!o->iterations && o->duration <= o->warmup)
		return set_error(p, "the duration is not longer than the warm-up");
	if (!o->timeout)
		o->timeout = grace + (o->iterations ? 9 * grace : o->duration);
	return 0;
}

/* A pool needs messages that arrive by a process (--load), and all QPs of its two hosts. */
static int check_pool(struct parse *p)
{
	const struct opts *o = p->o;

	if (!o->qp_pool)
		return 0;
	if (!(o->load > 0))
		return set_error(p, "--qp-pool needs messages that arrive at random: give --load or --sizes");
	if (o->qps > 1 && !o->kind->elephants)
		return set_error(p, "--qp-pool and -q exclude each other: "
				 "the pool has all QPs of two hosts");
	if (o->iterations)
		return set_error(p, "--qp-pool and -n exclude each other: "
				 "a pool's QPs carry every message that arrives");
	return 0;
}

static int complete(struct parse *p)
{
	struct opts *o = p->o;

	if (!o->cc.n && parse_cc(p, "none"))
		return -1;
	o->victim.wanted &= o->kind->has_victim;
	if (count_hosts(p))
		return -1;
	if (o->kind->apply_defaults && !o->kind->apply_defaults(o))
		return o->kind->refusal ? set_error(p, "%s", o->kind->refusal)
					: set_error(p, "-n: %s needs a duration (-D)", o->kind->name);
	if (o->sizes != SIZES_FIXED && !(o->load > 0))
		o->load = 0.5;
	if (o->load > 0 && !(o->link.rate_bps > 0))
		return set_error(p, "a load needs the link's --rate");
	if (!o->depth)
		o->depth = default_depth(o->size);
	if (check_pool(p) || complete_times(p))
		return -1;
	if ((uint64_t)o->senders * o->qps > MAX_FLOWS ||
	    (uint64_t)o->senders * o->qp_pool > MAX_FLOWS)
		return set_error(p, "%u senders of %u QPs are more than %d flows", o->senders,
				 o->qp_pool ? o->qp_pool : o->qps, MAX_FLOWS);
	return name_devices(p);
}

unsigned opts_hosts(const struct opts *o)
{
	return o->kind->hosts(o);
}

enum opts_result opts_parse(struct opts *o, unsigned ranks, int argc, char **argv,
			    char *err, size_t errlen)
{
	struct parse p = { .o = o, .err = err, .errlen = errlen, .dev = ranks ? "" : "rxe_1" };
	int letter, at;

	set_defaults(o, argv[0], ranks);
	if (read_lab_variables(&p))
		return OPTS_BAD;
	optind = 0; /* restart getopt: a program may parse more than once */
	opterr = 0;
	for (;;) {
		at = optind ? optind : 1;
		letter = getopt_long(argc, argv, "+:d:x:s:n:D:q:t:m:Fh", options, NULL);
		if (letter == -1)
			break;
		if (letter == 'h')
			return OPTS_HELP;
		if (letter == '?' || letter == ':') {
			set_error(&p, "%s: %s", argv[at],
			    letter == ':' ? "a value is missing" : "no such option");
			return OPTS_BAD;
		}
		if (parse_option(&p, letter, optarg))
			return OPTS_BAD;
	}
	if (optind < argc) {
		set_error(&p, "%s: not an option", argv[optind]);
		return OPTS_BAD;
	}
	return complete(&p) ? OPTS_BAD : OPTS_OK;
}
