/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_MAILBOX_H
#define CCS_TESTS_MAILBOX_H
/* `ccshim set` from within the process: requests to the program's shim. */
#include <stdbool.h>

/* Returns whether a shim is loaded that accepts requests. */
bool mailbox_open(void);
/* Submit a request, which the next poll applies; it replaces a request that was not applied yet. */
void mailbox_put(const char *text);
bool mailbox_answered(void);
/* Restore the initial settings for QPs that are connected later. Returns false if refused. */
bool mailbox_reset(void (*poll)(void));

#endif
