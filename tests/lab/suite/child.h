/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SUITE_CHILD_H
#define CCS_TESTS_SUITE_CHILD_H
/* The suite executed again, as a client of the suite that the parent may kill. */

#define CHILD_OPTION "--child"

/*
 * --child DEVICE GID QPN RKEY ADDRESS: connects a QP of the device to that one, prints its number,
 * and once a line comes on stdin WRITEs to the address until it is killed.
 */
int child_main(int argc, char **argv);

#endif
