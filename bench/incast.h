/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_INCAST_H
#define BENCH_INCAST_H

/* `ccbench incast`: argv[0] is the subcommand. The exit status. */
int incast_main(int argc, char **argv);

#endif
