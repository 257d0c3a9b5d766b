/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SECONDS_H
#define CCS_TOOLS_SECONDS_H
/* Times in seconds, with fractions. */
#include <time.h>

/* The clock's time. */
double seconds_now(clockid_t clock);

/* Sleep; signals that do not end the process do not shorten it. */
void seconds_sleep(double seconds);

#endif
