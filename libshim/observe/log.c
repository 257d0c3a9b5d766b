/* SPDX-License-Identifier: BSD-2-Clause */
#include "observe/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "config/filename.h"
#include "config/job.h"
#include "observe/write_guard.h"

#define LINE_LEN 1024
#define MAX_WARNINGS 100 /* per process, unless the level is info or debug */

static _Atomic int level_now = CCS_LOG_WARN;
static atomic_uint warnings;
static char log_path[CCS_FILENAME_MAX];
static _Atomic bool to_file;

static struct stat first_stderr;         /* st_mode 0: it was closed */

static void __attribute__((constructor)) note_stderr(void)
{
	const int saved = errno;

	if (fstat(STDERR_FILENO, &first_stderr))
		first_stderr = (struct stat){ 0 };
	errno = saved;
}

static bool is_network(int fd)
{
	int domain = AF_UNIX; /* no network: the journal, or a shell's socket pair */
	socklen_t len = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain != AF_UNIX;
}

/* Whether messages may have been redirected there: not if the program also reads it, or its
 * children do not inherit it. */
static bool is_like_stderr(int fd, const struct stat *st)
{
	const bool reads = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY;

	return (!reads || S_ISSOCK(st->st_mode) || isatty(fd)) &&
	       !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/*
 * Descriptor 2 of a program that was started without stderr, or closed it, may be a file or a
 * connection of the program: do not write there.
 */
static bool stderr_is_ours(void)
{
	const int fd = STDERR_FILENO;
	struct stat st;

	if (!first_stderr.st_mode || fstat(fd, &st) || is_network(fd))
		return false;
	return (st.st_dev == first_stderr.st_dev && st.st_ino == first_stderr.st_ino) ||
	       is_like_stderr(fd, &st);
}

/* The file is opened for each line: the application's closefrom() would close a descriptor that
 * was kept open, and its number would be reused. */
static int open_file(void)
{
	return ccs_open_path(log_path, O_WRONLY | O_APPEND | O_CREAT);
}

/* False if the file cannot be written any more; if it cannot be opened, the line goes to stderr. */
static bool write_guarded(const char *line, size_t len)
{
	struct ccs_write_guard guard;
	int fd = -1, error = 0;

	ccs_write_guard_begin(&guard);
	if (atomic_load_explicit(&to_file, memory_order_acquire))
		fd = open_file();
	if ((fd >= 0 || stderr_is_ours()) &&
	    TEMP_FAILURE_RETRY(write(fd >= 0 ? fd : STDERR_FILENO, line, len)) < 0)
		error = errno;
	ccs_close(fd);
	ccs_write_guard_end(&guard);
	errno = error;
	return fd < 0 || !error;
}

static void write_line(const char *line, size_t len)
{
	if (write_guarded(line, len))
		return;
	atomic_store_explicit(&to_file, false, memory_order_relaxed);
	ccs_log(CCS_LOG_WARN, "log_file %s: %m; messages go to stderr", log_path);
	write_guarded(line, len);
}

static void begin_file(const char *file)
{
	char name[CCS_FILENAME_MAX];
	int fd = -1;

	if (ccs_filename_expand(file, ccs_job(), name, sizeof(name)) == 0) {
		ccs_filename_absolute(name, log_path, sizeof(log_path));
		fd = open_file();
	}
	if (fd < 0)
		ccs_log(CCS_LOG_WARN, "log_file %s: %m; messages go to stderr",
			*log_path ? log_path : file);
	else
		close(fd);
	atomic_store_explicit(&to_file, fd >= 0, memory_order_release);
}

void ccs_log_setup(enum ccs_log_level level, const char *file)
{
	const int saved = errno;

	atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
	atomic_store_explicit(&to_file, false, memory_order_relaxed);
	if (file && *file)
		begin_file(file);
	errno = saved;
}

bool ccs_log_on(enum ccs_log_level level)
{
	return (int)level <= atomic_load_explicit(&level_now, memory_order_relaxed);
}

/* A line that is being formatted is large for a thread's stack. */
static struct line {
	atomic_flag used;
	char text[LINE_LEN];
} lines[4];

/* NULL: all lines are in use by other threads, or by threads that a signal handler interrupted. */
static struct line *claim_line(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (!atomic_flag_test_and_set_explicit(&lines[i].used, memory_order_acquire))
			return &lines[i];
	return NULL;
}

static size_t format_prefix(char *line, size_t size, enum ccs_log_level level)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	int n = snprintf(line, size, "ccshim: %s: ", names[level]);

	if (ccs_log_on(CCS_LOG_DEBUG)) {
		char host[65] = "";

		gethostname(host, sizeof(host) - 1);
		n += snprintf(line + n, size - (size_t)n, "%s:%d:%d: ", host, (int)getpid(),
			      (int)gettid());
	}
	return (size_t)n;
}

/* Text may come from an environment variable, or another host. */
static size_t end_line(char *line, size_t size, size_t len)
{
	if (len > size - 2) {
		len = size - 2;
		memcpy(line + len - 3, "...", 3);
	}
	line[len] = '\0';
	len = strlen(ccs_make_printable(line, ""));
	line[len] = '\n';
	return len + 1;
}

/* Limits the number of warnings on an application's terminal; level info shows all. */
static bool is_suppressed(enum ccs_log_level level)
{
	static const char last[] = "ccshim: warn: too many warnings; further ones are dropped, "
				   "set log_level=info to see all\n";
	unsigned logged;

	if (level > CCS_LOG_WARN || ccs_log_on(CCS_LOG_INFO))
		return false;
	logged = atomic_fetch_add_explicit(&warnings, 1, memory_order_relaxed);
	if (logged == MAX_WARNINGS)
		write_line(last, sizeof(last) - 1);
	return logged >= MAX_WARNINGS;
}

static void __attribute__((format(printf, 5, 0)))
log_line(char *line, size_t size, enum ccs_log_level level, int error, const char *fmt, va_list ap)
{
	size_t len = format_prefix(line, size, level);
	int n;

	errno = error; /* for %m */
	n = vsnprintf(line + len, size - len, fmt, ap);
	write_line(line, end_line(line, size, len + (n > 0 ? (size_t)n : 0)));
}

/* Not inlined, as it is rarely needed. */
static __attribute__((noinline, format(printf, 3, 0))) void
log_short(enum ccs_log_level level, int error, const char *fmt, va_list ap)
{
	char text[LINE_LEN / 4];

	log_line(text, sizeof(text), level, error, fmt, ap);
}

void ccs_log(enum ccs_log_level level, const char *fmt, ...)
{
	const int saved = errno;
	struct line *line;
	va_list ap;

	if (!ccs_log_on(level) || is_suppressed(level)) {
		errno = saved;
		return;
	}
	line = claim_line();
	va_start(ap, fmt);
	if (line)
		log_line(line->text, sizeof(line->text), level, saved, fmt, ap);
	else
		log_short(level, saved, fmt, ap);
	va_end(ap);
	if (line)
		atomic_flag_clear_explicit(&line->used, memory_order_release);
	errno = saved;
}
