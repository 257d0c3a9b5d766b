/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends a process when only threads of the shim are left; see last_thread.h. A key's destructor runs
 * when the first thread ends by pthread_exit() or pthread_cancel(); exit() calls no destructor.
 */
#include "preload/object/last_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/loaded.h"
#include "base/thread.h"
#include "preload/object/shim.h"

enum { STEP_NS = 20000000, ENTRY_LEN = 32 };

static pthread_key_t key;
static atomic_bool first_ends, watching;

/* Read a file of the thread into text. */
static bool read_of_thread(const char *thread, const char *file, char *text, size_t size)
{
	char path[64 + ENTRY_LEN];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%.*s/%s", ENTRY_LEN, thread, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The first thread remains as a zombie. The state follows the name, which is in parentheses. */
static bool has_ended(const char *thread)
{
	char text[128];
	const char *name_end;

	if (!read_of_thread(thread, "stat", text, sizeof(text)))
		return false;
	name_end = strrchr(text, ')');
	return name_end && strncmp(name_end, ") Z", 3) == 0;
}

static bool is_ours(const char *thread)
{
	char name[32];

	return read_of_thread(thread, "comm", name, sizeof(name)) &&
	       strncmp(name, "ccshim-", 7) == 0;
}

static bool are_only_ours_left(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	bool only = dir;

	while (only && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			only = atol(e->d_name) == getpid() ? has_ended(e->d_name)
							    : is_ours(e->d_name);
	if (dir)
		closedir(dir);
	return only;
}

/* Ends the process as the C library does when the last thread ends. */
static void *end_process(void *arg)
{
	const struct timespec step = { .tv_nsec = STEP_NS };

	(void)arg;
	prctl(PR_SET_NAME, "ccshim-end");
	do
		nanosleep(&step, NULL);
	while (!are_only_ours_left());
	exit(0);
}

void ccs_last_thread_watch(void)
{
	pthread_t thread;

	if (atomic_load(&first_ends) && atomic_load(&ccs_shim()->ready) && !ccs_shim()->off &&
	    !ccs_forked() && !atomic_exchange(&watching, true) &&
	    !ccs_thread_create(&thread, end_process, NULL))
		pthread_detach(thread);
}

static void note_end(void *arg)
{
	(void)arg;
	if (gettid() != getpid())
		return;
	atomic_store(&first_ends, true);
	ccs_last_thread_watch();
}

/* Another preload that defines these functions may not have run its constructor yet. */
static void __attribute__((constructor)) expect_end(void)
{
	if (!CCS_LIBC(pthread_key_create)(&key, note_end))
		CCS_LIBC(pthread_setspecific)(key, &key);
}
