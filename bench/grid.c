/* SPDX-License-Identifier: BSD-2-Clause */
/* The grid on the simulator: options, and from there to the end. */
#include "grid.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CONTENDERS_MAX = 16 };

static const char usage[] =
	"usage: grid [--sample] [--only REGEX] [--cc NAME[:PARAM=VALUE,...]]... [--as AIMS]\n"
	"            [--seed N] [--jobs N] [--worst N] [--json FILE] [--bounds FILE] [--list]\n"
	"Run every algorithm with default parameters in the simulator (tests/sim), over links of\n"
	"100 Mb/s to 400 Gb/s, hosts as fast as the bottleneck and up to ten times faster, 1 to\n"
	"1000 flows, one-way and two-way traffic, WRITE, SEND and READ of all sizes, shallow\n"
	"queues, changes, loss, jitter and rivals, each beside no control at all (\"none\"), and\n"
	"print how many rows miss what, and the worst of them.\n"
	"\n"
	"  --sample      a fixed part of the rows, well under a minute\n"
	"  --only REGEX  rows whose name contains the extended regular expression\n"
	"  --cc CC       this one; may be given more than once (default: each that controls)\n"
	"  --as AIMS     judge by the aims with \"agents\", by \"rtt\" alone, or of those that are\n"
	"                \"named\" (default: timely, dcqcn, hpcc and swift as named, what needs\n"
	"                telemetry as agents, others as rtt)\n"
	"  --seed N      of all that is random (1)\n"
	"  --jobs N      processes (one per CPU)\n"
	"  --worst N     so many of the worst rows (20)\n"
	"  --json FILE   all figures, {\"rows\": [...]}; - is standard output, without the table\n"
	"  --bounds FILE status 1 if a line \"CC CRITERION MOST\" of it does not hold: so many rows\n"
	"                may miss util95, util96, jain90, jain95, jain98, queue4, queue2, drops,\n"
	"                victim, settle, or any of the algorithm's aims; what was not run holds\n"
	"  --list        name the rows and run nothing\n"
	"\n"
	"A row is named by what is not default: pattern and hosts (x queue pairs of each), rate of\n"
	"the bottleneck, \"nic\" rate of hosts (the same), \"rtt\" without queues (20 us from 5 Gb/s,\n"
	"else 50), \"far\" that of every second flow, \"queue\" (nothing is dropped), operation and\n"
	"size (write of 1m), \"jitter\" of completions, \"loss\" of data packets, \"slow\" rate in the\n"
	"middle third, \"+N\" flows more in the middle third, \"rival\" flows without any control.\n"
	"\n"
	"Aims. named: utilisation .95 of none's, p99 of a 64-byte WRITE through the same port (the\n"
	"victim's) no more than none's and 5 % and a packet's time. rtt: also Jain's index .90 and\n"
	"a p99 queue of 4 segments a flow. agents: utilisation .96 of none's, of the line where\n"
	"none drops, Jain .98, p99 queue of 2 segments a flow and two, no drop after the first\n"
	"third, the victim as above, newcomers settled (Jain .9) in 40 times what a segment of\n"
	"each and the RTT take. A segment is the largest power of two that the NIC sends in 8 us,\n"
	"4k to 64k, or a whole SEND. Beside a rival, queue and drops are not judged. Where a path\n"
	"MTU (4096) or a whole SEND of each flow exceeds the queue, nothing is.\n";

struct options {
	const char *only, *as, *json, *bounds, *cc[CONTENDERS_MAX];
	unsigned ccs, jobs, worst;
	uint64_t seed;
	bool sample, list;
};

static void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void die(const char *format, ...)
{
	va_list args;

	fputs("grid: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("; see grid --help\n", stderr);
	exit(2);
}

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

static void take(struct options *o, int option)
{
	switch (option) {
	case 'o': o->only = optarg; break;
	case 'c': add_cc(o, optarg); break;
	case 'a': o->as = optarg; break;
	case 's': o->seed = number("--seed", optarg, 0, UINT64_MAX); break;
	case 'j': o->jobs = (unsigned)number("--jobs", optarg, 1, 64); break;
	case 'w': o->worst = (unsigned)number("--worst", optarg, 0, 100000); break;
	case 'J': o->json = optarg; break;
	case 'b': o->bounds = optarg; break;
	case 'S': o->sample = true; break;
	case 'l': o->list = true; break;
	case 'h': fputs(usage, stdout); exit(0);
	default: exit(2); /* getopt has said why */
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{ "sample", 0, 0, 'S' }, { "only", 1, 0, 'o' }, { "cc", 1, 0, 'c' },
		{ "as", 1, 0, 'a' }, { "seed", 1, 0, 's' }, { "jobs", 1, 0, 'j' },
		{ "worst", 1, 0, 'w' }, { "json", 1, 0, 'J' }, { "bounds", 1, 0, 'b' },
		{ "list", 0, 0, 'l' }, { "help", 0, 0, 'h' }, { 0 }
	};
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*o = (struct options){ .jobs = cpus > 0 && cpus < 64 ? (unsigned)cpus : 1, .worst = 20,
			       .seed = 1 };
	for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;)
		take(o, c);
	if (optind < argc)
		die("%s: no such argument", argv[optind]);
	if (o->as && !grid_aims(NULL, o->as))
		die("--as %s: agents, rtt or named is wanted", o->as);
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
	if (!n)
		die("--only %s: no row is named like that", o->only);
	return n;
}

/* All that control, and HPCC's other source of records. Algorithms to come are among them. */
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

static void run_all(struct grid *g, const struct options *o)
{
	const unsigned n = g->scenarios * g->contenders;
	struct job *job = calloc(n, sizeof(*job));
	struct outcome *out = mmap(NULL, n * sizeof(*out), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!job || out == MAP_FAILED)
		die("out of memory");
	g->outcome = out;
	for (unsigned i = 0; i < n; i++)
		job[i] = (struct job){ g->scenario[i / g->contenders],
				       &g->contender[i % g->contenders], &out[i] };
	if (grid_run(job, n, o->jobs, o->seed))
		exit(1);
	free(job);
}

static void write_json(const struct grid *g, const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
	bool written = f && grid_json(g, f);

	if (f && f != stdout)
		written = !fclose(f) && written;
	if (!written)
		die("%s: %s", path, strerror(errno));
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
	g.scenarios = choose_scenarios(&o, scenario);
	g.contenders = choose_contenders(&o, contender);
	for (unsigned i = 0; o.list && i < g.scenarios; i++)
		puts(scenario[i]->name);
	if (o.list)
		return 0;
	run_all(&g, &o);
	if (!o.json || strcmp(o.json, "-") != 0)
		grid_print(&g, o.worst);
	if (o.json)
		write_json(&g, o.json);
	exceeded = o.bounds ? grid_bounds(&g, o.bounds) : 0;
	return exceeded < 0 ? 2 : exceeded > 0;
}
