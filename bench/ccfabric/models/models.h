/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_MODELS_H
#define CCFABRIC_MODELS_H
/*
 * Traffic models in a text file, a line each; # begins a comment:
 *	defaults OPTION...            of ccfabric run, for the models that follow
 *	NAME full=PORTS OPTION...     the traffic saturates ports: receivers' or senders' links, or
 *	                              the named ports: 40->0,41->1
 *	NAME delivered OPTION...      the offered bytes can be delivered before the run ends
 *	NAME not-run REASON...        the simulator cannot express it
 */
#include <stdbool.h>
#include <stddef.h>

enum fab_goal { FAB_GOAL_FULL, FAB_GOAL_DELIVERED, FAB_GOAL_NOT_RUN };

enum { MODEL_NAME_MAX = 24 };

struct fab_model {
	char name[MODEL_NAME_MAX + 1];
	enum fab_goal goal;
	char *ports;             /* of FAB_GOAL_FULL */
	char *reason;            /* of FAB_GOAL_NOT_RUN */
	char *options;           /* of ccfabric run, with a space between the words */
};

struct fab_models {
	struct fab_model *model;
	unsigned n;
};

/* False with "FILE:LINE: what is wrong" in err. */
bool fab_models_read(struct fab_models *m, const char *path, char *err, size_t len);

#endif
