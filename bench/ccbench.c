/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "incast.h"
#include "worker.h"

static void usage(FILE *to)
{
	fputs("usage: ccbench SUBCOMMAND [OPTION]...\n"
	      "  incast    N senders to one receiver, with a latency-sensitive victim\n"
	      "ccbench SUBCOMMAND --help tells a subcommand's options.\n", to);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "incast"))
		return incast_main(argc - 1, argv + 1);
	if (!strcmp(what, "worker")) /* for ccbench's own use */
		return worker_main(argc - 1, argv + 1);
	if (!strcmp(what, "-h") || !strcmp(what, "--help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(what, "-V") || !strcmp(what, "--version")) {
		puts("ccbench " PACKAGE_VERSION);
		return 0;
	}
	usage(stderr);
	return 2;
}
