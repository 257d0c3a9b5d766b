/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_SCENARIO_H
#define CCFABRIC_SCENARIO_H
/* `ccfabric scenario`: one scenario under several algorithms, beside no control. */

/* Returns the exit status. */
int scenario(int argc, char **argv);

#endif
