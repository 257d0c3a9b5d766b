/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent with libFuzzer's corpus, and with random bytes. */
#include <dirent.h>
#include <string.h>

#include "../unit/test.h"

#include "agent.h"
#include "../unit/seed.h"

enum { INPUT_MAX = 4096, RANDOM_INPUTS = 50 };

static void replay(const char *dir, const char *name)
{
	uint8_t bytes[INPUT_MAX];
	char path[1024];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	fuzz_agent(bytes, len);
}

TEST(the_corpus)
{
	const char *top = getenv("top_srcdir");
	char dir[512];
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus", top ? top : ".");
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d)))
		if (*e->d_name != '.') {
			replay(dir, e->d_name);
			n++;
		}
	closedir(d);
	assert_true(n > 0);
}

TEST(bytes_by_chance)
{
	uint8_t bytes[INPUT_MAX];

	seed_start("bytes_by_chance");
	for (unsigned round = 0; round < RANDOM_INPUTS; round++) {
		const size_t len = 1 + seed_below(sizeof(bytes));

		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)seed_next();
		fuzz_agent(bytes, len);
	}
}
