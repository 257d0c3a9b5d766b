/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CHECK_CC_H
#define CCS_CHECK_CC_H
/* The check of an algorithm's text, "NAME[:param=value,...]", with help for typing slips. */
#include <stddef.h>

/* 0, or -1 with a sentence in err. */
int ccs_check_cc(const char *spec, char *err, size_t errlen);

#endif
