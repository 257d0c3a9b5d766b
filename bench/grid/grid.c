/* SPDX-License-Identifier: BSD-2-Clause */
/* The grid on the simulator: options, and from there to the end. */
#include "grid.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/error.h"
#include "bench/common/output.h"
#include "bench/common/jobs.h"
#include "tools/common/next_option.h"

enum { CONTENDERS_MAX = 16 };

static const char usage[] =
	"usage: grid [--sample] [--only REGEX] [--cc CC]... [--as AIMS] [--seed N]\n"
	"            [--length N] [--jobs N] [--worst N] [--json FILE]\n"
	"            [--bounds FILE] [--list]\n"
	"\n"
	"Runs every algorithm with default parameters in the simulator: over\n"
	"links of 100 Mb/s to 400 Gb/s, hosts up to ten times faster than the bottleneck,\n"
	"1 to 1000 flows, traffic one way and both ways, WRITE, SEND and READ of all\n"
	"sizes, shallow queues, changes, loss, jitter and rivals; each beside no control\n"
	"at all (\"none\"). Prints how many rows miss what, and the worst of them.\n"
	"\n"
	"  --sample      a fixed part of the rows, some seconds\n"
	"  --only REGEX  rows whose name contains this extended regular expression\n"
	"  --cc CC       this algorithm, NAME[:PARAM=VALUE,...]; more than once for more\n"
	"                (default: all that control, each with its defaults)\n"
	"  --as AIMS     judge by the aims of \"agents\", of \"rtt\", or of those \"named\"\n"
	"                (default: timely, dcqcn, hpcc and swift as named, others that\n"
	"                need telemetry as agents, all else as rtt)\n"
	"  --seed N      of all that is random (1)\n"
	"  --length N    rows last N times as long (1): an algorithm may need time to\n"
	"                learn the hosts' jitter, or lose shares later on. Newcomers then\n"
	"                settle late in this table, as a row has as many parts as before\n"
	"  --jobs N      processes (one per CPU)\n"
	"  --worst N     print so many of the worst rows (20)\n"
	"  --json FILE   all figures, {\"rows\": [...]}; - is standard output, and then no\n"
	"                table is printed\n"
	"  --bounds FILE status 1 if one of its lines \"CC CRITERION MOST\" does not hold:\n"
	"                at most so many rows miss util95, util96, jain90, jain95,\n"
	"                jain98, queue4, queue2, drops, victim, settle or operation, or\n"
	"                \"any\" of the aims; what was not run holds\n"
	"  --list        print the rows' names and run nothing\n"
	"\n"
	"A row's name is what is not default: the pattern and its hosts (x queue pairs of\n"
	"each), the bottleneck's rate, \"nic\" the hosts' rate (default: the same), \"rtt\"\n"
	"without queues (20us from 5 Gb/s on, else 50us), \"far\" that of every second\n"
	"flow, \"entries\" those of send queues (default: enough), \"queue\"\n"
	"(default: so deep that nothing is dropped), operation and size (write 64k),\n"
	"\"jitter\" of completions, \"loss\" of data packets, \"slow\" the rate in\n"
	"the middle third, \"+N\" flows more in the middle third, \"rival\" flows without\n"
	"control. Figures are of the time after the first third; flows start at once.\n"
	"Hosts of up to 25 Gb/s queue as Soft-RoCE does: up to 64 packets of a queue pair\n"
	"in the interface's FIFO, acknowledgements behind them, 128 unacknowledged. In\n"
	"faster ones the queue pairs take turns, a packet each.\n"
	"\n"
	"Rows that begin with collective, trunk, claims or kv are scenarios of ccfabric:\n"
	"all-reduces, with their hosts, rate, data and pauses; flows over a trunk without\n"
	"an agent; flows beside others that a host only announces; bulk flows beside\n"
	"requests, which then are the victim.\n"
	"\n"
	"Aims of those named:\n"
	"  utilisation   .95 of none's\n"
	"  operation     mean time of a collective operation, 1.05 of none's, 1.15 below\n"
	"                4 MB; other aims are not judged there, except drops\n"
	"  victim        p99 over time of a 64-byte WRITE by another host through the\n"
	"                port: none's, 5 % and a packet's time\n"
	"of rtt, in addition:\n"
	"  Jain's index  .90 (and .95 in nine of ten rows)\n"
	"  queue         its p99, 4 segments per flow\n"
	"of agents, instead:\n"
	"  utilisation   .96 of none's, of the line where none drops packets\n"
	"  Jain's index  .98\n"
	"  queue         2 segments per flow, and two\n"
	"  drops         none after the first third\n"
	"  settle        newcomers share with Jain's index .9 within 40 times what a\n"
	"                segment of each flow and the RTT take\n"
	"\n"
	"A segment is the power of two that the NIC sends in 8 us, 4k to 64k, or a whole\n"
	"SEND. Beside a rival, queue and drops are not judged, and utilisation only where\n"
	"nothing is dropped. Jain's index is not judged where the 1 MB that applications\n"
	"have outstanding (2 to 128 messages, at most \"entries\") is less than a flow's\n"
	"share of the port in the far flows' RTT. Where a packet (of the path MTU, 4096)\n"
	"or a whole SEND of each flow exceeds the queue, nothing is.\n";

struct options {
	const char *only, *as, *json, *bounds, *cc[CONTENDERS_MAX];
	unsigned ccs, length, jobs, worst;
	uint64_t seed;
	bool sample, list;
};

static uint64_t number(const char *option, const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || n < least || n > most)
		die("%s %s: a number from %llu to %llu is wanted", option, text,
		    (unsigned long long)least, (unsigned long long)most);
	return n;
}

static void add_cc(struct options *o, const char *cc)
{
	if (o->ccs == CONTENDERS_MAX - 1)
		die("--cc: at most %d algorithms", CONTENDERS_MAX - 1);
	o->cc[o->ccs++] = cc;
}

static void parse_option(struct options *o, int option)
{
	switch (option) {
	case 'o': o->only = optarg; break;
	case 'c': add_cc(o, optarg); break;
	case 'a': o->as = optarg; break;
	case 's': o->seed = number("--seed", optarg, 0, UINT64_MAX); break;
	case 'L': o->length = (unsigned)number("--length", optarg, 1, 1000); break;
	case 'j': o->jobs = (unsigned)number("--jobs", optarg, 1, 64); break;
	case 'w': o->worst = (unsigned)number("--worst", optarg, 0, 100000); break;
	case 'J': o->json = optarg; break;
	case 'b': o->bounds = optarg; break;
	case 'S': o->sample = true; break;
	case 'l': o->list = true; break;
	case 'h': output_help(usage);
	default: exit(2); /* getopt has said why */
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{ "sample", 0, 0, 'S' }, { "only", 1, 0, 'o' }, { "cc", 1, 0, 'c' },
		{ "as", 1, 0, 'a' }, { "seed", 1, 0, 's' }, { "jobs", 1, 0, 'j' },
		{ "length", 1, 0, 'L' },
		{ "worst", 1, 0, 'w' }, { "json", 1, 0, 'J' }, { "bounds", 1, 0, 'b' },
		{ "list", 0, 0, 'l' }, { "help", 0, 0, 'h' }, { 0 }
	};
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*o = (struct options){ .jobs = cpus > 0 && cpus < 64 ? (unsigned)cpus : 1, .worst = 20,
			       .seed = 1, .length = 1 };
	for (int c; (c = next_option(argc, argv, "h", known, NULL)) != -1;)
		parse_option(o, c);
	if (optind < argc)
		die("%s: no such argument", argv[optind]);
	if (o->as && !grid_aims(NULL, o->as))
		die("--as %s: agents, rtt or named is wanted", o->as);
	output_check(o->json);
}

/* -- what is run ------------------------------------------------------------------------ */

static unsigned choose_scenarios(const struct options *o, const struct scenario **chosen)
{
	unsigned all, n = 0;
	const struct scenario *s = grid_scenarios(&all);
	regex_t only;

	if (o->only && regcomp(&only, o->only, REG_EXTENDED | REG_NOSUB))
		die("--only %s: no regular expression", o->only);
	for (unsigned i = 0; i < all; i++)
		if ((!o->sample || grid_in_sample(&s[i])) &&
		    (!o->only || regexec(&only, s[i].name, 0, NULL, 0) == 0))
			chosen[n++] = &s[i];
	if (o->only)
		regfree(&only);
	if (o->sample && !o->only && n != grid_sample_size())
		die("%u of the sample's rows are not in the grid", grid_sample_size() - n);
	if (!n)
		die("--only %s: no row has such a name", o->only);
	return n;
}

/* Every registered algorithm that controls, and hpcc's echo variant. */
static void every_cc(struct options *o)
{
	for (unsigned i = 0; ccs_cc_all[i]; i++)
		if (ccs_cc_all[i]->needs)
			add_cc(o, ccs_cc_all[i]->name);
	add_cc(o, "hpcc:variant=echo");
}

static unsigned choose_contenders(struct options *o, struct contender *c)
{
	char err[256];

	if (!o->ccs)
		every_cc(o);
	c[0] = (struct contender){ .cc = "none" };
	for (unsigned i = 0; i <= o->ccs; i++) {
		c[i].cc = i ? o->cc[i - 1] : "none";
		if (ccs_cc_parse(&c[i].spec, c[i].cc, err, sizeof(err)))
			die("%s", err);
		c[i].aims = grid_aims(&c[i].spec, o->as);
	}
	return o->ccs + 1;
}

static void make_outcomes(struct grid *g, const struct options *o)
{
	struct outcome *out = jobs_shared((size_t)g->scenarios * g->contenders, sizeof(*out));

	g->outcome = out;
	if (!grid_run(g, out, o->jobs))
		exit(1);
}

static void print_rows(const struct grid *g)
{
	for (unsigned i = 0; i < g->scenarios; i++)
		puts(g->scenario[i]->name);
}

int main(int argc, char **argv)
{
	static const struct scenario *scenario[1024];
	static struct contender contender[CONTENDERS_MAX];
	struct options o;
	struct grid g = { .scenario = scenario, .contender = contender };
	int exceeded;

	parse(&o, argc, argv);
	g.seed = o.seed;
	g.length = o.length;
	g.scenarios = choose_scenarios(&o, scenario);
	g.contenders = choose_contenders(&o, contender);
	if (o.list) {
		print_rows(&g);
		return 0;
	}
	make_outcomes(&g, &o);
	if (!o.json || strcmp(o.json, "-") != 0)
		grid_print(&g, o.worst);
	output_flush();
	output_write(o.json, grid_json, &g);
	exceeded = o.bounds ? grid_bounds(&g, o.bounds) : 0;
	return exceeded < 0 ? 2 : exceeded > 0;
}
