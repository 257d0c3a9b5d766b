/* SPDX-License-Identifier: BSD-2-Clause */
#include "jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ccfabric/shared/error.h"
#include "bench/common/progress.h"
#include "bench/ccfabric/shared/options.h"

struct state {
	atomic_uint next, done;
};

void *fab_shared(size_t n, size_t size)
{
	void *p = MAP_FAILED;

	if (n <= SIZE_MAX / size)
		p = mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		fail("out of memory");
	return p;
}

/* Each process draws the bar: the others may run for long. None survives the first. */
static void work(struct state *s, unsigned n, bool progress, pid_t first,
		 void (*run)(void *owner, unsigned i), void *owner)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != first)
		_exit(1);
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < n;) {
		run(owner, i);
		atomic_fetch_add(&s->done, 1);
		if (progress)
			progress_bar(atomic_load(&s->done) % n, n, "simulating", 0);
	}
	_exit(0);
}

bool fab_jobs(unsigned n, unsigned processes, bool progress, void (*run)(void *owner, unsigned i),
	      void *owner)
{
	struct state *s = fab_shared(1, sizeof(*s));
	const pid_t first = getpid();
	bool ok = true;
	int status;

	progress = progress && progress_watched();
	fflush(stdout);
	if (progress)
		progress_bar(0, n, "simulating", 0);
	for (unsigned k = 0; k < processes && k < n; k++) {
		const pid_t pid = fork();

		if (pid < 0)
			fail("cannot start a process: %s", strerror(errno));
		if (pid == 0)
			work(s, n, progress, first, run, owner);
	}
	while (wait(&status) > 0)
		ok &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (progress)
		progress_clear();
	munmap(s, sizeof(*s));
	return ok;
}
