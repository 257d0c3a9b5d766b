/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PATH_H
#define CCS_TOOLS_PATH_H
/* The options that describe a path, for getopt_long(). */
#include <getopt.h>

#include <ccshim/cc.h>

enum { PATH_LINE_RATE = 512, PATH_BASE_RTT, PATH_NOISE, PATH_SEGMENT, PATH_FLOWS };

#define PATH_LONG_OPTIONS \
	{ "line-rate", required_argument, NULL, PATH_LINE_RATE }, \
	{ "base-rtt", required_argument, NULL, PATH_BASE_RTT }, \
	{ "noise", required_argument, NULL, PATH_NOISE }, \
	{ "segment", required_argument, NULL, PATH_SEGMENT }, \
	{ "flows", required_argument, NULL, PATH_FLOWS }

/* Take optarg; any other letter is a usage error. 0 or EXIT_USAGE, complains itself. */
int path_take(const char *cmd, int letter, struct ccs_cc_path *path);

#endif
