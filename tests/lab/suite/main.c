/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suite [-l] [-x NAME]... DEVICE DEVICE [NAME...]: runs the verbs conformance suite between two
 * RDMA devices and prints TAP. -l lists the checks; NAMEs, which are shell patterns, select some;
 * -x excludes some.
 */
#include "child.h"
#include "suite.h"

#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct check *const groups[] = {
	rc_checks, ring_checks, datagram_checks, srq_checks, wr_checks, window_checks, cq_checks,
	timestamp_checks, event_checks, error_checks, flush_checks, purge_checks, life_checks,
	limit_checks, attr_checks, process_checks,
};

enum outcome { PASSED, FAILED, SKIPPED };

struct host hosts[2];
static jmp_buf end_of_check;
static const struct check *running;
static char reason[256];
static unsigned number, failures;
static const char *const *excluded;
static unsigned n_excluded;

void suite_fail(const char *file, int line, const char *what, const char *format, ...)
{
	const char *base = strrchr(file, '/');
	va_list args;

	printf("# %s: %s:%d: ", running ? running->name : "suite", base ? base + 1 : file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(" [%s]\n", what);
	if (!running) {
		printf("Bail out! the devices cannot be used\n");
		exit(1);
	}
	longjmp(end_of_check, FAILED);
}

void skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	longjmp(end_of_check, SKIPPED);
}

void fact(const char *name, const char *format, ...)
{
	va_list args;

	printf("# fact: %s.%s=", running->name, name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void nap_us(unsigned us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000L }, NULL);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run_check(const struct check *check)
{
	int outcome;

	running = check;
	number++;
	outcome = setjmp(end_of_check);
	if (!outcome)
		check->run();
	printf("%s %u - %s: %s", outcome == FAILED ? "not ok" : "ok", number, check->name,
	       check->property);
	if (outcome == SKIPPED)
		printf(" # SKIP %s", reason);
	printf("\n");
	failures += outcome == FAILED;
	running = NULL;
}

static bool is_selected(const char *name, char **patterns)
{
	unsigned i;

	for (i = 0; i < n_excluded; i++)
		if (!fnmatch(excluded[i], name, 0))
			return false;
	if (!*patterns)
		return true;
	while (*patterns)
		if (!fnmatch(*patterns++, name, 0))
			return true;
	return false;
}

static void for_each_check(char **patterns, void (*call)(const struct check *))
{
	const struct check *check;
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		for (check = groups[i]; check->name; check++)
			if (is_selected(check->name, patterns))
				call(check);
}

static void list_check(const struct check *check)
{
	printf("%s: %s\n", check->name, check->property);
}

/* Objects that a failed check has left behind would make this fail, too. */
static void close_hosts(void)
{
	if (failures)
		skip("objects of failed checks remain");
	for (size_t i = 0; i < 2; i++) {
		int error = host_close(&hosts[i]);

		require(!error, "device %zu: %s", i, strerror(error));
	}
}

static int usage(const char *name)
{
	fprintf(stderr, "usage: %s [-l] [-x NAME]... DEVICE DEVICE [NAME...]\n"
		"GID_INDEX: the index of the devices' RoCE v2 address (1)\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct check last = {
		"close", "every object can be destroyed in the end", close_hosts,
	};
	const char *names[64];
	bool list = false;
	int option;

	if (argc > 1 && !strcmp(argv[1], CHILD_OPTION))
		return child_main(argc, argv);
	while ((option = getopt(argc, argv, "+lx:")) != -1) {
		if (option == 'x' && n_excluded < sizeof(names) / sizeof(*names))
			names[n_excluded++] = optarg;
		else if (option == 'l')
			list = true;
		else
			return usage(*argv);
	}
	excluded = names;
	argv += optind;
	if (list) {
		for_each_check(argv, list_check);
		return 0;
	}
	if (argc - optind < 2)
		return usage("suite");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (ibv_fork_init())
		printf("# ibv_fork_init: %s\n", strerror(errno));
	host_open(&hosts[0], argv[0]);
	host_open(&hosts[1], argv[1]);
	for_each_check(argv + 2, run_check);
	run_check(&last);
	printf("1..%u\n", number);
	return !!failures;
}
