/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The differential property: random programs, the same on the bare device and behind
 * the shim in each mode and under each algorithm, look the same to the application.
 *
 *   CCS_SEED=N               those programs again
 *   CCS_STEPS=N              as many steps
 *   test_diff NAME          only this test
 *   CCS_PROGRAM=HEX [CCS_SETTING=NAME]   this program, printed step by step
 */
#include "../verbs/rig.h"

#include <dirent.h>
#include <unistd.h>

#include "../unit/seed.h"
#include "server.h"

enum { HEAD = 8, STEP = 8, STEPS_A_PROGRAM = 60 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHARE 20000
#define CORPUS_STRIDE (nservers - 1) /* each program with one setting */
#else
#define SHARE 300000
#define CORPUS_STRIDE 1
#endif

struct program {
	uint8_t bytes[HEAD + STEP * 512];
	size_t len;
};

static struct server servers[16];
static unsigned nservers;

static void start_servers(void)
{
	for (nservers = 0; settings[nservers].name; nservers++)
		servers[nservers].setting = &settings[nservers];
}

static void stop_servers(void)
{
	for (unsigned i = 0; i < nservers; i++)
		server_stop(&servers[i]);
}

static bool differs(struct server *shim, const struct program *p)
{
	const char *bare = server_ask(&servers[0], p->bytes, p->len, false);

	return strcmp(bare, server_ask(shim, p->bytes, p->len, false)) ||
	       strstr(bare, "VIOLATION");
}

/* -- shrinking: parts of the program away, then its bytes to 0 ----------------- */

static bool without(struct server *shim, struct program *p, size_t at, size_t len)
{
	struct program less = *p;

	memmove(less.bytes + at, less.bytes + at + len, less.len - at - len);
	less.len -= len;
	if (!differs(shim, &less))
		return false;
	*p = less;
	return true;
}

static bool drop_steps(struct server *shim, struct program *p)
{
	bool shrunk = false;

	for (size_t n = (p->len - HEAD) / STEP; n; n /= 2)
		for (size_t at = HEAD; at + n * STEP <= p->len;)
			if (without(shim, p, at, n * STEP))
				shrunk = true;
			else
				at += n * STEP;
	return shrunk;
}

static bool simplify(struct server *shim, struct program *p)
{
	bool shrunk = false;

	for (size_t i = 0; i < p->len; i++)
		for (unsigned by = p->bytes[i]; by; by /= 2) {
			struct program less = *p;

			less.bytes[i] = (uint8_t)(p->bytes[i] - by);
			if (!differs(shim, &less))
				continue;
			*p = less;
			shrunk = true;
			break;
		}
	return shrunk;
}

static void shrink(struct server *shim, struct program *p)
{
	bool more = true;

	for (int i = 0; i < 8 && more; i++) {
		more = drop_steps(shim, p);
		more |= simplify(shim, p);
	}
}

/* -- printing ------------------------------------------------------------------ */

static void print_lines(const char *head, const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		printf("# %s%.*s\n", head, (int)strcspn(text, "\n"), text);
}

static void print_difference(const char *bare, const char *shim)
{
	size_t at = 0, line = 0;

	for (; bare[at] && bare[at] == shim[at]; at++)
		if (bare[at] == '\n')
			line = at + 1;
	printf("# bare: %.*s\n# shim: %.*s\n", (int)strcspn(bare + line, "\n"), bare + line,
	       (int)strcspn(shim + line, "\n"), shim + line);
}

static void explain(struct server *shim, const struct program *p)
{
	char *bare;

	print_lines("bare | ", server_ask(&servers[0], p->bytes, p->len, true));
	print_lines("shim | ", server_ask(shim, p->bytes, p->len, true));
	bare = strdup(server_ask(&servers[0], p->bytes, p->len, false));
	print_difference(bare, server_ask(shim, p->bytes, p->len, false));
	free(bare);
	printf("# CCS_SETTING=%s CCS_PROGRAM=", shim->setting->name);
	for (size_t i = 0; i < p->len; i++)
		printf("%02x", p->bytes[i]);
	printf("\n");
}

/* In new processes the program may not fail: then earlier programs matter. */
static void report(struct server *shim, struct program *p, uint64_t seed)
{
	const struct program whole = *p;

	server_stop(shim);
	server_stop(&servers[0]);
	if (differs(shim, p)) {
		shrink(shim, p);
	} else {
		printf("# only after the earlier programs\n");
		*p = whole;
	}
	explain(shim, p);
	fail_msg("behind the shim, setting %s, seed %llu, the record of a program differs",
		 shim->setting->name, (unsigned long long)seed);
}

/* -- the tests ------------------------------------------------------------------ */

static void generate(struct program *p)
{
	const size_t steps = 1 + seed_below(2 * STEPS_A_PROGRAM - 1);

	p->len = HEAD + STEP * steps;
	for (size_t i = 0; i < p->len; i++)
		p->bytes[i] = (uint8_t)seed_next();
}

/* Run each program with one setting, and use all settings in turn. */
static void random_programs_have_equal_records(void **state)
{
	const char *steps = getenv("CCS_STEPS");
	const unsigned long want = steps ? strtoul(steps, NULL, 0) : SHARE;
	unsigned long done = 0, programs = 0;
	struct program p;

	(void)state;
	seed_start("differential");
	while (done < want) {
		struct server *shim = &servers[1 + programs++ % (nservers - 1)];
		const uint64_t seed = seed_state;

		generate(&p);
		if (differs(shim, &p))
			report(shim, &p, seed);
		done += (p.len - HEAD) / STEP;
	}
	printf("# %lu steps of %lu programs, %u settings\n", done, programs, nservers - 1);
}

/* Programs that coverage-guided runs have found. */
static void corpus_programs_have_equal_records(void **state)
{
	const char *src = getenv("top_srcdir");
	char path[1024];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/diff/corpus", src ? src : ".");
	dir = opendir(path);
	if (!dir)
		skip();
	while ((entry = readdir(dir))) {
		struct program p;
		FILE *f;

		snprintf(path, sizeof(path), "%s/tests/diff/corpus/%s", src ? src : ".",
			 entry->d_name);
		f = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!f)
			continue;
		p.len = fread(p.bytes, 1, sizeof(p.bytes), f);
		fclose(f);
		for (unsigned i = 1 + n % CORPUS_STRIDE; p.len >= HEAD && i < nservers;
		     i += CORPUS_STRIDE)
			if (differs(&servers[i], &p))
				report(&servers[i], &p, 0);
		n++;
	}
	closedir(dir);
	printf("# %u programs\n", n);
	assert_true(n > 10);
}

/* Each kind of defect is found, and shrunk to a program of a few lines. */
static void every_mutant_is_found_and_shrunk(void **state)
{
	static const char *const names[] = { "drop", "twice", "swap", "status", "length", "opcode",
					     "wr_id", "vendor", "unasked", "bad_wr", "unarmed" };

	(void)state;
	seed_state = 4;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct server mutant = { .setting = &settings[i % 2 ? 3 : 1],
					 .mutant = names[i] };
		struct program p;
		unsigned tried = 0;
		size_t was;

		do
			generate(&p);
		while (!differs(&mutant, &p) && ++tried < 500);
		if (tried == 500)
			fail_msg("mutant %s was not detected", names[i]);
		was = (p.len - HEAD) / STEP;
		shrink(&mutant, &p);
		printf("# %s: %zu steps of %zu, program %u\n", names[i], (p.len - HEAD) / STEP, was,
		       tried);
		assert_true(differs(&mutant, &p) && !differs(&servers[1], &p));
		assert_in_range((p.len - HEAD) / STEP, 1, 4);
		server_stop(&mutant);
		free(mutant.text);
	}
}

static int again(const char *hex)
{
	const char *name = getenv("CCS_SETTING");
	struct program p = { .len = 0 };
	unsigned value, i = 1;

	for (; sscanf(hex, "%2x", &value) == 1 && p.len < sizeof(p.bytes); hex += 2)
		p.bytes[p.len++] = (uint8_t)value;
	while (name && settings[i].name && strcmp(settings[i].name, name))
		i++;
	if (!settings[i].name)
		return 2;
	explain(&servers[i], &p);
	return differs(&servers[i], &p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corpus_programs_have_equal_records),
		cmocka_unit_test(every_mutant_is_found_and_shrunk),
		cmocka_unit_test(random_programs_have_equal_records),
	};
	int rc;

	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return server_main(argv);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	start_servers();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("CCS_PROGRAM"))
		rc = again(getenv("CCS_PROGRAM"));
	else
		rc = cmocka_run_group_tests_name("diff", tests, NULL, NULL);
	stop_servers();
	return rc;
}
