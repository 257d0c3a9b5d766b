/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/common/jobs.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/progress.h"

enum { STEPS = 10 };

struct state {
	atomic_uint next, done;
};

void *jobs_shared(size_t n, size_t size)
{
	void *p = MAP_FAILED;

	if (n <= SIZE_MAX / size)
		p = mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* Each process draws the bar, because the others may run for a long time. */
static void show(const struct jobs *j, unsigned done)
{
	if (j->quiet)
		return;
	if (progress_watched())
		progress_bar(done % j->n, j->n, "simulating", 0);
	else if (j->program && done && done * STEPS / j->n != (done - 1) * STEPS / j->n)
		fprintf(stderr, "%s: %u of %u runs\n", j->program, done, j->n);
}

/* No process survives the first. */
static void work(struct state *s, const struct jobs *j, pid_t first)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != first)
		_exit(1);
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < j->n;) {
		j->run(j->owner, i);
		show(j, atomic_fetch_add(&s->done, 1) + 1);
	}
	_exit(0);
}

bool jobs_run(const struct jobs *j)
{
	struct state *s = jobs_shared(1, sizeof(*s));
	const pid_t first = getpid();
	bool ok = true;
	int status;

	fflush(NULL);
	show(j, 0);
	for (unsigned k = 0; k < j->processes && k < j->n; k++) {
		const pid_t pid = fork();

		if (pid < 0) {
			perror("cannot start a process");
			exit(1);
		}
		if (pid == 0)
			work(s, j, first);
	}
	while (wait(&status) > 0)
		ok &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	progress_clear();
	munmap(s, sizeof(*s));
	return ok;
}
