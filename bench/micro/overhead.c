/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the shim adds to a WR that is posted and polled. Each case runs in a process of
 * its own, bare and in every mode by turns, on a device that does nothing.
 */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "load.h"
#include "bench/common/error.h"
#include "bench/common/output.h"
#include "bench/common/progress.h"
#include "bench/ccbench/place/preload.h"
#include "tools/common/next_option.h"

enum { ROUNDS_MAX = 9 };
enum { SMALL = 64, SEGMENT = 65536, SEGMENTS = 16 };
enum { BARE, OFF, OBSERVE, ENFORCE, SETTINGS };

static const char *const names[SETTINGS] = { "bare", "off", "observe", "enforce" };

static const char usage[] =
	"usage: overhead [--json] [--quick] [--count] [--modes LIST] [-D TIME]\n"
	"Measure what the shim adds to a work request: CPU time and instructions in user space,\n"
	"to post it by ibv_post_send and to get its completion by ibv_poll_cq, on a device that\n"
	"does nothing else (LD_PRELOAD=nullrdma.so), against the same without the shim.\n"
	"\n"
	"  --modes LIST  of off,observe,enforce: all by default\n"
	"  -D TIME       of one run; 200ms, and 1ms with --quick. A bare number is seconds\n"
	"  --quick       one round instead of nine: whether it works\n"
	"  --count       count instructions under valgrind, where the kernel or the machine does\n"
	"                not let them be counted; exact, some seconds a run, and by default with\n"
	"                cc=none, since time passes fast there\n"
	"  --json        {\"rows\": [...]} on standard output\n"
	"\n"
	"A row: threads, each with its own queue pairs and completion queue; queue pairs in\n"
	"all, used in turn; WRs per post, signalled WRITEs of 64 bytes. 'poll': an empty poll.\n"
	"'gated': a segment of 64 KB that waits, in mode enforce, until one of two before it has\n"
	"completed. 'paced': a WR of a flow at .9 of the line, as agents may advise it, that\n"
	"need not wait. 'timed': a WR of 64 KB, the segment at line rate: its RTT is measured.\n"
	"'unsig': a list of 32 with one signalled WR. '2 sge': two scatter/gather entries.\n"
	"'inline': IBV_SEND_INLINE. 'read': a READ. 'reads': a list of 16. 'atomic': a fetch and\n"
	"add. Beside the added cost stands the aim. Rounds go through all settings by turns; added is the\n"
	"median over them, with its quartiles. The gate is open, as the path is\n"
	"empty: CCSHIM_RTT_JITTER=0us, since with noise copa would drain. CCSHIM_CC and other\n"
	"options apply (ccshim.conf(5)); no file of them does.\n";

/* A row without a kind is named by the length of its lists. */
static const struct {
	const char *kind;
	struct load load;
} cases[] = {
#define POST(t, q, l) { NULL, { .threads = t, .qps = q, .list = l, .bytes = SMALL } }
	POST(1, 1, 1), POST(1, 1, 32), POST(1, 10000, 1), POST(1, 10000, 32),
	POST(8, 1, 1), POST(8, 1, 32), POST(8, 10000, 1), POST(8, 10000, 32),
#undef POST
#define POLL(q) { "poll", { .threads = 1, .qps = q, .bytes = SMALL } }
	POLL(1), POLL(64), POLL(1000), POLL(10000),
#undef POLL
#define ONE(...) { .threads = 1, .qps = 1, .list = 1, __VA_ARGS__ }
	{ "gated", ONE(.bytes = SEGMENT * SEGMENTS) },
	{ "paced", ONE(.bytes = SMALL) },
	{ "timed", ONE(.bytes = SEGMENT) },
	{ "unsig", { .threads = 1, .qps = 1, .list = 32, .bytes = SMALL, .signal_every = 32 } },
	{ "2 sge", ONE(.bytes = SMALL, .sges = 2) },
	{ "inline", ONE(.bytes = SMALL, .inlined = true) },
	{ "read", ONE(.bytes = SMALL, .opcode = IBV_WR_RDMA_READ) },
	{ "reads", { .threads = 1, .qps = 1, .list = 16, .bytes = SMALL, .opcode = IBV_WR_RDMA_READ } },
	{ "atomic", ONE(.bytes = 8, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD) },
#undef ONE
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

static bool is_kind(unsigned c, const char *kind)
{
	return cases[c].kind && !strcmp(cases[c].kind, kind);
}

static struct cost costs[CASES][SETTINGS][ROUNDS_MAX];
static double counted[CASES][SETTINGS]; /* instructions */
static bool wanted[SETTINGS] = { true, true, true, true };
static unsigned rounds = ROUNDS_MAX;
static int64_t run_ns;                  /* duration of a run */
static bool valgrind;
static char directory[PATH_MAX];        /* of this program */
static char shim[PATH_MAX + 64];

/* The units in which a WR counts. */
static unsigned parts(unsigned c)
{
	return is_kind(c, "gated") ? SEGMENTS : 1;
}

/* Nanoseconds that may be added; NAN: no aim. */
static double aim_of(unsigned c, unsigned setting)
{
	const struct load *l = &cases[c].load;

	if (is_kind(c, "gated"))
		return setting == ENFORCE ? 250 : NAN;
	if (setting == OFF)
		return 0;
	if (is_kind(c, "timed"))
		return NAN;
	if (!l->list)
		return 5;
	if (l->list > 1)
		return l->qps > 1 || l->signal_every || l->opcode ? NAN : 6;
	return l->qps > 1 ? 45 : l->opcode ? NAN : 20;
}

/* The same for instructions. */
static double aim_of_instructions(unsigned c, unsigned setting)
{
	if (is_kind(c, "gated") || is_kind(c, "timed"))
		return NAN;
	if (setting == OFF)
		return 0;
	return !cases[c].load.list ? NAN : cases[c].load.opcode ? 600 : 250;
}

static void find_files(void)
{
	ssize_t n = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
	char *slash;

	directory[n > 0 ? n : 0] = '\0';
	slash = strrchr(directory, '/');
	if (slash)
		*slash = '\0';
	if (preload_find(shim, sizeof(shim)))
		fail("no libccshim.so: not built, not installed");
}

/* In a child: become the measuring process. Its figures go to descriptor 1. */
static void become(unsigned c, unsigned setting, bool under_valgrind)
{
	char preload[3 * PATH_MAX], self[PATH_MAX + 16], number[16], duration[24];
	const char *args[12], **arg = args;

	snprintf(preload, sizeof(preload), "%s %s/.libs/nullrdma.so", setting == BARE ? "" : shim,
		 directory);
	setenv("LD_PRELOAD", preload, 1);
	setenv("CCSHIM_CONFIG", "", 1);
	setenv("CCSHIM_MODE", names[setting], 1);
	/* With noise copa drains now and then. The wait is no cost of the shim's. */
	setenv("CCSHIM_RTT_JITTER", "0us", 0);
	snprintf(self, sizeof(self), "%s/overhead", directory);
	snprintf(number, sizeof(number), "%u", c);
	snprintf(duration, sizeof(duration), "%lld", under_valgrind ? 0ll : (long long)run_ns);
	if (is_kind(c, "paced"))
		setenv("CCSHIM_CC", "fixed:rate=90g", 1);
	if (is_kind(c, "gated")) {
		/* Only the window is to close: waiting for a time to come costs what the wait does. */
		setenv("CCSHIM_CC", "none", 1);
		setenv("CCSHIM_SEGMENT", "64KiB", 1);
		setenv("CCSHIM_MAX_INFLIGHT", "128KiB", 1);
	}
	if (under_valgrind) {
		/* There time passes fifty times as fast, and the gate would close. */
		setenv("CCSHIM_CC", "none", 0);
		setenv("CCSHIM_BASE_RTT", "20us", 0);
		*arg++ = "valgrind";
		*arg++ = "--tool=callgrind";
		*arg++ = "--toggle-collect=load_measured";
		*arg++ = "--callgrind-out-file=/dev/null";
		*arg++ = "--log-fd=1";
	}
	*arg++ = self;
	*arg++ = "run";
	*arg++ = number;
	*arg++ = duration;
	*arg = NULL;
	execvp(args[0], (char *const *)(const void *)args);
	perror("overhead: cannot start a run");
	_exit(127);
}

/* What such a process prints, from where the key stands; NULL: it is not there. */
static const char *output_of(unsigned c, unsigned setting, bool under_valgrind, const char *key)
{
	static char text[8192];
	size_t n = 0;
	ssize_t got;
	int out[2], status;
	char *found;
	pid_t pid;

	if (pipe(out) || (pid = fork()) < 0)
		fail("no process");
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		become(c, setting, under_valgrind);
	}
	close(out[1]);
	while (n < sizeof(text) - 1 && (got = read(out[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(out[0]);
	if (waitpid(pid, &status, 0) < 0 || status)
		fail("a run failed");
	found = strstr(text, key);
	return found ? found + strlen(key) : NULL;
}

static void measure(unsigned c, unsigned setting, unsigned round)
{
	const char *text = output_of(c, setting, false, "cost ");
	struct cost *cost = &costs[c][setting][round];

	if (!text || sscanf(text, "%lf %lf", &cost->ns, &cost->instructions) != 2)
		fail("a run did not say what it found");
	cost->ns /= parts(c);
	cost->instructions /= parts(c);
}

static void count(unsigned c, unsigned setting)
{
	const char *text = output_of(c, setting, true, "Collected :");
	double n;

	if (!text || sscanf(text, "%lf", &n) != 1)
		fail("valgrind did not say what it counted");
	counted[c][setting] = n / ((double)LOAD_BATCH * cases[c].load.threads * parts(c));
}

static void progress(unsigned i, unsigned n, unsigned c, unsigned setting)
{
	char what[64];

	if (!progress_watched())
		return;
	snprintf(what, sizeof(what), "%s, %u QPs, %u threads", names[setting], cases[c].load.qps,
		 cases[c].load.threads);
	progress_bar(i, n, what, 0);
}

static void measure_all(void)
{
	const unsigned n = (rounds + valgrind) * CASES * SETTINGS;

	for (unsigned i = 0; i < n; i++) {
		const unsigned setting = i % SETTINGS, c = i / SETTINGS % CASES;
		const unsigned round = i / SETTINGS / CASES;

		if (!wanted[setting])
			continue;
		progress(i, n, c, setting);
		if (round < rounds)
			measure(c, setting, round);
		else
			count(c, setting);
	}
	progress_clear();
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct row {
	double bare_ns, added_ns, quartile[2], added_instructions;
};

/* Against the bare run of the same round: what slows the machine slows both. */
static struct row row_of(unsigned c, unsigned setting)
{
	double bare[ROUNDS_MAX], added[ROUNDS_MAX], instructions[ROUNDS_MAX];

	for (unsigned r = 0; r < rounds; r++) {
		bare[r] = costs[c][BARE][r].ns;
		added[r] = costs[c][setting][r].ns - bare[r];
		instructions[r] = costs[c][setting][r].instructions -
				  costs[c][BARE][r].instructions;
	}
	qsort(bare, rounds, sizeof(*bare), compare);
	qsort(added, rounds, sizeof(*added), compare);
	qsort(instructions, rounds, sizeof(*instructions), compare);
	return (struct row){
		bare[rounds / 2], added[rounds / 2],
		{ added[rounds / 4], added[rounds - 1 - rounds / 4] },
		valgrind ? counted[c][setting] - counted[c][BARE] : instructions[rounds / 2],
	};
}

static void print_number(int width, double n)
{
	if (isnan(n))
		printf(" %*s", width, "n/a");
	else
		printf(" %*.1f", width, n);
}

static const char *kind_of(unsigned c)
{
	static char list[12];

	snprintf(list, sizeof(list), "%u", cases[c].load.list);
	return cases[c].kind ? cases[c].kind : list;
}

static void print_row(unsigned c, unsigned setting)
{
	const struct row r = row_of(c, setting);

	printf("%-8s %3u %6u %6s", names[setting], cases[c].load.threads,
	       cases[c].load.qps, kind_of(c));
	print_number(8, r.bare_ns);
	print_number(8, r.added_ns);
	print_number(5, aim_of(c, setting));
	printf(" %7.1f..%6.1f", r.quartile[0], r.quartile[1]);
	print_number(7, r.added_instructions);
	print_number(5, aim_of_instructions(c, setting));
	putchar('\n');
}

static void print_table(void)
{
	puts("per WR posted and polled, empty poll, or segment that waits");
	printf("%-8s %3s %6s %6s %8s %8s %5s %15s %7s %5s\n", "mode", "thr", "QPs", "list",
	       "bare ns", "added ns", "aim", "quartiles", "instr.", "aim");
	for (unsigned i = 0; i < CASES * (SETTINGS - 1); i++)
		if (wanted[1 + i / CASES])
			print_row(i % CASES, 1 + i / CASES);
}

static bool print_json(void)
{
	struct ccs_json j;

	ccs_json_start(&j, stdout);
	ccs_json_object(&j, NULL);
	ccs_json_array(&j, "rows");
	for (unsigned i = 0; i < CASES * (SETTINGS - 1); i++) {
		const unsigned setting = 1 + i / CASES, c = i % CASES;
		const struct row r = row_of(c, setting);

		if (!wanted[setting])
			continue;
		ccs_json_object(&j, NULL);
		ccs_json_str(&j, "mode", names[setting]);
		ccs_json_uint(&j, "threads", cases[c].load.threads);
		ccs_json_uint(&j, "qps", cases[c].load.qps);
		ccs_json_uint(&j, "list", cases[c].load.list);
		ccs_json_uint(&j, "bytes", cases[c].load.bytes);
		ccs_json_str(&j, "kind", kind_of(c));
		ccs_json_num(&j, "bare_ns", r.bare_ns);
		ccs_json_num(&j, "added_ns", r.added_ns);
		ccs_json_num(&j, "aim_ns", aim_of(c, setting));
		ccs_json_num(&j, "added_ns_q1", r.quartile[0]);
		ccs_json_num(&j, "added_ns_q3", r.quartile[1]);
		ccs_json_num(&j, "added_instructions", r.added_instructions);
		ccs_json_num(&j, "aim_instructions", aim_of_instructions(c, setting));
		ccs_json_end(&j);
	}
	return ccs_json_finish(&j);
}

static void choose_modes(const char *list)
{
	const char *end;
	unsigned i;

	for (i = OFF; i < SETTINGS; i++)
		wanted[i] = false;
	for (;; list = end + 1) {
		end = strchrnul(list, ',');
		for (i = OFF; i < SETTINGS; i++)
			if (strlen(names[i]) == (size_t)(end - list) &&
			    !strncmp(names[i], list, (size_t)(end - list)))
				break;
		if (i == SETTINGS)
			die("--modes: '%s' is not a mode", list);
		wanted[i] = true;
		if (!*end)
			return;
	}
}

static int64_t duration(const char *text)
{
	const bool unit = *text && isalpha((unsigned char)text[strlen(text) - 1]);
	double us;

	if (ccs_parse_unit(text, CCS_UNIT_TIME, &us) || !(us > 0 && us * (unit ? 1 : 1e6) <= 60e6))
		die("-D: '%s' is no time up to a minute", text);
	return (int64_t)(1e3 * us * (unit ? 1 : 1e6));
}

/* overhead run CASE NS, as become() starts it */
static int run(char **argv)
{
	const unsigned c = (unsigned)atoi(argv[2]);
	struct load load;
	struct cost cost;

	if (c >= CASES)
		return 2;
	load = cases[c].load;
	load.ns = atoll(argv[3]);
	cost = load_run(&load);
	printf("cost %.17g %.17g\n", cost.ns, cost.instructions);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "quick", no_argument, NULL, 'q' },
		{ "count", no_argument, NULL, 'c' }, { "modes", required_argument, NULL, 'm' },
		{ "duration", required_argument, NULL, 'D' }, { "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool json = false;
	int64_t ns = 0;

	if (argc == 4 && !strcmp(argv[1], "run"))
		return run(argv);
	for (int opt; (opt = next_option(argc, argv, "D:h", options, NULL)) != -1;) {
		switch (opt) {
		case 'j': json = true; break;
		case 'q': rounds = 1; break;
		case 'c': valgrind = true; break;
		case 'm': choose_modes(optarg); break;
		case 'D': ns = duration(optarg); break;
		case 'h': output_help(usage);
		default: fputs(usage, stderr); return 2;
		}
	}
	if (optind < argc)
		die("'%s' is no option", argv[optind]);
	run_ns = ns ? ns : rounds == 1 ? 1000000 : 200000000;
	find_files();
	measure_all();
	if (json)
		return !print_json();
	print_table();
	return 0;
}
