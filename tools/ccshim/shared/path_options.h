/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PATH_H
#define CCS_TOOLS_PATH_H
/* The options that describe a network path, for getopt_long(). */
#include <getopt.h>

#include <ccshim/cc.h>

enum { PATH_LINE_RATE = 512, PATH_BASE_RTT, PATH_RTT_JITTER, PATH_SEGMENT, PATH_FLOWS };

#define PATH_LONG_OPTIONS \
	{ "line-rate", required_argument, NULL, PATH_LINE_RATE }, \
	{ "base-rtt", required_argument, NULL, PATH_BASE_RTT }, \
	{ "rtt-jitter", required_argument, NULL, PATH_RTT_JITTER }, \
	{ "segment", required_argument, NULL, PATH_SEGMENT }, \
	{ "flows", required_argument, NULL, PATH_FLOWS }

/* Parse optarg; any other letter is a usage error. 0 or EXIT_USAGE; prints the error itself. */
int path_parse(const char *cmd, int letter, struct ccs_cc_path *path);

#endif
