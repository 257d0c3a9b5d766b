/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_PLOT_H
#define CCFABRIC_PLOT_H
/* A run as a picture: the longest queues over time, slowdown by size, the topology with its load. */
#include <stdbool.h>

#include "summary.h"

/* title: may be NULL. False with a sentence in err. conf->series must have been set. */
bool fab_plot(const char *file, const struct fab_outcome *o, const char *title, char *err,
	      size_t len);

#endif
