/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RUN_EXEC_H
#define CCS_RUN_EXEC_H
/* Executes the command of `ccshim run`. */

/* It returns only if the command cannot be executed, after a message: the exit status for that. */
int run_exec(char **argv);

#endif
