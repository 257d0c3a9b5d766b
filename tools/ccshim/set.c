/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim set: changes settings of a running process, through the mailbox of its statistics file. */
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
#include "cc/cc.h"
#include "config/request.h"
#include "observe/stats_dir.h"
#include "ccshim.h"
#include "set_all.h"
#include "stat/stat.h"
#include "terminal.h"

enum { POLL_NS = 2000000, ALIVE_POLLS = 50, START_S = 10, ANSWER_S = 60 };

struct set {
	pid_t pid;                       /* as this program sees it */
	const struct stat_process *found; /* where its file is; NULL: in a directory of the caller */
	int file;                        /* descriptor, if it is open already; or -1 */
	const char *lqpn, *peer;
	bool only_new, show, all;
	double timeout_us;
	char **settings;
	int count;
};

static int print_help(void)
{
	printf("usage: ccshim set -p PID [--qp LQPN | --peer ADDR[/BITS]] [--new] NAME=VALUE...\n"
	       "       ccshim set -p PID [--qp LQPN | --peer ADDR[/BITS]] --show\n"
	       "       ccshim set --all [--peer ADDR[/BITS]] [--new] NAME=VALUE... | --show\n\n"
	       "Changes settings of a running process of yours, for all its current and future\n"
	       "queue pairs or for some. NAME is an option that may differ between queue pairs,\n"
	       "or a parameter of their algorithm. Either all settings are applied or none.\n\n"
	       "  -p, --pid PID   the process\n"
	       "  --all           every running process of yours, or as root, of all users;\n"
	       "                  one that is not polling applies the request when it polls\n"
	       "  --qp LQPN       only that connected queue pair\n"
	       "  --peer ADDR     only queue pairs to that peer or network\n"
	       "  --new           only queue pairs that are connected later\n"
	       "  --show          print the current settings\n"
	       "  --timeout T     how long to wait for the process to accept       [2s]\n"
	       "  -h, --help      this text\n\n"
	       "The status is 0 if the settings are applied, 1 if the process refuses or does\n"
	       "not exist, 2 for a usage error or a setting that no process would accept, 3 if\n"
	       "the process did not answer in time: then no setting is changed, or with --all,\n"
	       "not yet.\n");
	return EXIT_OK;
}

/* -- the request ------------------------------------------------------------------- */

static int add_line(char *text, const char *line)
{
	const size_t had = strlen(text);

	if (strchr(line, '\n') || had + strlen(line) + 1 >= CCS_REQUEST_LEN) {
		tool_error("set", "'%.32s' %s", line,
			   strchr(line, '\n') ? "contains a line break; remove it"
					      : "makes the request too long; set fewer options at once");
		return EXIT_USAGE;
	}
	sprintf(text + had, "%s\n", line);
	return 0;
}

static int write_request(const struct set *set, char text[CCS_REQUEST_LEN])
{
	char subject[128];

	memset(text, 0, CCS_REQUEST_LEN);
	if (set->lqpn)
		snprintf(subject, sizeof(subject), "qp %s", set->lqpn);
	else if (set->peer)
		snprintf(subject, sizeof(subject), "%speer %s", set->only_new ? "new " : "", set->peer);
	else
		snprintf(subject, sizeof(subject), "%s", set->only_new ? "new" : "all");
	if (add_line(text, subject))
		return EXIT_USAGE;
	for (int i = 0; i < set->count; i++)
		if (add_line(text, set->settings[i]))
			return EXIT_USAGE;
	return 0;
}

/* Whether a process in question, 0 for any, may run a plug-in, whose parameters only it knows. */
static bool may_have_plugin(pid_t pid)
{
	struct stat_snapshot s;
	bool may = false;

	stat_read(&s, pid);
	for (size_t i = 0; i < s.count; i++) {
		may |= ccs_cc_is_path(s.process[i].h.cc);
		for (size_t k = 0; k < s.process[i].count; k++)
			may |= !ccs_cc_find(s.process[i].qp[k].q.cc);
	}
	stat_free(&s);
	return may;
}

/* Check here what needs no process; the process checks the rest. */
static int check_request(const struct set *set, const char *text)
{
	struct ccs_request request;
	char err[512];

	if (ccs_request_parse(&request, text, err, sizeof(err)) == 0 &&
	    (ccs_request_check(&request, false, err, sizeof(err)) == 0 ||
	     (may_have_plugin(set->pid) && ccs_request_check(&request, true, err, sizeof(err)) == 0)))
		return 0;
	tool_error("set", "%s", err);
	return EXIT_USAGE;
}

/* -- the statistics file ----------------------------------------------------------- */

/* The reason why the file does not belong to the process, or NULL. */
static const char *find_mismatch(const struct ccs_stats_header *h, const struct set *set)
{
	if (h->magic != CCS_STATS_MAGIC)
		return "is not a statistics file";
	if (h->major != CCS_STATS_MAJOR)
		return "was written by another version of ccshim";
	if (set->found && set->found->inner_pid)
		return h->pid == set->found->inner_pid ? NULL : "belongs to a process that has ended";
	if (h->pid != (uint64_t)set->pid || ccs_stats_is_stale(h))
		return "belongs to a process that has ended";
	return NULL;
}

/* The file's owner, perhaps another user, can truncate it while it is used. */
static void report_truncation(int sig)
{
	static const char text[] = "ccshim set: the statistics file was truncated during the request; "
				   "settings may be changed or not\n";
	const ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)sig;
	(void)n;
	_exit(EXIT_FAILED);
}

/* Map the file for writing and lock it against other tools; NULL, with errno, or with errno 0
 * after the error was printed. */
static struct ccs_stats_header *map_file(int fd, const char *path, const struct set *set)
{
	struct ccs_stats_header *h;
	struct stat st;
	const char *why;

	if (fstat(fd, &st))
		return NULL;
	errno = 0;
	if (!S_ISREG(st.st_mode) || st.st_uid != (set->found ? set->found->owner : geteuid()) ||
	    (st.st_mode & 077) ||
	    st.st_size < (off_t)sizeof(*h)) {
		tool_error("set", "%s: not a statistics file, or accessible to other users", path);
		return NULL;
	}
	if (flock(fd, LOCK_EX | LOCK_NB))
		return NULL;
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return NULL;
	why = find_mismatch(h, set);
	if (!why)
		return h;
	tool_error("set", "%s %s", path, why);
	munmap(h, sizeof(*h));
	return NULL;
}

/* Try the directories of the caller. A descriptor; -1 with errno 0 if no such file exists. */
static int open_own(const struct set *set, char *path, size_t len)
{
	char dir[300];
	int fd = -1;

	stat_use_option();
	for (unsigned n = 0; fd < 0 && ccs_stats_dir_name(n, dir, sizeof(dir)); n++) {
		snprintf(path, len, "%s/%ld", dir, (long)set->pid);
		fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			return -1;
	}
	errno = 0;
	return fd;
}

/* The file of a process in another PID namespace may have the same name. */
static bool is_foreign(int fd)
{
	struct ccs_stats_header h;

	return pread(fd, &h, offsetof(struct ccs_stats_header, start_ticks), 0) > 0 &&
	       h.magic == CCS_STATS_MAGIC && h.pid_namespace != ccs_stats_pid_namespace();
}

static int report_absence(pid_t pid)
{
	if (kill(pid, 0) && errno == ESRCH)
		tool_error("set", "there is no process %ld", (long)pid);
	else if (errno == EPERM && geteuid())
		tool_error("set", "process %ld belongs to another user; changing its settings requires "
			   "that user or root", (long)pid);
	else
		tool_error("set", "cannot find statistics of process %ld: it is not owned by you, not "
			   "running under ccshim, has mode=off or stats=n, or no queue pair yet",
			   (long)pid);
	return -1;
}

/* Open the file for writing; -1 after printing an error. Fills *s if the file is elsewhere. */
static int find_file(struct set *set, struct stat_snapshot *s, char *path, size_t len)
{
	int fd = open_own(set, path, len);

	if (fd >= 0 && is_foreign(fd)) {
		close(fd);
		fd = -1;
		errno = 0;
	}
	if (fd < 0 && !errno) {
		stat_read(s, set->pid);
		if (!s->count)
			return report_absence(set->pid);
		set->found = s->process;
		snprintf(path, len, "%s", s->process->file);
		fd = stat_open(s->process, O_RDWR);
	}
	if (fd < 0)
		tool_error("set", "%s: %s", path, strerror(errno));
	return fd;
}

static struct ccs_stats_header *open_file(struct set *set)
{
	struct stat_snapshot s = { 0 };
	struct ccs_stats_header *h = NULL;
	char path[400];
	int fd = set->file;

	if (fd < 0)
		fd = find_file(set, &s, path, sizeof(path));
	else
		snprintf(path, sizeof(path), "%s", set->found->file);
	if (fd >= 0) {
		h = map_file(fd, path, set); /* the descriptor stays open, with the lock */
		if (!h && errno)
			tool_error("set", "%s: %s", path, errno == EWOULDBLOCK
				   ? "another 'ccshim set' is in progress; try again" : strerror(errno));
	}
	set->found = NULL;
	stat_free(&s);
	return h;
}

/* -- the request and its answer ---------------------------------------------------- */

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* True as well if another program has ignored the lock, and its request was answered since. */
static bool is_answered(const struct ccs_stats_mailbox *box, uint64_t accepted)
{
	return __atomic_load_n(&box->answer_gen, __ATOMIC_ACQUIRE) >= accepted;
}

/* False: not in time, or the process has ended. */
static bool wait_answer(const struct ccs_stats_header *h, uint64_t accepted, double timeout_us)
{
	const struct timespec interval = { .tv_nsec = POLL_NS };
	const double end = now_us() + timeout_us;

	for (unsigned i = 1; !is_answered(&h->mailbox, accepted); i++) {
		if (now_us() > end || (i % ALIVE_POLLS == 0 && ccs_stats_is_stale(h)))
			return is_answered(&h->mailbox, accepted);
		nanosleep(&interval, NULL);
	}
	return true;
}

static int print_answer(const struct ccs_stats_mailbox *box, uint64_t accepted, pid_t pid)
{
	char text[CCS_STATS_TEXT];

	if (box->answer_gen != accepted) {
		tool_error("set", "another program sends requests to process %ld without the lock that "
			   "ccshim/stats.h requires, and has replaced the answer; --show prints the settings",
			   (long)pid);
		return EXIT_FAILED;
	}
	memcpy(text, box->answer, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	terminal_replace_controls(text);
	if (box->status) {
		tool_error("set", "refused: %s", text);
		return EXIT_FAILED;
	}
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (*line || rest)
			terminal_print(stdout, "  ", "%s", line);
	return EXIT_OK;
}

static int report_timeout(const struct ccs_stats_header *h, const struct set *set)
{
	char timeout[CCS_UNIT_LEN];

	ccs_format_unit(set->timeout_us, CCS_UNIT_TIME, timeout, sizeof(timeout));
	if (set->all && !set->show) {
		printf("pending: it has not answered within %s, since it reads requests when it polls its "
		       "completion queues; it then applies this request or logs its "
		       "refusal, unless another request follows. Repeat the command to see its answer\n", timeout);
		return EXIT_TIMEOUT;
	}
	tool_error("set", "process %ld has not answered within %s: it reads requests when it polls its "
		   "completion queues, and %s; the request is withdrawn. Repeat the command while the "
		   "process communicates, or with a longer --timeout", (long)set->pid, timeout,
		   h->qps ? "has not polled" : "has no controlled queue pair");
	return EXIT_TIMEOUT;
}

static int report_end(const struct set *set)
{
	tool_error("set", "process %ld ended before it answered", (long)set->pid);
	return EXIT_FAILED;
}

/* Both: false if the process accepted the request at this moment. */
static bool withdraw(struct ccs_stats_mailbox *box, uint64_t asked)
{
	return __atomic_compare_exchange_n(&box->request_gen, &asked, asked + 1, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static bool leave_pending(struct ccs_stats_header *h, uint64_t asked)
{
	__atomic_store_n(&h->unattended, asked, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&h->mailbox.request_gen, __ATOMIC_SEQ_CST) == asked;
}

/* The next odd number. A request that a killed tool has left is withdrawn first. */
static uint64_t next_request_gen(struct ccs_stats_mailbox *box)
{
	uint64_t gen = __atomic_load_n(&box->request_gen, __ATOMIC_ACQUIRE);

	if ((gen & 1) && __atomic_compare_exchange_n(&box->request_gen, &gen, gen + 1, false,
						     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		gen++;
	return gen + 1;
}

static int send_request(struct ccs_stats_header *h, const struct set *set,
	       const char request[CCS_REQUEST_LEN])
{
	struct ccs_stats_mailbox *box = &h->mailbox;
	const uint64_t asked = next_request_gen(box);
	const uint64_t accepted = asked + 1;

	if (box->answer_gen == UINT64_MAX) {
		tool_error("set", "process %ld gained privileges when it was executed and accepts no requests",
			   (long)set->pid);
		return EXIT_FAILED;
	}
	memcpy(box->request, request, CCS_REQUEST_LEN);
	__atomic_store_n(&box->request_gen, asked, __ATOMIC_RELEASE);
	if (wait_answer(h, accepted, set->timeout_us))
		return print_answer(box, accepted, set->pid);
	if (ccs_stats_is_stale(h))
		return report_end(set);
	if (set->all && !set->show ? leave_pending(h, asked) : withdraw(box, asked))
		return report_timeout(h, set);
	/* The process accepted the request at this moment. */
	if (wait_answer(h, accepted, ANSWER_S * 1e6))
		return print_answer(box, accepted, set->pid);
	if (ccs_stats_is_stale(h))
		return report_end(set);
	tool_error("set", "process %ld accepted the request but has not answered within %d s; "
		   "--show prints its settings", (long)set->pid, ANSWER_S);
	return EXIT_FAILED;
}

/* -- the command line -------------------------------------------------------------- */

enum { OPT_QP = 256, OPT_PEER, OPT_NEW, OPT_SHOW, OPT_TIMEOUT, OPT_ALL };

static int parse_pid(struct set *set)
{
	set->pid = ccs_stats_pid_of(optarg);
	if (set->pid)
		return 0;
	tool_error("set", "-p: '%s' is not a process ID", optarg);
	return EXIT_USAGE;
}

static int parse_timeout(struct set *set)
{
	if (ccs_parse_unit(optarg, CCS_UNIT_TIME, &set->timeout_us) == 0 &&
	    set->timeout_us >= 0 && set->timeout_us <= 3.6e9)
		return 0;
	tool_error("set", "--timeout: '%s' is not a time such as 500ms or 10s", optarg);
	return EXIT_USAGE;
}

static int parse_option(struct set *set, int letter)
{
	switch (letter) {
	case 'p': return parse_pid(set);
	case OPT_QP: set->lqpn = optarg; return 0;
	case OPT_PEER: set->peer = optarg; return 0;
	case OPT_NEW: set->only_new = true; return 0;
	case OPT_SHOW: set->show = true; return 0;
	case OPT_ALL: set->all = true; return 0;
	case OPT_TIMEOUT: return parse_timeout(set);
	default: return tool_usage_error("set");
	}
}

static int check_usage(const struct set *set)
{
	const char *what = !set->pid && !set->all ? "-p PID is missing"
		: set->pid && set->all ? "--all excludes -p"
		: set->all && set->lqpn ? "--qp names a queue pair of one process: give -p"
		: set->lqpn && (set->peer || set->only_new)
			? "--qp names one connected queue pair and excludes --peer and --new"
		: set->show && set->count ? "--show takes no settings"
		: !set->show && !set->count ? "nothing to set: give NAME=VALUE, or --show" : NULL;

	if (!what)
		return 0;
	tool_error("set", "%s", what);
	return tool_usage_error("set");
}

struct send {
	struct set set;
	char request[CCS_REQUEST_LEN];
};

static int send_to(const struct stat_process *p, int file_of_it, void *arg)
{
	struct send *send = arg;
	struct ccs_stats_header *file;

	send->set.pid = p ? (pid_t)p->h.pid : send->set.pid;
	send->set.found = file_of_it >= 0 ? p : NULL;
	send->set.file = file_of_it;
	file = open_file(&send->set);
	return file ? send_request(file, &send->set, send->request) : EXIT_FAILED;
}

int cmd_set(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "qp", required_argument, NULL, OPT_QP },
		{ "peer", required_argument, NULL, OPT_PEER },
		{ "new", no_argument, NULL, OPT_NEW },
		{ "show", no_argument, NULL, OPT_SHOW },
		{ "timeout", required_argument, NULL, OPT_TIMEOUT },
		{ "all", no_argument, NULL, OPT_ALL },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct send send = { .set = { .timeout_us = 2e6, .file = -1 } };
	struct set *set = &send.set;
	int letter;

	argv[0] = (char *)"ccshim set";
	signal(SIGBUS, report_truncation);
	while ((letter = getopt_long(argc, argv, "p:h", long_options, NULL)) != -1) {
		if (letter == 'h')
			return print_help();
		if (parse_option(set, letter))
			return EXIT_USAGE;
	}
	set->settings = argv + optind;
	set->count = argc - optind;
	if (check_usage(set) || write_request(set, send.request) || check_request(set, send.request))
		return EXIT_USAGE;
	stat_warn_of_option("set");
	if (set->all)
		return set_all(send_to, &send, set->timeout_us / 1e6 + START_S);
	return send_to(NULL, -1, &send);
}
