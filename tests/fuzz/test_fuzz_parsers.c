/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays the corpus and runs mutated inputs of it: a fixed number for each target, the same ones
 * each time, or with CCS_FUZZ_SECONDS as many as fit into that time. Prints how many a second. An
 * input that ends the process is left in the file fuzz-input.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../unit/test.h"

#include "parsers.h"
#include "../unit/seed.h"

/* Inputs of a target; the targets of files, from FILES on, are slower. */
enum { CORPUS_MAX = 4096, INPUTS = 20000, FILES = 7, FILE_INPUTS = 2000 };

struct input {
	size_t len;
	uint8_t bytes[FUZZ_INPUT_MAX];
};

static struct input *corpus, current;
static unsigned ncorpus;

static void keep_input(void)
{
	const int fd = open("fuzz-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (write(fd, current.bytes, current.len) == (ssize_t)current.len)
		fputs("# the input is in the file fuzz-input\n", stderr);
	close(fd);
}

static void on_signal(int sig)
{
	keep_input();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* From a sanitizer's runtime. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_input(const char *dir, const char *name, struct input *in)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	in->len = fread(in->bytes, 1, sizeof(in->bytes), f);
	fclose(f);
}

static int by_contents(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct input));
}

static int read_corpus(void **state)
{
	const char *top = getenv("top_srcdir");
	const struct dirent *e;
	char dir[512];
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus-parsers", top ? top : ".");
	corpus = calloc(CORPUS_MAX, sizeof(*corpus));
	d = opendir(dir);
	if (!corpus || !d)
		return -1;
	while (ncorpus < CORPUS_MAX && (e = readdir(d)))
		if (*e->d_name != '.')
			read_input(dir, e->d_name, &corpus[ncorpus++]);
	closedir(d);
	/* The result must not depend on the directory's order. */
	qsort(corpus, ncorpus, sizeof(*corpus), by_contents);
	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(keep_input);
	return ncorpus ? 0 : -1;
}

static int free_corpus(void **state)
{
	free(corpus);
	return 0;
}

TEST(the_corpus_breaks_nothing)
{
	for (unsigned i = 0; i < ncorpus; i++) {
		current = corpus[i];
		fuzz_parsers(current.bytes, current.len);
	}
}

/* -- mutation ------------------------------------------------------------------------------ */

static void insert_bytes(struct input *in, size_t at, const uint8_t *from, size_t n)
{
	if (n > sizeof(in->bytes) - in->len)
		n = sizeof(in->bytes) - in->len;
	memmove(in->bytes + at + n, in->bytes + at, in->len - at);
	memcpy(in->bytes + at, from, n);
	in->len += n;
}

/* One of the corpus, mostly of that target. */
static const struct input *choose(unsigned target)
{
	const struct input *in = corpus;

	for (unsigned tries = 0; tries < 8; tries++) {
		in = &corpus[seed_below(ncorpus)];
		if (in->bytes[0] % FUZZ_TARGETS == target)
			break;
	}
	return in;
}

static void mutate_once(struct input *in)
{
	static const uint8_t edges[][4] = { { 0 }, { 255, 255, 255, 255 }, { 255, 255, 255, 127 },
					    { 1 }, { 0, 0, 0, 128 } };
	const struct input *other = choose(in->bytes[0] % FUZZ_TARGETS);
	const size_t at = 1 + seed_below(in->len), from = seed_below(other->len + 1);
	size_t n = 1 + seed_below(16);

	switch (seed_below(6)) {
	case 0:
		in->bytes[at - 1 ? at - 1 : in->len - 1] ^= (uint8_t)(1 << seed_below(8));
		break;
	case 1:
		if (at < in->len)
			in->bytes[at] = (uint8_t)seed_next();
		break;
	case 2:
		insert_bytes(in, at, edges[seed_below(5)], 4);
		break;
	case 3:
		n = n < in->len - at ? n : in->len - at;
		memmove(in->bytes + at, in->bytes + at + n, in->len - at - n);
		in->len -= n;
		break;
	case 4:
		insert_bytes(in, at, in->bytes + at, n < in->len - at ? n : in->len - at);
		break;
	case 5:
		insert_bytes(in, at, other->bytes + from, other->len - from);
	}
}

/* An input for that target, from the corpus or random. */
static void make_input(unsigned target, struct input *in)
{
	if (seed_below(8)) {
		*in = *choose(target);
	} else {
		in->len = 1 + seed_below(256);
		for (size_t i = 0; i < in->len; i++)
			in->bytes[i] = (uint8_t)seed_next();
	}
	if (!in->len)
		in->len = 1;
	in->bytes[0] = (uint8_t)target;
	for (uint64_t n = 1 + seed_below(8); n--;)
		mutate_once(in);
	in->bytes[0] = (uint8_t)target;
}

static void run_target(unsigned target, double limit)
{
	const double since = seconds();
	uint64_t n = 0;

	while (limit > 0 ? n % 256 || seconds() < since + limit :
	       n < (target < FILES ? INPUTS : FILE_INPUTS)) {
		make_input(target, &current);
		fuzz_parsers(current.bytes, current.len);
		n++;
	}
	print_message("# %s: %" PRIu64 " inputs, %.0f a second\n", fuzz_targets[target].name, n,
		      (double)n / (seconds() - since));
}

/* Half of the time is for the messages and requests to the agent, which has state. */
TEST(mutated_inputs_break_nothing)
{
	const char *given = getenv("CCS_FUZZ_SECONDS"), *seed = getenv("CCS_SEED");
	const double limit = given ? atof(given) : 0;

	seed_state = seed ? strtoull(seed, NULL, 0) : 1;
	for (unsigned i = 0; i < FUZZ_TARGETS; i++)
		run_target(i, i < 2 ? limit / 4 : limit / 2 / (FUZZ_TARGETS - 2));
	print_message("# %" PRIu64 " messages and requests to an agent\n", fuzz_processed);
}

int main(void)
{
	return test_run(read_corpus, free_corpus);
}
