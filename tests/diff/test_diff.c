/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The differential property: random programs, run with and without the shim in each mode and under each algorithm, look the same to the application. The device
 * is mlx5 or rxe as the fake provider knows them; known.c lists the known differences.
 *
 *   CCS_SEED=N               those programs again
 *   CCS_STEPS=N              as many steps
 *   test_diff PATTERN        only these tests
 *   CCS_PROGRAM=HEX [CCS_SETTING=NAME] [FAKERDMA_PROFILE=NAME]
 *                            this program, printed step by step
 */
#include "../verbs/rig.h"

#include <dirent.h>

#include "../unit/seed.h"
#include "known.h"
#include "server.h"

enum { HEAD = 8, STEP = 8, STEPS_A_PROGRAM = 60, SETTINGS_MAX = 16 };
/* Number of steps in which each known difference occurs. */
enum { ENOUGH = 10000 };

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

/* One server for each setting; the first is without the shim. */
static struct fleet {
	const char *profile;
	struct server server[SETTINGS_MAX];
} fleets[] = { { .profile = "mlx5" }, { .profile = "rxe" }, { .profile = "mlx5-33" } };
enum { FLEETS = sizeof(fleets) / sizeof(*fleets) };
static unsigned nservers;

static void start_servers(void)
{
	for (nservers = 0; settings[nservers].name; nservers++)
		for (unsigned i = 0; i < FLEETS; i++)
			fleets[i].server[nservers] = (struct server){
				.setting = &settings[nservers], .profile = fleets[i].profile,
				.bare = &fleets[i].server[0],
			};
}

static void stop_servers(void)
{
	for (unsigned i = 0; i < FLEETS * nservers; i++)
		server_hang_up(&fleets[i / nservers].server[i % nservers]);
	for (unsigned i = 0; i < FLEETS * nservers; i++)
		server_stop(&fleets[i / nservers].server[i % nservers]);
}

static bool differs(struct server *shim, const struct program *p)
{
	const char *bare;

	server_request(shim, p->bytes, p->len, false);
	bare = server_ask(shim->bare, p->bytes, p->len, false);
	return known_records_differ(shim->profile, strcmp(shim->setting->name, "off") != 0, bare,
				    server_answer(shim)) ||
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
	unsigned shown = 0;

	while ((*bare || *shim) && shown < 4) {
		const size_t a = strcspn(bare, "\n"), b = strcspn(shim, "\n");

		if ((a != b || strncmp(bare, shim, a) != 0) && ++shown)
			printf("# bare: %.*s\n# shim: %.*s\n", (int)a, bare, (int)b, shim);
		bare += a + (bare[a] == '\n');
		shim += b + (shim[b] == '\n');
	}
}

static void explain(struct server *shim, const struct program *p)
{
	char *bare;

	print_lines("bare | ", server_ask(shim->bare, p->bytes, p->len, true));
	print_lines("shim | ", server_ask(shim, p->bytes, p->len, true));
	bare = strdup(server_ask(shim->bare, p->bytes, p->len, false));
	print_difference(bare, server_ask(shim, p->bytes, p->len, false));
	free(bare);
	printf("# FAKERDMA_PROFILE=%s CCS_SETTING=%s CCS_PROGRAM=", shim->profile,
	       shim->setting->name);
	for (size_t i = 0; i < p->len; i++)
		printf("%02x", p->bytes[i]);
	printf("\n");
}

/* In new processes the program may not fail: then earlier programs matter. */
static void report(struct server *shim, struct program *p, uint64_t seed)
{
	const struct program whole = *p;

	print_difference(shim->bare->text, shim->text);
	server_stop(shim);
	server_stop(shim->bare);
	if (differs(shim, p)) {
		shrink(shim, p);
	} else {
		printf("# only after the earlier programs\n");
		*p = whole;
	}
	explain(shim, p);
	fail_msg("behind the shim, profile %s, setting %s, seed %llu, the record of a program "
		 "differs",
		 shim->profile, shim->setting->name, (unsigned long long)seed);
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
static void run_random_programs(struct fleet *fleet, unsigned part)
{
	const char *steps = getenv("CCS_STEPS"), *unseen;
	const unsigned long want = (steps ? strtoul(steps, NULL, 0) : SHARE) / part;
	unsigned long done = 0, programs = 0;
	struct program p;

	seed_start("differential");
	known_start();
	while (done < want) {
		struct server *shim = &fleet->server[1 + programs++ % (nservers - 1)];
		const uint64_t seed = seed_state;

		generate(&p);
		if (differs(shim, &p))
			report(shim, &p, seed);
		done += (p.len - HEAD) / STEP;
	}
	printf("# %lu steps of %lu programs, %u settings\n", done, programs, nservers - 1);
	unseen = known_unseen(fleet->profile);
	if (unseen && done >= ENOUGH)
		fail_msg("known difference %s was not seen in %lu steps on %s: if it is fixed, "
			 "remove it from known.c", unseen, done, fleet->profile);
}

static void random_programs_have_equal_records_on_mlx5(void **state)
{
	run_random_programs(&fleets[0], 2);
}

static void random_programs_have_equal_records_on_rxe(void **state)
{
	run_random_programs(&fleets[1], 2);
}

/* libmlx5 that does not check the QP's state at post. */
static void random_programs_have_equal_records_on_old_mlx5(void **state)
{
	run_random_programs(&fleets[2], 8);
}

/* Programs that coverage-guided runs have found, on mlx5 and rxe in turn. */
static void corpus_programs_have_equal_records(void **state)
{
	const char *src = getenv("top_srcdir");
	char path[1024];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

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
			if (differs(&fleets[(n + i) % 2].server[i], &p))
				report(&fleets[(n + i) % 2].server[i], &p, 0);
		n++;
	}
	closedir(dir);
	printf("# %u programs\n", n);
	assert_true(n > 10);
}

static bool differ_in(const char *bare, const char *shim)
{
	return known_records_differ("mlx5", true, bare, shim);
}

static void known_differences_are_in_one_direction_of_one_line(void **state)
{
	known_start();
	assert_false(differ_in("post\n~send_cq 1\n--\n", "post\n~send_cq 1\n--\n"));
	assert_string_equal(known_unseen("rxe"), "order");
	assert_false(differ_in("post\n~order 0\n--\n", "post\n~order 3\n--\n"));
	assert_true(differ_in("post\n~order 3\n--\n", "post\n~order 0\n--\n"));
	assert_true(differ_in("post\n~order 0\n--\n", "post\n~order 3\n"));
	assert_true(differ_in("post\n~order 0\n--\n", "poll\n~order 3\n--\n"));
	assert_true(differ_in("~clean 0\n", "~clean 3\n"));
	assert_true(differ_in("~order 0\n", "~events 1\n"));
	assert_true(known_records_differ("rxe", true, "~caps 3\n", "~caps 0\n"));
	assert_true(known_records_differ("mlx5", false, "~order 0\n", "~order 3\n"));
}

/* Each kind of defect is found, and shrunk to a program of a few lines. */
static void every_mutant_is_found_and_shrunk(void **state)
{
	static const char *const names[] = { "drop", "twice", "swap", "status", "length", "opcode",
					     "wr_id", "vendor", "unasked", "bad_wr", "event",
					     "unarmed" };

	seed_state = 4;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct server *shim = &fleets[i / 2 % 2].server[i % 2 ? 3 : 1];
		struct server mutant = { .setting = shim->setting, .profile = shim->profile,
					 .bare = shim->bare, .mutant = names[i] };
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
		assert_true(differs(&mutant, &p) && !differs(shim, &p));
		assert_in_range((p.len - HEAD) / STEP, 1, 4);
		server_stop(&mutant);
		free(mutant.text);
	}
}

static int again(const char *hex)
{
	const char *name = getenv("CCS_SETTING"), *profile = getenv("FAKERDMA_PROFILE");
	struct fleet *fleet = fleets;
	struct program p = { .len = 0 };
	unsigned value, i = 1;

	for (; sscanf(hex, "%2x", &value) == 1 && p.len < sizeof(p.bytes); hex += 2)
		p.bytes[p.len++] = (uint8_t)value;
	while (name && settings[i].name && strcmp(settings[i].name, name))
		i++;
	if (!settings[i].name)
		return 2;
	while (profile && strcmp(fleet->profile, profile) != 0)
		if (++fleet == fleets + FLEETS)
			return 2;
	explain(&fleet->server[i], &p);
	return differs(&fleet->server[i], &p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_differences_are_in_one_direction_of_one_line),
		cmocka_unit_test(corpus_programs_have_equal_records),
		cmocka_unit_test(every_mutant_is_found_and_shrunk),
		cmocka_unit_test(random_programs_have_equal_records_on_mlx5),
		cmocka_unit_test(random_programs_have_equal_records_on_rxe),
		cmocka_unit_test(random_programs_have_equal_records_on_old_mlx5),
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
