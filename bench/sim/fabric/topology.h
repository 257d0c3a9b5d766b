/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_TOPOLOGY_H
#define BENCH_SIM_TOPOLOGY_H
/* Networks of hosts and switches, generated or read from files. */
#include "tools/common/topology.h"

/*
 * One of
 *	star:HOSTS@RATE[,HOSTS@RATE]...       one switch
 *	chain:SWITCHESxHOSTS                  switches in a row, HOSTS of each
 *	leaf-spine:LEAVESxHOSTSxSPINES        HOSTS per leaf, each leaf to each spine
 *	clos:PODSxTORSxAGGREGATESxCORES/HOSTS HOSTS per ToR; in a pod each ToR to each aggregate;
 *	                                      each aggregate to CORES/AGGREGATES cores
 * with @RATE of hosts, and :RATE of each tier above if it differs from the one below, or the name
 * of a file. With 2x before HOSTS in clos, each host also has a link to the next ToR. Generated
 * hosts have the first numbers, and links this delay. False with a sentence in err.
 */
bool fab_topology(struct topology *t, const char *text, double delay_us, char *err, size_t len);

/* A number of the text is negative, which sscanf() would read as a large one. */
bool fab_has_negative(const char *text);

#endif
