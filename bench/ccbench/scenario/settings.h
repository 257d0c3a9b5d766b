/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SETTINGS_H
#define BENCH_SETTINGS_H
/* The congestion-control settings to compare: what --cc says. */
#include <stdbool.h>
#include <stddef.h>

#define MAX_SETTINGS 16
#define SETTING_LEN 512

struct setting {
	char name[SETTING_LEN];  /* as given, such as "observe" or "timely:beta=0.8" */
	bool preload;            /* under the shim at all */
	const char *mode;        /* CCSHIM_MODE */
	const char *spec;        /* CCSHIM_CC; NULL: the shim's default */
};

struct settings {
	unsigned n;
	struct setting v[MAX_SETTINGS];
};

/*
 * Add settings from a list such as "off,timely:beta=0.8,alpha=0.02". Commas separate settings, and
 * also an algorithm's parameters: an item with '=' but without ':' is a parameter of the algorithm
 * before it. 0, or -1 with a sentence in err.
 */
int settings_add(struct settings *s, const char *text, char *err, size_t errlen);

#endif
