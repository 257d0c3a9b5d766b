/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that uses libibverbs without being linked to it. See reach.bats. */
#include "reach.h"

#include <string.h>

/* [FILE [stay]]: as NCCL, or from FILE, whose handle stays open. */
static int nccl(char **words)
{
	struct reach_verbs verbs;
	void *handle = NULL;

	if (words[0] ? reach_look_up(&verbs, words[0], &handle) : reach_as_nccl(&verbs, &handle)) {
		fprintf(stderr, "%s\n", handle ? "incomplete" : dlerror());
		return 1;
	}
	return reach_traffic(&verbs, words[0] && words[1] ? NULL : handle) ? 1 : 0;
}

/* MODULE FILE stay: FILE, after that module was opened for itself. */
static int beside(char **words)
{
	return dlopen(words[0], RTLD_NOW | RTLD_LOCAL) ? nccl(words + 1) : 1;
}

static int flags_of(const char *words)
{
	static const struct { const char *word; int flag; } known[] = {
		{ "global", RTLD_GLOBAL }, { "deepbind", RTLD_DEEPBIND }, { "noload", RTLD_NOLOAD },
	};
	int flags = RTLD_NOW;

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(words, known[i].word))
			flags |= known[i].flag;
	return flags;
}

/* FLAGS FILE [FUNCTION]: open FILE with these flags and call FUNCTION in it. */
static int module(char **words)
{
	void *handle = dlopen(words[1], flags_of(words[0]));
	int (*function)(void);

	if (!handle) {
		const char *error = dlerror();

		fprintf(stderr, "%s\n", error ? error : "not loaded");
		return 1;
	}
	if (dlerror()) {
		fprintf(stderr, "dlerror() still has an error\n");
		return 1;
	}
	if (!words[2])
		return 0;
	*(void **)&function = dlsym(handle, words[2]);
	return function && function() == 0 ? 0 : 1;
}

/* Print, one per line, whether dlsym() finds these symbols without a handle. */
static int visible(char **words)
{
	for (; *words; words++)
		printf("%s %s\n", *words, dlsym(RTLD_DEFAULT, *words) ? "yes" : "no");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "nccl") == 0)
		return nccl(argv + 2);
	if (argc > 3 && strcmp(argv[1], "beside") == 0)
		return beside(argv + 2);
	if (argc > 3 && strcmp(argv[1], "module") == 0)
		return module(argv + 2);
	if (argc > 1 && strcmp(argv[1], "visible") == 0)
		return visible(argv + 2);
	return 2;
}
