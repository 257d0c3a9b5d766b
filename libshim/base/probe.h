/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_PROBE_H
#define CCS_BASE_PROBE_H
/*
 * Static probes for bpftrace, perf and gdb: provider ccshim, listed in docs/man/ccshim-probes.7. A
 * probe is a nop and a note in the object with its address and the places of its arguments, which
 * are integers and pointers that are computed there anyway. Only in the preload library, if it is
 * built with them.
 */
#ifdef CCS_USDT
#include <sys/sdt.h>
#define CCS_PROBE2(name, a, b) DTRACE_PROBE2(ccshim, name, a, b)
#define CCS_PROBE3(name, a, b, c) DTRACE_PROBE3(ccshim, name, a, b, c)
#define CCS_PROBE4(name, a, b, c, d) DTRACE_PROBE4(ccshim, name, a, b, c, d)
#else
#define CCS_PROBE2(name, a, b) ((void)sizeof(a), (void)sizeof(b))
#define CCS_PROBE3(name, a, b, c) ((void)sizeof(c), CCS_PROBE2(name, a, b))
#define CCS_PROBE4(name, a, b, c, d) ((void)sizeof(d), CCS_PROBE3(name, a, b, c))
#endif

#endif
