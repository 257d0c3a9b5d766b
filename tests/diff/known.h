/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_KNOWN_H
#define CCS_TESTS_KNOWN_H
/*
 * Differences between a device and the shim in front of it that are known and not yet fixed.
 * Results that may differ are in lines "~NAME VALUE" of the record; all other lines must be equal.
 */
#include <stdbool.h>

/*
 * Whether the records of a program on that profile of the fake provider differ in another way
 * than known. not_off: the shim is active.
 */
bool known_records_differ(const char *profile, bool not_off, const char *bare, const char *shim);
/* Forget which differences were seen. */
void known_start(void);
/* Print how often each was seen. Returns the name of one of this profile that was not, or NULL. */
const char *known_unseen(const char *profile);

#endif
