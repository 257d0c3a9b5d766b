/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends a process when only threads of the shim are left; see last_thread.h. A key's destructor runs
 * when the first thread ends by pthread_exit() or pthread_cancel(); exit() calls no destructor.
 */
#include "preload/object/last_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/loaded.h"
#include "base/thread.h"
#include "preload/object/shim.h"

enum { STEP_NS = 20000000 };

static pthread_key_t key;
static atomic_bool first_ends, watching;

/* A thread that has ended has no memory, and its process no executable. */
static bool has_first_ended(void)
{
	char c;

	return readlink("/proc/self/exe", &c, sizeof(c)) < 0 && errno == ENOENT;
}

/* The first thread remains as a zombie. A directory's links are `.', its name, and its entries. No
 * file is opened, because the application may have used up its descriptors. */
static bool are_only_ours_left(void)
{
	struct stat tasks;

	return has_first_ended() && !stat("/proc/self/task", &tasks) &&
	       tasks.st_nlink == 2 + 1 + atomic_load(&ccs_threads);
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
