/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_MAILBOX_H
#define CCS_TESTS_MAILBOX_H
/* What `ccshim set` does, from within: requests to the shim that a program runs behind. */
#include <stdbool.h>

/* Whether there is a shim that takes any. */
bool mailbox_open(void);
/* The next poll applies it, in place of one that was not applied yet. */
void mailbox_put(const char *text);
/* As the process began, for what is connected from now on. false: it was refused. */
bool mailbox_reset(void (*poll)(void));

#endif
