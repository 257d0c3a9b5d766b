/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that each C library call of the shim may fail once. Each failure runs in a separate
 * process, from the configuration to the report at exit: the application's traffic continues, a
 * sleeping application is woken, the process exits normally, and one log line names what is
 * missing.
 */
#include "rig.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_openat2 /* the C library of Debian 11 has no name for it */
#define SYS_openat2 437
#endif
#define K4 4096u
#define EXPORT __attribute__((visibility("default")))

/* TSan's runtime calls these itself, before anything of the test is initialised. */
#ifdef __SANITIZE_THREAD__
int main(void)
{
	puts("1..0 # SKIP not with TSan");
	return 0;
}
#else

/* -- the process in which something fails ------------------------------------ */

static struct {
	char name[32];                   /* name of the function; empty: all succeed */
	unsigned left;                   /* calls until it fails */
	int report_fd;                   /* receives the call site when the call has failed */
	uintptr_t from, to;              /* address range of the shim's code */
} fault;

static int find_shim(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	if (!strstr(info->dlpi_name, "libccshim.so"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		fault.from = info->dlpi_addr + p->p_vaddr;
		fault.to = fault.from + p->p_memsz;
	}
	return 1;
}

/* FAULT=NAME:K:FD: the Kth call of NAME by the shim fails, and is reported to FD. */
static void arm(void)
{
	const char *text = getenv("FAULT");

	assert_int_equal(dl_iterate_phdr(find_shim, NULL), 1);
	if (sscanf(text, "%31[a-z_]:%u:%d", fault.name, &fault.left, &fault.report_fd) != 3)
		exit(2);
}

static bool fails(const char *name, const void *caller)
{
	const uintptr_t site = (uintptr_t)caller - fault.from;

	if (site >= fault.to - fault.from ||
	    strcmp(name, fault.name) != 0 || !fault.left || --fault.left)
		return false;
	syscall(SYS_write, fault.report_fd, &site, sizeof(site));
	return true;
}

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Wraps a function so that it can return its failure value. */
#define FAILING(type, name, failure, error, parameters, arguments) \
	EXPORT type name parameters; \
	EXPORT type name parameters \
	{ \
		type (*next) parameters; \
		if (fails(#name, __builtin_return_address(0))) { \
			errno = error; \
			return failure; \
		} \
		*(void **)&next = real(#name); \
		return next arguments; \
	}
FAILING(int, open, -1, EMFILE, (const char *path, int flags, ...), (path, flags, 0600))
FAILING(int, openat, -1, ENFILE, (int at, const char *path, int flags, ...), (at, path, flags, 0600))

/* The C library has no function for openat2, which counts as openat. */
EXPORT long syscall(long number, ...)
{
	static long (*_Atomic next)(long, ...);
	long (*to)(long, ...) = next;
	long a[6];
	va_list ap;

	if (number == SYS_openat2 && fails("openat", __builtin_return_address(0))) {
		errno = EMFILE;
		return -1;
	}
	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!to) {
		*(void **)&to = real("syscall");
		next = to;
	}
	return to(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

FAILING(ssize_t, read, -1, EIO, (int fd, void *buf, size_t n), (fd, buf, n))
FAILING(ssize_t, write, -1, ENOSPC, (int fd, const void *buf, size_t n), (fd, buf, n))
FAILING(FILE *, fdopen, NULL, ENOMEM, (int fd, const char *mode), (fd, mode))
FAILING(int, fflush, EOF, ENOSPC, (FILE *f), (f))
FAILING(int, renameat, -1, EACCES, (int from_dir, const char *from, int to_dir, const char *to),
	(from_dir, from, to_dir, to))
FAILING(int, fstat, -1, EIO, (int fd, struct stat *st), (fd, st))
FAILING(void *, mmap, MAP_FAILED, ENOMEM,
	(void *at, size_t len, int prot, int flags, int fd, off_t offset),
	(at, len, prot, flags, fd, offset))
FAILING(char *, getcwd, NULL, EACCES, (char *buf, size_t n), (buf, n))
FAILING(int, sem_init, -1, ENOSPC, (sem_t *sem, int shared, unsigned value),
	(sem, shared, value))
FAILING(FILE *, fopen, NULL, EMFILE, (const char *path, const char *mode), (path, mode))
FAILING(int, pthread_create, EAGAIN, EAGAIN,
	(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
	(thread, attr, fn, arg))
FAILING(int, __register_atfork, ENOMEM, ENOMEM,
	(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object),
	(prepare, parent, child, object))

/* The program's allocator takes precedence over the C library's, also for preloaded objects. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define SANITIZED true
#else
#define SANITIZED false
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);

static bool no_memory(const char *name, const void *caller)
{
	const bool none = fails(name, caller);

	if (none)
		errno = ENOMEM;
	return none;
}

EXPORT void *malloc(size_t size)
{
	return no_memory("malloc", __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return no_memory("calloc", __builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *at, size_t size)
{
	return no_memory("realloc", __builtin_return_address(0)) ? NULL
								 : __libc_realloc(at, size);
}
#endif

/* Sleeps until the last WR is done; waiting WRs are posted without a poll. */
static void traffic(struct rig *r)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_req_notify_cq(r->scq, 0), 0);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, i * 10 * K4, 10 * K4,
					  i == 7 ? IBV_SEND_SIGNALED : 0), 0);
	while (!ibv_poll_cq(r->scq, 1, &wc)) {
		assert_int_equal(ibv_get_cq_event(r->channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_req_notify_cq(r->scq, 0), 0);
	}
	assert_true(wc.wr_id == 7 && wc.status == IBV_WC_SUCCESS);
	assert_memory_equal(r->src, r->dst, 80 * K4);
	rig_poll_nothing(r->scq);
}

static int find_libibverbs(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libibverbs.so"))
		return 0;
	snprintf(path, 4096, "%s", info->dlpi_name);
	return 1;
}

/*
 * A library that uses verbs is inspected before it is opened; if it cannot be read, it is
 * opened as the application asked. Opens libibverbs by its path, and librdmacm if it is
 * installed.
 */
static void modules(void)
{
	char path[4096];
	void *handle;

	assert_int_equal(dl_iterate_phdr(find_libibverbs, path), 1);
	handle = dlopen(path, RTLD_NOW);
	assert_true(handle && dlsym(handle, "ibv_open_device"));
	if (!SANITIZED) /* the sanitizers do not support RTLD_DEEPBIND */
		dlopen("librdmacm.so.1", RTLD_NOW | RTLD_DEEPBIND);
}

static int run_with_fault(char **argv)
{
	struct ibv_cq_init_attr_ex cq_ex = { .wc_flags = IBV_WC_STANDARD_FLAGS };
	const char *dir = getenv("FAULT_DIR");
	char config[200], trace[200], report[200], log[200], runtime[200];
	struct rig r;

	snprintf(config, sizeof(config), "CCSHIM_CONFIG=%s/conf", dir);
	snprintf(trace, sizeof(trace), "CCSHIM_TRACE=%s/way/trace", dir);
	snprintf(report, sizeof(report), "CCSHIM_REPORT=%s/report", dir);
	snprintf(log, sizeof(log), "CCSHIM_LOG_FILE=%s/log", dir);
	snprintf(runtime, sizeof(runtime), "XDG_RUNTIME_DIR=%s", dir);
	rig_exec(argv, config, trace, report, log, "CCSHIM_CC=fixed:rate=1g", "CCSHIM_SEGMENT=4k",
		 "CCSHIM_MAX_INFLIGHT=4k", runtime, NULL);
	arm();
	if (strcmp(argv[1], "modules") == 0) {
		modules();
		return 0;
	}
	rig_open(&r, (struct rig_conf){ .channel = true, .ex = true, .cq_ex = &cq_ex });
	traffic(&r);
	rig_close(&r);
	return 0;
}

/* -- the process that starts them--------------------------------------------- */

static char dir[] = "/tmp/ccshim-test-faults.XXXXXX";

struct call {
	const char *what, *name;
	unsigned least, most;            /* calls by the shim; no more are tried */
	unsigned quiet;                  /* call sites whose failures need no log line */
};

static void path_of(const char *name, char path[64])
{
	snprintf(path, 64, "%s/%s", dir, name);
}

static void exec_failing(const struct call *c, unsigned k, int report_fd)
{
	char text[64], err[64], exe[1024];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd;

	snprintf(text, sizeof(text), "%s:%u:%d", c->name, k, report_fd);
	path_of("err", err);
	fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (n < 0 || fd < 0 || dup2(fd, 2) < 0 || setenv("FAULT", text, 1) ||
	    setenv("FAULT_DIR", dir, 1))
		_exit(98);
	exe[n] = '\0';
	execl(exe, exe, c->what, NULL);
	_exit(98);
}

/* Returns the number of lines of the file; *line is the last line. */
static unsigned lines_of(const char *name, char line[512])
{
	char path[64];
	unsigned n = 0;
	FILE *f;

	path_of(name, path);
	f = fopen(path, "r");
	while (f && fgets(line, 512, f))
		n++;
	if (f)
		fclose(f);
	unlink(path);
	return n;
}

/* Returns the call site, or 0 if the shim called it less often. *line is the log message. */
static uintptr_t run_failing(const struct call *c, unsigned k, char line[512])
{
	int fds[2], status;
	uintptr_t site = 0;
	unsigned lines;
	bool reached;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid)
		exec_failing(c, k, fds[1]);
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	reached = read(fds[0], &site, sizeof(site)) == sizeof(site);
	close(fds[0]);
	strcpy(line, "\n");
	lines = lines_of("err", line) + lines_of("log", line);
	if (status)
		fail_msg("%s %u: status %#x, %s", c->name, k, status, line);
	if (lines > 1 || (!reached && lines))
		fail_msg("%s %u: %u lines, %s", c->name, k, lines, line);
	if (reached)
		printf("# %s %u: %s", c->name, k, line);
	return site;
}

/* Adds a value to a set, and returns the set's size. */
static unsigned add(uintptr_t *set, unsigned size, uintptr_t value)
{
	for (unsigned i = 0; i < size; i++)
		if (set[i] == value)
			return size;
	set[size] = value;
	return size + 1;
}

/* Threads make their calls in any order, so two runs may fail at one call site. */
static void one_by_one(void **state)
{
	const struct call *c = *state;
	unsigned k = 1, quiet = 0;
	uintptr_t site, quiet_sites[80];
	char line[512];

	assert_in_range(c->most, 1, 80);
	for (; k <= c->most && (site = run_failing(c, k, line)) != 0; k++)
		if (*line == '\n')
			quiet = add(quiet_sites, quiet, site);
	if (quiet > c->quiet)
		fail_msg("failures of %s at %u call sites were not logged", c->name, quiet);
	if (k <= c->least)
		fail_msg("%s is called %u times, not %u", c->name, k - 1, c->least);
}

/* The first thread writes the trace. */
enum { PACER = 2 };

/* Without the thread no WR is held back, which is logged and counted. */
static void without_a_pacer_thread_nothing_is_deferred(void **state)
{
	const struct call c = { "traffic", "pthread_create", PACER, PACER, 0 };
	char line[512], path[64];
	bool counted = false;
	FILE *f;

	assert_true(run_failing(&c, PACER, line));
	assert_non_null(strstr(line, "warn: cannot start the pacer thread"));
	path_of("report", path);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		counted |= strstr(line, "\"no-thread\": 1") != NULL;
	fclose(f);
	assert_true(counted);
}

static int clean_up(void **state)
{
	static const char *const names[] = { "conf", "trace", "report", "err", "log", "way" };
	char path[64];

	path_of("ccshim", path);
	rmdir(path);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		path_of(names[i], path);
		unlink(path);
	}
	return rmdir(dir);
}

int main(int argc, char **argv)
{
	static const struct call calls[] = {
		/* A statistics file is created elsewhere, lacks its start time, or does not see
		 * files of ended processes removed. */
		{ "traffic", "open", 8, 14, 3 },
		/* With two descriptors of the trace, a mapping keeps its lock; with one, that does. */
		{ "traffic", "openat", 26, 80, 4 },
		{ "traffic", "fstat", 3, 7, 2 },
		{ "traffic", "read", 1, 5, 1 },
		{ "traffic", "write", 1, 4, 0 },
		{ "traffic", "fdopen", 1, 2, 0 },
		{ "traffic", "fflush", 1, 2, 0 },
		{ "traffic", "renameat", 1, 2, 0 },
		{ "traffic", "sem_init", 2, 4, 1 }, /* a nap at the end, if a WR waits then */
		{ "traffic", "pthread_create", PACER, PACER + 1, 0 },
		{ "traffic", "__register_atfork", 1, 2, 0 },
		{ "traffic", "getcwd", 0, 2, 0 },
		{ "modules", "open", 2, 20, 4 },
		{ "modules", "fstat", 1, 20, 4 },
		{ "modules", "mmap", 1, 20, 4 },
		{ "modules", "fopen", SANITIZED ? 0 : 1, 20, 4 },
		/* the report counts missing QP reports and histograms */
		{ "traffic", "malloc", SANITIZED ? 0 : 1, 40, 2 },
		{ "traffic", "calloc", SANITIZED ? 0 : 10, 80, SANITIZED },
		{ "traffic", "mmap", SANITIZED ? 0 : 3, 40, 1 },
		{ "modules", "malloc", 0, 40, 4 },
		{ "modules", "calloc", 0, 40, 4 },
		{ "modules", "realloc", 0, 40, 4 },
	};
	enum { N = sizeof(calls) / sizeof(*calls) };
	struct CMUnitTest tests[N + 1] = {
		[N] = cmocka_unit_test(without_a_pacer_thread_nothing_is_deferred),
	};
	char conf[64], way[64], name[N][64];
	FILE *f;

	if (argc > 1)
		return run_with_fault(argv);
	if (!mkdtemp(dir))
		return 99;
	path_of("way", way); /* the trace's path is walked, the others' have no link */
	if (symlink(".", way))
		return 99;
	path_of("conf", conf);
	f = fopen(conf, "w");
	if (!f || fputs("base_rtt = 20us\n", f) < 0 || fclose(f))
		return 99;
	for (unsigned i = 0; i < N; i++) {
		snprintf(name[i], sizeof(name[i]), "%s: %s", calls[i].what, calls[i].name);
		tests[i] = (struct CMUnitTest){ .name = name[i], .test_func = one_by_one,
						.initial_state = (void *)(uintptr_t)&calls[i] };
	}
	return _cmocka_run_group_tests("faults", tests, N + 1, NULL, clean_up);
}
#endif
