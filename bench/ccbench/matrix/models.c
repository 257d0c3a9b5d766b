/* SPDX-License-Identifier: BSD-2-Clause */
#include "matrix.h"

#include <string.h>

#define INCAST(model, n, more) \
	{ .name = model, .scenario = "incast", .senders = n, .options = more }
#define SCENARIO(model, which, n, more) \
	{ .name = model, .scenario = which, .senders = n, .options = more }

const struct model models[] = {
	INCAST("A-2:1-64k", 2, "-s 64k"),
	INCAST("A-4:1-64k", 4, "-s 64k"),
	INCAST("A-8:1-64k", 8, "-s 64k"),
	INCAST("A-16:1-64k", 16, "-s 64k"),
	INCAST("A-31:1-64k", 31, "-s 64k"),
	INCAST("A-2:1-1k", 2, "-s 1000"),
	INCAST("A-4:1-1k", 4, "-s 1000"),
	INCAST("A-8:1-1k", 8, "-s 1000"),
	INCAST("A-16:1-1k", 16, "-s 1000"),
	INCAST("A-31:1-1k", 31, "-s 1000"),
	/* The loads are as in the simulated models while short flows arrive. */
	SCENARIO("G-long-incast", "elephant", 17, "-s 500k --load 48%"),
	SCENARIO("G-long-1m", "elephant", 2, "-s 1m --load 10%"),
	INCAST("G-elephants-mice", 2, "-s 1m --victim-size 1000"),
	SCENARIO("G-long-64k", "elephant", 17, "-s 64k --load 14%"),
	SCENARIO("H-join-2", "joinleave", 2, "-s 1m"),
	SCENARIO("H-leave", "leave", 2, "-s 1m"),
	SCENARIO("H-join-4", "joinleave", 4, "-s 1m"),
	INCAST("I-1-qp", 8, "-s 64k -q 1"),
	INCAST("I-8-qps", 8, "-s 64k -q 8"),
	INCAST("I-64-qps", 8, "-s 64k -q 64"),
	/* The maximum number of queue pairs of ccbench. */
	{ .name = "I-512-qps", .scenario = "incast", .senders = 8, .options = "-s 64k -q 512 -t 2",
	  .no_victim = true },
	INCAST("J-write", 8, "-s 1m"),
	SCENARIO("J-read", "readincast", 8, "-s 1m"),
	INCAST("J-send", 8, "-s 64k --op send"),
	INCAST("K-64b", 8, "-s 64"),
	INCAST("K-4k", 8, "-s 4k"),
	INCAST("K-1m", 8, "-s 1m"),
	{ .name = NULL },
};

unsigned model_hosts(const struct model *m)
{
	const bool incast = strstr(m->scenario, "incast") != NULL;

	return 1 + m->senders + (incast && !m->no_victim);
}
