/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim set: ask a running process for other settings, by the mailbox of its statistics page. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ccshim/stats.h>

#include "base/units.h"
#include "runtime/request.h"
#include "runtime/stats_dir.h"
#include "tools/ccshim.h"

enum { EXIT_ASLEEP = 3, NAP_NS = 2000000 };

struct set {
	pid_t pid;
	const char *lqpn, *peer;
	bool only_new, show;
	double timeout_us;
	char **settings;
	int count;
};

static int help(void)
{
	printf("usage: ccshim set -p PID [--qp LQPN | --peer ADDR[/BITS]] [--new] NAME=VALUE...\n"
	       "       ccshim set -p PID [--qp LQPN | --peer ADDR[/BITS]] --show\n\n"
	       "Changes settings of a running process of yours: for all of its queue pairs and\n"
	       "those to come, or some. NAME is an option that queue pairs may differ in, or a\n"
	       "parameter of their algorithm; all is done or nothing.\n\n"
	       "  -p PID          the process\n"
	       "  --qp LQPN       only that connected queue pair\n"
	       "  --peer ADDR     only queue pairs to that peer or network\n"
	       "  --new           only queue pairs that are connected from now on\n"
	       "  --show          the settings as they are\n"
	       "  --timeout T     how long to wait for the process to look         [2s]\n"
	       "  -h              this text\n\n"
	       "The status is 0 if it is done, 1 if the process refuses or there is none, 2 for a\n"
	       "usage error, 3 if the process did not look in time: then nothing is changed.\n");
	return EXIT_OK;
}

/* -- the request ------------------------------------------------------------------- */

static int add_line(char *text, const char *line)
{
	const size_t had = strlen(text);

	if (strchr(line, '\n') || had + strlen(line) + 1 >= CCS_REQUEST_LEN) {
		tool_error("set", "'%.32s' %s", line,
			   strchr(line, '\n') ? "has a line break in it" : "is too much at once");
		return EXIT_USAGE;
	}
	sprintf(text + had, "%s\n", line);
	return 0;
}

static int write_request(const struct set *set, char text[CCS_REQUEST_LEN])
{
	char whom[128];

	memset(text, 0, CCS_REQUEST_LEN);
	if (set->lqpn)
		snprintf(whom, sizeof(whom), "qp %s", set->lqpn);
	else if (set->peer)
		snprintf(whom, sizeof(whom), "%speer %s", set->only_new ? "new " : "", set->peer);
	else
		snprintf(whom, sizeof(whom), "%s", set->only_new ? "new" : "all");
	if (add_line(text, whom))
		return EXIT_USAGE;
	for (int i = 0; i < set->count; i++)
		if (add_line(text, set->settings[i]))
			return EXIT_USAGE;
	return 0;
}

/* What can be told without the process: it says the rest. */
static int check_request(const char *text)
{
	struct ccs_request request;
	char err[512];

	if (ccs_request_parse(&request, text, err, sizeof(err)) == 0)
		return 0;
	tool_error("set", "%s", err);
	return EXIT_USAGE;
}

/* -- the page ---------------------------------------------------------------------- */

/* Whether it is what the process made: its owner's alone, and of this version. NULL: yes. */
static const char *wrong(const struct ccs_stats_header *h, const struct set *set)
{
	if (h->magic != CCS_STATS_MAGIC)
		return "is no statistics page";
	if (h->major != CCS_STATS_MAJOR)
		return "is of another version of ccshim";
	if (h->pid != (uint64_t)set->pid || ccs_stats_is_stale(h))
		return "is of a process that is gone";
	return NULL;
}

/* Mapped for writing, locked against other tools; NULL, and errno or a complaint (errno 0). */
static struct ccs_stats_header *map_page(int fd, const char *path, const struct set *set)
{
	struct ccs_stats_header *h;
	struct stat st;
	const char *why;

	if (fstat(fd, &st))
		return NULL;
	errno = 0;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) ||
	    st.st_size < (off_t)sizeof(*h)) {
		tool_error("set", "%s: it is no statistics page, or not yours alone", path);
		return NULL;
	}
	if (flock(fd, LOCK_EX | LOCK_NB))
		return NULL;
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return NULL;
	why = wrong(h, set);
	if (!why)
		return h;
	tool_error("set", "%s %s", path, why);
	munmap(h, sizeof(*h));
	return NULL;
}

static struct ccs_stats_header *open_page(const struct set *set)
{
	char dir[300], path[340];
	struct ccs_stats_header *h;
	int fd = -1;

	for (unsigned n = 0; fd < 0 && ccs_stats_dir_name(n, dir, sizeof(dir)); n++) {
		snprintf(path, sizeof(path), "%s/%ld", dir, (long)set->pid);
		fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0 && errno != ENOENT && errno != ENOTDIR) {
			tool_error("set", "%s: %s", path, strerror(errno));
			return NULL;
		}
	}
	if (fd < 0 && kill(set->pid, 0) && errno == ESRCH) {
		tool_error("set", "there is no process %ld", (long)set->pid);
		return NULL;
	}
	if (fd < 0) {
		tool_error("set", "process %ld shows nothing of itself to you: it is not yours, not "
			   "under ccshim, has mode=off or stats=n, or no queue pair yet",
			   (long)set->pid);
		return NULL;
	}
	h = map_page(fd, path, set); /* the descriptor stays, with the lock */
	if (!h && errno)
		tool_error("set", "%s: %s", path, errno == EWOULDBLOCK
			   ? "another 'ccshim set' is waiting for its answer" : strerror(errno));
	return h;
}

/* -- asking ------------------------------------------------------------------------ */

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static bool is_answered(const struct ccs_stats_mailbox *box, uint64_t taken)
{
	return __atomic_load_n(&box->answer_gen, __ATOMIC_ACQUIRE) == taken;
}

static bool wait_answer(const struct ccs_stats_mailbox *box, uint64_t taken, double timeout_us)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	const double end = now_us() + timeout_us;

	while (!is_answered(box, taken)) {
		if (now_us() > end)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

static int print_answer(const struct ccs_stats_mailbox *box, const struct set *set)
{
	char text[CCS_STATS_TEXT];

	memcpy(text, box->answer, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (box->status) {
		tool_error("set", "refused: %s", text);
		return EXIT_FAILED;
	}
	printf("%s%s", text, set->show ? "" : "\n");
	return EXIT_OK;
}

static int say_asleep(const struct ccs_stats_header *h, const struct set *set)
{
	char timeout[CCS_UNIT_LEN];

	tool_error("set", "process %ld did not look within %s%s; nothing is changed",
		   (long)set->pid,
		   ccs_format_unit(set->timeout_us, CCS_UNIT_TIME, timeout, sizeof(timeout)),
		   h->qps ? ": it polls none of its completion queues just now"
			  : ": it has no controlled queue pair");
	return EXIT_ASLEEP;
}

/* The next odd number, when whatever a tool has left there that did not live is taken back. */
static uint64_t next_number(struct ccs_stats_mailbox *box)
{
	uint64_t gen = __atomic_load_n(&box->request_gen, __ATOMIC_ACQUIRE);

	if ((gen & 1) && __atomic_compare_exchange_n(&box->request_gen, &gen, gen + 1, false,
						     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		gen++;
	return gen + 1;
}

static int ask(struct ccs_stats_header *h, const struct set *set,
	       const char request[CCS_REQUEST_LEN])
{
	struct ccs_stats_mailbox *box = &h->mailbox;
	uint64_t asked = next_number(box);
	const uint64_t taken = asked + 1;

	if (box->answer_gen == UINT64_MAX) {
		tool_error("set", "process %ld gained privileges when it began: it takes no requests",
			   (long)set->pid);
		return EXIT_FAILED;
	}
	memcpy(box->request, request, CCS_REQUEST_LEN);
	__atomic_store_n(&box->request_gen, asked, __ATOMIC_RELEASE);
	if (wait_answer(box, taken, set->timeout_us))
		return print_answer(box, set);
	if (__atomic_compare_exchange_n(&box->request_gen, &asked, taken, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return say_asleep(h, set);
	/* It is just doing it. */
	if (wait_answer(box, taken, 1e9))
		return print_answer(box, set);
	tool_error("set", "process %ld has taken the request, and does not answer", (long)set->pid);
	return EXIT_FAILED;
}

/* -- the command line -------------------------------------------------------------- */

enum { OPT_QP = 256, OPT_PEER, OPT_NEW, OPT_SHOW, OPT_TIMEOUT };

static int take_pid(struct set *set)
{
	set->pid = ccs_stats_pid_of(optarg);
	if (set->pid)
		return 0;
	tool_error("set", "-p: '%s' is no process id", optarg);
	return EXIT_USAGE;
}

static int take_timeout(struct set *set)
{
	if (ccs_parse_unit(optarg, CCS_UNIT_TIME, &set->timeout_us) == 0 &&
	    set->timeout_us >= 0 && set->timeout_us <= 3.6e9)
		return 0;
	tool_error("set", "--timeout: '%s' is not a time such as 500ms or 10s", optarg);
	return EXIT_USAGE;
}

static int take_option(struct set *set, int letter)
{
	switch (letter) {
	case 'p': return take_pid(set);
	case OPT_QP: set->lqpn = optarg; return 0;
	case OPT_PEER: set->peer = optarg; return 0;
	case OPT_NEW: set->only_new = true; return 0;
	case OPT_SHOW: set->show = true; return 0;
	case OPT_TIMEOUT: return take_timeout(set);
	default: return tool_usage_error("set");
	}
}

static int check_usage(const struct set *set)
{
	const char *what = !set->pid ? "say which process: -p PID"
		: set->lqpn && (set->peer || set->only_new)
			? "--qp stands alone: it is one connected queue pair"
		: set->show && set->count ? "--show takes no settings"
		: !set->show && !set->count ? "say what to set: NAME=VALUE, or --show" : NULL;

	if (!what)
		return 0;
	tool_error("set", "%s", what);
	return tool_usage_error("set");
}

int cmd_set(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "qp", required_argument, NULL, OPT_QP },
		{ "peer", required_argument, NULL, OPT_PEER },
		{ "new", no_argument, NULL, OPT_NEW },
		{ "show", no_argument, NULL, OPT_SHOW },
		{ "timeout", required_argument, NULL, OPT_TIMEOUT },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct set set = { .timeout_us = 2e6 };
	char request[CCS_REQUEST_LEN];
	struct ccs_stats_header *page;
	int letter;

	argv[0] = (char *)"ccshim set";
	while ((letter = getopt_long(argc, argv, "p:h", long_options, NULL)) != -1) {
		if (letter == 'h')
			return help();
		if (take_option(&set, letter))
			return EXIT_USAGE;
	}
	set.settings = argv + optind;
	set.count = argc - optind;
	if (check_usage(&set) || write_request(&set, request) || check_request(request))
		return EXIT_USAGE;
	page = open_page(&set);
	return page ? ask(page, &set, request) : EXIT_FAILED;
}
