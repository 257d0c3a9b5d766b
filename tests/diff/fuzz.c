/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the same programs, chosen by libFuzzer for the branches of the shim that they reach; see
 * the script `fuzz`. The bare device is in another process, CCS_DIFF_SERVER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "known.h"
#include "server.h"
#include "virtual.h"
#include "world.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* The shim is preloaded only here: a shell has no coverage counters. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *preload = getenv("CCS_PRELOAD");

	(void)argc;
	if (fake_present()) {
		unsetenv("LD_PRELOAD");
		return 0;
	}
	if (!preload || setenv("LD_PRELOAD", preload, 1))
		return -1;
	execv("/proc/self/exe", *argv);
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct server bare = { .setting = &settings[0], .profile = "mlx5" };
	const struct text *shim;
	const char *expected;

	if (len < 16 || len > 1024)
		return -1;
	shim = run_program(bytes, len, NULL);
	expected = server_ask(&bare, bytes, len, false);
	if (!known_records_differ(bare.profile, true, expected, shim->at))
		return 0;
	fprintf(stderr, "the records differ\n");
	abort();
}
