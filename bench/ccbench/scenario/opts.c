/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of options, from which they are parsed and the help is printed. */
#include "opts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "base/units.h"
#include "cc/shares.h"
#include "scenario.h"
#include "tools/common/gnuplot.h"
#include "tools/common/next_option.h"

#define SECOND 1000000000ll

/* State of the parser: the options, where an error is written, and --devices and -d as given. */
struct parse {
	struct opts *o;
	char *err;
	size_t errlen;
	const char *dev, *devices;
	const struct row *row;   /* the option of the value that is parsed, and its name for messages */
	char name[32];
};

/* An option. parse() reads its value into the member at `offset` of struct opts. */
struct row {
	const char *name;
	char letter;
	const char *arg;         /* for the help; NULL: no value; "[=...": the value is optional */
	const char *doc;
	int (*parse)(struct parse *p, const char *text); /* NULL: no effect */
	size_t offset;
	uint64_t least, most;
	const char *variable;    /* of ci/lab/lab, with the default; NULL: none */
	const char *only;        /* the scenario that has it; NULL: all */
};

#define set_error(p, ...) ccs_refuse((p)->err, (p)->errlen, __VA_ARGS__)

/* -- values ------------------------------------------------------------------------ */

static void *member(const struct parse *p)
{
	return (char *)p->o + p->row->offset;
}

static int read_count(struct parse *p, const char *text, uint64_t *value)
{
	const struct row *r = p->row;
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *value < r->least || *value > r->most)
		return set_error(p, "%s %s: not a whole number from %llu to %llu", p->name, text,
				 (unsigned long long)r->least, (unsigned long long)r->most);
	return 0;
}

static int parse_uint64(struct parse *p, const char *text)
{
	return read_count(p, text, member(p));
}

static int parse_unsigned(struct parse *p, const char *text)
{
	uint64_t value;

	if (read_count(p, text, &value))
		return -1;
	*(unsigned *)member(p) = (unsigned)value;
	return 0;
}

static int parse_bytes(struct parse *p, const char *text)
{
	double v;

	if (ccs_parse_unit(text, CCS_UNIT_BYTES, &v) || v < 1 || v > (double)p->row->most || v != floor(v))
		return set_error(p, "%s %s: not a number of bytes (as 4096, 64k, 1m) up to %llu",
				 p->name, text, (unsigned long long)p->row->most);
	*(uint64_t *)member(p) = (uint64_t)v;
	return 0;
}

/* bare: the unit of a number without one, us. */
static int read_time(struct parse *p, const char *text, double bare)
{
	double us;
	size_t len = strlen(text);

	if (ccs_parse_unit(text, CCS_UNIT_TIME, &us) || !(us <= 86400e6))
		return set_error(p, "%s %s: not a time (as 2s, 100ms, 50us) up to a day", p->name, text);
	if (len > 0 && strchr("0123456789.", text[len - 1]))
		us *= bare;
	*(int64_t *)member(p) = (int64_t)llround(us * 1e3);
	return 0;
}

static int parse_time(struct parse *p, const char *text)
{
	return read_time(p, text, 1);
}

static int parse_seconds(struct parse *p, const char *text)
{
	return read_time(p, text, 1e6);
}

static int parse_rate(struct parse *p, const char *text)
{
	double *bps = member(p);

	if (ccs_parse_unit(text, CCS_UNIT_RATE, bps) || !(*bps >= 1000 && isfinite(*bps)))
		return set_error(p, "%s %s: not a rate (as 200mbit, 10g)", p->name, text);
	return 0;
}

static int parse_text(struct parse *p, const char *text)
{
	*(const char **)member(p) = text;
	return 0;
}

static int parse_picture(struct parse *p, const char *text)
{
	if (!gnuplot_can_write(text))
		return set_error(p, "%s %s: the name does not end in .png or .svg", p->name, text);
	return parse_text(p, text);
}

static int parse_mtu(struct parse *p, const char *text)
{
	if (parse_unsigned(p, text))
		return -1;
	if (p->o->mtu & (p->o->mtu - 1))
		return set_error(p, "%s %s: a path MTU is 256, 512, 1024, 2048 or 4096", p->name, text);
	return 0;
}

/* The choices are in p->row->arg, in the order of their enum. */
static int parse_choice(struct parse *p, const char *text)
{
	unsigned *value = member(p);
	size_t len;

	*value = 0;
	for (const char *at = p->row->arg; *at; at += len + (at[len] == '|'), ++*value) {
		len = strcspn(at, "|");
		if (len == strlen(text) && !strncmp(at, text, len))
			return 0;
	}
	return set_error(p, "%s %s: not one of %s", p->name, text, p->row->arg);
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
	double *load = member(p);
	char *end;

	*load = parse_share(text, &end);
	if (*end || !(*load > 0 && *load <= 2))
		return set_error(p, "%s %s: not a share of the link (as 0.5, 50%%) up to 2", p->name, text);
	return 0;
}

/* Without a time: all the time. */
static int parse_poll(struct parse *p, const char *text)
{
	p->o->poll = true;
	p->o->poll_interval = 0;
	return text ? parse_time(p, text) : 0;
}

/* SHARE:TIME */
static int parse_late(struct parse *p, const char *text)
{
	char *end;
	double share = parse_share(text, &end);

	if (*end != ':' || !(share > 0 && share <= 1))
		return set_error(p, "%s %s: not a share of the polls and a time (as 1%%:200us)", p->name, text);
	p->o->late_share = share;
	return parse_time(p, end + 1);
}

/* QPS:WEIGHT[:HOSTS],... */
static int parse_tenants(struct parse *p, const char *text)
{
	const char *at = text, *end;

	for (p->o->tenants.n = 0; p->o->tenants.n < MAX_TENANTS; at++) {
		struct opts_tenant *t = &p->o->tenants.v[p->o->tenants.n++];
		unsigned long qps = 0, hosts = 1;

		if (*at >= '1' && *at <= '9')
			qps = strtoul(at, (char **)(uintptr_t)&at, 10);
		if (*at != ':')
			break;
		t->weight = ccs_strtod(at + 1, &end);
		if (*end == ':' && end[1] >= '0' && end[1] <= '9')
			hosts = strtoul(end + 1, (char **)(uintptr_t)&end, 10);
		if (!(t->weight >= CCS_WEIGHT_LEAST && t->weight <= CCS_WEIGHT_MOST) || qps > MAX_FLOWS ||
		    hosts < 1 || hosts > qps || hosts > MAX_HOSTS)
			break;
		t->qps = (unsigned)qps;
		t->hosts = (unsigned)hosts;
		at = end;
		if (!*at)
			return 0;
		if (*at != ',')
			break;
	}
	return set_error(p, "%s %s: not 1 to %d times QPS:WEIGHT[:HOSTS], with a weight from %g to %g and "
			 "no more hosts than queue pairs, as 1:1,16:2,64:4:8", p->name, text, MAX_TENANTS,
			 CCS_WEIGHT_LEAST, CCS_WEIGHT_MOST);
}

static int parse_cc(struct parse *p, const char *text)
{
	return settings_add(&p->o->cc, text, p->err, p->errlen);
}

static int parse_device(struct parse *p, const char *text)
{
	*(p->row->letter ? &p->dev : &p->devices) = text;
	return 0;
}

static int parse_false(struct parse *p, const char *text)
{
	(void)text;
	*(bool *)member(p) = false;
	return 0;
}

static int parse_queue(struct parse *p, const char *text)
{
	*(double *)member(p) = strtod(text, NULL);
	return 0;
}

/* -- the table --------------------------------------------------------------------- */

#define AT(field) .offset = offsetof(struct opts, field)
#define RANGE(min, max) .least = min, .most = max
#define NONE .offset = 0 /* it is no member */

/* In the order of the help. Rows without a name are variables only. */
static const struct row rows[] = {
	{ "cc", 0, "LIST", "none (no preload), off, observe, or an algorithm\n"
	  "NAME[:param=value,...]; may be repeated (none)", parse_cc, NONE },
	{ "senders", 0, "N", "senders, on hosts 2..N+1; the receiver is host 1 (4)",
	  parse_unsigned, AT(senders), RANGE(1, MAX_HOSTS - 2) },
	{ "hosts", 0, "N", "hosts of permutation, alltoall, collective and trunk\n"
	  "(LAB_HOSTS, or 4)", parse_unsigned, AT(hosts), RANGE(2, MAX_HOSTS), "LAB_HOSTS" },
	{ "qp", 'q', "N", "QPs per sender and receiver (1)", parse_unsigned, AT(qps), RANGE(1, 1024) },
	{ "size", 's', "BYTES", "message size (64k); of collective, the data (1m)",
	  parse_bytes, AT(size), RANGE(1, 1 << 30) },
	{ "tx-depth", 't', "N", "outstanding messages per QP (about 1 MB, 2 to 128)",
	  parse_unsigned, AT(depth), RANGE(1, 16384) },
	{ "duration", 'D', "TIME", "duration of a run, including the warm-up (2s)",
	  parse_seconds, AT(duration) },
	{ "iters", 'n', "N", "messages per QP, or operations, instead of a duration",
	  parse_uint64, AT(iterations), RANGE(1, 1ull << 40) },
	{ "warmup", 0, "TIME", "start of a run that results leave out (100ms, or\n"
	  "20ms from 10 Gb/s on, or 0 with -n)", parse_time, AT(warmup) },
	{ "sizes", 0, "fixed|websearch|hadoop", "--size, or a published distribution (fixed)",
	  parse_choice, AT(sizes) },
	{ "load", 0, "F", "Poisson arrivals that use this share of the busiest\n"
	  "link, as 0.5 or 50%", parse_load, AT(load) },
	{ "qp-pool", 0, "N", "send each message on a free QP of N between its\n"
	  "hosts (one QP, in order)", parse_unsigned, AT(qp_pool), RANGE(1, 1024) },
	{ "collective", 0, "halving|tree|ring", "how hosts reduce (halving)",
	  parse_choice, AT(collective.kind), .only = "collective" },
	{ "pause", 0, "TIME", "pause between collective operations (1ms)",
	  parse_time, AT(collective.pause), .only = "collective" },
	{ "response", 0, "BYTES", "of kv, to a request of --victim-size bytes\n"
	  "and whose pause is --victim-interval (4k)", parse_bytes, AT(response), RANGE(1, 1 << 30),
	  .only = "kv" },
	{ "claims", 0, "N", "QPs of the host that claims (256)",
	  parse_unsigned, AT(claims), RANGE(1, 1024), .only = "claims" },
	{ "tenants", 0, "QPS:WEIGHT[:HOSTS],...", "queue pairs, weight and hosts of each tenant\n"
	  "(1:1,16:2,64:4)", parse_tenants, NONE, .only = "tenants" },
	{ "repeat", 0, "N", "runs of each setting, each with another seed (1)",
	  parse_unsigned, AT(repeat), RANGE(1, MAX_REPEATS) },
	{ "op", 0, "write|read|send", "operation (write)", parse_choice, AT(op) },
	{ "poll", 0, "[=TIME]", "poll the CQ, or poll it every TIME, instead of waiting\n"
	  "for its events", parse_poll, AT(poll_interval) },
	{ "late", 0, "F:TIME", "delay that share of the polls that follow a completion,\n"
	  "as 1%:200us: the program is busy", parse_late, AT(late) },
	{ "ib-dev", 'd', "DEV", "device of host 1; others count up from it (rxe_1)", parse_device, NONE },
	{ "devices", 0, "A,B,...", "names of all devices: receiver, senders, victim", parse_device, NONE },
	{ "gid-index", 'x', "N", "GID index (1)", parse_unsigned, AT(gid_index), RANGE(0, 255) },
	{ "mtu", 'm', "BYTES", "path MTU (the port's)", parse_mtu, AT(mtu), RANGE(256, 4096) },
	{ "tclass", 0, "N", "traffic class of all packets; 2 allows ECN marks (0)",
	  parse_unsigned, AT(tclass), RANGE(0, 255) },
	{ NULL, 'F', NULL, "ignored, for compatibility with perftest", NULL, NONE },
	{ "no-victim", 0, NULL, "no latency-sensitive flow",
	  parse_false, AT(victim.wanted) },
	{ "victim-size", 0, "BYTES", "size of the victim's writes (64)",
	  parse_bytes, AT(victim.size), RANGE(1, 1 << 20) },
	{ "victim-interval", 0, "TIME", "pause between the victim's writes (1ms)",
	  parse_time, AT(victim.interval) },
	{ "rate", 0, "RATE", "rate of the bottleneck (LAB_RATE_BPS)",
	  parse_rate, AT(link.rate_bps), .variable = "LAB_RATE_BPS" },
	{ "switch-ns", 0, "NAME", "network namespace of the switch (LAB_SWITCH_NS)",
	  parse_text, AT(link.switch_ns), .variable = "LAB_SWITCH_NS" },
	{ "switch-port", 0, "DEV", "port whose queue is sampled (LAB_SWITCH_PORT)",
	  parse_text, AT(link.switch_port), .variable = "LAB_SWITCH_PORT" },
	{ "preload", 0, "FILE", "the shim (libccshim.so of the build tree, or the\n"
	  "installed one)", parse_text, AT(preload) },
	{ "seed", 0, "N", "seed of all random choices (LAB_SEED, or 1)",
	  parse_uint64, AT(seed), RANGE(0, UINT64_MAX), "LAB_SEED" },
	{ "timeout", 0, "TIME", "when to give up a run (its duration and a minute)",
	  parse_seconds, AT(timeout) },
	{ "out", 0, "DIR", "directory of results (LAB_OUT, or .); a FILE without\n"
	  "a slash is created there", parse_text, AT(out), .variable = "LAB_OUT" },
	{ "out_json", 0, "FILE", "write the results as JSON", parse_text, AT(out_json) },
	{ "plot", 0, "FILE", "draw a picture, .png or .svg", parse_picture, AT(plot) },
	{ "help", 'h', NULL, "print this text", NULL, NONE },
	{ .variable = "LAB_NIC_BPS", .parse = parse_rate, AT(link.nic_bps) },
	{ .variable = "LAB_QUEUE_BYTES", .parse = parse_queue, AT(link.queue_bytes) },
	{ .variable = "LAB_ENGINE", .parse = parse_text, AT(engine) },
	{ .variable = "LAB_TIME", .parse = parse_text, AT(time) },
};

enum { ROWS = sizeof(rows) / sizeof(*rows), FIRST = 256 };

/* "  -q, --qp N             QPs per sender": a text that is too long for its column has a line. */
static void print_row(const struct row *r)
{
	char left[64];

	snprintf(left, sizeof(left), "  %c%c%s%s%s%s", r->letter ? '-' : ' ', r->letter ? r->letter : ' ',
		 !r->name ? "" : r->letter ? ", --" : "  --", r->name ? r->name : "",
		 r->arg && *r->arg != '[' ? " " : "", r->arg ? r->arg : "");
	printf("%-24s%s", left, strlen(left) > 24 ? "\n" : "");
	printf("%*s", strlen(left) > 24 ? 25 : 1, "");
	for (const char *c = r->doc; *c; c++)
		printf("%c%*s", *c, *c == '\n' ? 25 : 0, "");
	putchar('\n');
}

void opts_usage(void)
{
	puts("usage: ccbench SCENARIO [OPTION]...\n\n"
	     "Runs every setting of --cc in turn and compares them. (Defaults in parentheses.)\n"
	     "'ccbench --help' lists the scenarios.\n");
	for (const struct row *r = rows; r < rows + ROWS; r++)
		if (r->doc)
			print_row(r);
	puts("\nWith --out or LAB_OUT the JSON and the picture are always written.");
}

/* -- the command line -------------------------------------------------------------- */

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
	unsigned first;
	char name[DEVICE_LEN + 16];

	while (prefix > 0 && strchr("0123456789", p->dev[prefix - 1]))
		prefix--;
	if (prefix == len || len >= DEVICE_LEN || len - prefix > 6)
		return set_error(p, "-d %s: does not end in a number to count up from; name all "
				 "devices with --devices", p->dev);
	first = (unsigned)strtoul(p->dev + prefix, NULL, 10);
	for (unsigned host = 0; host < opts_hosts(p->o); host++) {
		snprintf(name, sizeof(name), "%.*s%u", (int)prefix, p->dev, first + host);
		if (name_device(p, host, name, strlen(name)))
			return -1;
	}
	return 0;
}

/* In an MPI job all ranks have a device of the same name. */
static int same_device(struct parse *p)
{
	if (!*p->dev) /* the first device */
		return 0;
	for (unsigned host = 0; host < opts_hosts(p->o); host++)
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
		.tenants = { .v = { { 1, 1, 1 }, { 16, 1, 2 }, { 64, 1, 4 } }, .n = 3 },
		.warmup = -1, .seed = 1, .link.queue_bytes = NAN,
	};
	o->size = o->kind && o->kind->size ? o->kind->size : 65536;
}

/* Defaults from the variables of ci/lab/lab. A job has as many hosts as ranks. */
static int read_variables(struct parse *p)
{
	for (const struct row *r = rows; r < rows + ROWS; r++) {
		const char *text = r->variable ? getenv(r->variable) : NULL;

		p->row = r;
		snprintf(p->name, sizeof(p->name), "%s", r->variable ? r->variable : "");
		if (text && *text && !(p->o->ranks && r->offset == offsetof(struct opts, hosts)) &&
		    r->parse(p, text))
			return -1;
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

	if (!o->cc.n && settings_add(&o->cc, "none", p->err, p->errlen))
		return -1;
	o->out_given = o->out != NULL;
	if (!o->out)
		o->out = ".";
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

static int parse_row(struct parse *p, const struct row *r, const char *text)
{
	p->row = r;
	if (r->letter)
		snprintf(p->name, sizeof(p->name), "-%c", r->letter);
	else
		snprintf(p->name, sizeof(p->name), "--%s", r->name);
	if (r->only && strcmp(r->only, p->o->kind->name) != 0)
		return set_error(p, "%s: only the scenario %s has this option", p->name, r->only);
	return r->parse ? r->parse(p, text) : 0;
}

/* The table as getopt_long() needs it: a value of FIRST and the index of the row. */
static void list_options(struct option longs[ROWS + 1], char letters[2 * ROWS + 3])
{
	char *end = stpcpy(letters, "+:");
	unsigned n = 0;

	for (const struct row *r = rows; r < rows + ROWS; r++) {
		const int arg = !r->arg ? no_argument : *r->arg == '[' ? optional_argument
								       : required_argument;

		if (r->name)
			longs[n++] = (struct option){ r->name, arg, NULL, FIRST + (int)(r - rows) };
		if (r->letter)
			end += sprintf(end, "%c%s", r->letter, arg ? ":" : "");
	}
	longs[n] = (struct option){ 0 };
}

static const struct row *find_row(int letter)
{
	const struct row *r = rows;

	if (letter >= FIRST)
		return &rows[letter - FIRST];
	while (r->letter != letter)
		r++;
	return r;
}

enum opts_result opts_parse(struct opts *o, unsigned ranks, int argc, char **argv,
			    char *err, size_t errlen)
{
	struct parse p = { .o = o, .err = err, .errlen = errlen, .dev = ranks ? "" : "rxe_1" };
	struct option longs[ROWS + 1];
	char letters[2 * ROWS + 3];
	int letter, at;

	list_options(longs, letters);
	set_defaults(o, argv[0], ranks);
	if (read_variables(&p))
		return OPTS_BAD;
	optind = 0; /* restart getopt: a program may parse more than once */
	opterr = 0;
	for (;;) {
		at = optind ? optind : 1;
		letter = getopt_long(argc, argv, letters, longs, NULL);
		if (letter == -1)
			break;
		if (letter == '?' || letter == ':') {
			char hint[96];

			set_error(&p, "%s: %s%s", argv[at],
				  letter == ':' ? "a value is missing" : "no such option",
				  letter == ':' ? "" : option_hint(argv[at], longs, hint, sizeof(hint)));
			return OPTS_BAD;
		}
		if (find_row(letter)->letter == 'h')
			return OPTS_HELP;
		if (parse_row(&p, find_row(letter), optarg))
			return OPTS_BAD;
	}
	if (optind < argc) {
		set_error(&p, "%s: not an option", argv[optind]);
		return OPTS_BAD;
	}
	return complete(&p) ? OPTS_BAD : OPTS_OK;
}
