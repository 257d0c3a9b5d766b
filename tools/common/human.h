/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_HUMAN_H
#define BENCH_HUMAN_H
/* Numbers with units and three significant digits, for tables and titles. NAN is "-". */
#include <stddef.h>

char *human_bytes(double bytes, char *buf, size_t len);  /* 64 KB, 1.5 MB; binary */
char *human_rate(double bps, char *buf, size_t len);     /* 200 Mb/s */
char *human_us(double us, char *buf, size_t len);        /* 850 us, 1.2 ms, 3 s */
char *human_count(double n, char *buf, size_t len);      /* 12076 */
char *human_percent(double share, char *buf, size_t len);
char *human_share(double v, char *buf, size_t len);      /* 0.9871 */

#endif
