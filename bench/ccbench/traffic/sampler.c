/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "bench/common/clock.h"

#define MOST_SAMPLES (1u << 22)
#define PAUSE 2000000ll      /* ns without traffic after which the port is idle */
#define DATA 512             /* bytes of a packet of data, at least; agents' messages are shorter */
#define LONGEST 3000000000ll /* ns to wait for that */

/* setns() moves only the calling thread: the rest of the program stays where it is. */
static int enter(struct sampler *s)
{
	char path[128];
	int fd, ret;

	if (!s->ns || !*s->ns)
		return 0;
	snprintf(path, sizeof(path), "/run/netns/%s", s->ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
	if (ret)
		snprintf(s->err, sizeof(s->err), "network namespace %s: %s", s->ns,
			 strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

static int append(struct sampler *s, const struct sample *one)
{
	if (s->n == MOST_SAMPLES)
		return 0;
	if (!CCS_GROW(s->v, s->n))
		return ccs_refuse(s->err, sizeof(s->err), "no memory for %zu samples", s->n + 1);
	s->v[s->n++] = *one;
	return 0;
}

static int read_queue(struct sampler *s, struct qdisc *q, struct sample *to)
{
	int err;

	to->t = now_ns();
	err = qdisc_read(q, &to->s);
	if (err)
		snprintf(s->err, sizeof(s->err), "%s: cannot read its queue: %s", s->port,
			 strerror(err));
	return err ? -1 : 0;
}

static int sample(struct sampler *s, struct qdisc *q, int64_t *t)
{
	struct sample one;

	if (read_queue(s, q, &one))
		return -1;
	*t = one.t;
	return append(s, &one);
}

/* Whether packets that passed between two samples are data, on average. */
static bool has_data(const struct sample *before, const struct sample *now)
{
	return now->s.bytes - before->s.bytes > DATA * (now->s.packets - before->s.packets);
}

/*
 * Packets of the run before may still be on their way, such as those that were sent again because
 * they had waited for longer than the ACK timeout; flows would learn their base RTT in that queue.
 */
static int wait_until_idle(struct sampler *s, struct qdisc *q)
{
	const int64_t start = now_ns();
	struct sample before, now;

	if (read_queue(s, q, &now))
		return -1;
	do {
		before = now;
		sleep_until(before.t + PAUSE);
		if (read_queue(s, q, &now))
			return -1;
		if (!now.s.backlog && !has_data(&before, &now))
			return 0;
	} while (now.t - start < LONGEST && !atomic_load(&s->stop));
	s->busy = true;
	return 0;
}

/* The first sample is of before the start: what the counters rise from. */
static void sample_all(struct sampler *s, struct qdisc *q)
{
	int64_t due = s->start, t;

	if (sample(s, q, &t))
		return;
	while (!atomic_load(&s->stop)) {
		sleep_until(due);
		if (sample(s, q, &t) || due == s->end)
			return;
		/* Late by more than a period: continue from here rather than in a burst. */
		due = due + s->period > t ? due + s->period : t + s->period;
		if (due > s->end)
			due = s->end;
	}
}

/* Data in flight at the end of the time still arrive until the sampler is stopped. */
static void sample_last(struct sampler *s, struct qdisc *q)
{
	pthread_mutex_lock(&s->lock);
	while (!atomic_load(&s->stop))
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (!s->err[0])
		read_queue(s, q, &s->final);
}

static void *sampler_main(void *arg)
{
	struct sampler *s = arg;
	struct qdisc q = { .netlink.fd = -1 };
	bool ok;

	prctl(PR_SET_TIMERSLACK, 1);
	ok = !enter(s) && !qdisc_open(&q, s->port, s->err, sizeof(s->err)) &&
	     !wait_until_idle(s, &q);
	snprintf(s->kind, sizeof(s->kind), "%s", q.kind);
	pthread_mutex_lock(&s->lock);
	s->opened = true;
	pthread_cond_broadcast(&s->changed);
	while (ok && !s->begun && !atomic_load(&s->stop))
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (ok) {
		sample_all(s, &q);
		sample_last(s, &q);
	}
	qdisc_close(&q);
	return NULL;
}

int sampler_open(struct sampler *s)
{
	int err;

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	err = pthread_create(&s->thread, NULL, sampler_main, s);
	if (err)
		return ccs_refuse(s->err, sizeof(s->err), "cannot start a thread: %s",
				  strerror(err));
	s->running = true;
	pthread_mutex_lock(&s->lock);
	while (!s->opened)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return s->err[0] ? sampler_stop(s) : 0;
}

void sampler_begin(struct sampler *s, int64_t start, int64_t end)
{
	pthread_mutex_lock(&s->lock);
	s->start = start;
	s->end = end;
	s->begun = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

int sampler_stop(struct sampler *s)
{
	if (s->running) {
		pthread_mutex_lock(&s->lock);
		atomic_store(&s->stop, true);
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		s->running = false;
	}
	return s->err[0] ? -1 : 0;
}

void sampler_free(struct sampler *s)
{
	free(s->v);
	s->v = NULL;
	s->n = 0;
}
