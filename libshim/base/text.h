/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_TEXT_H
#define CCS_BASE_TEXT_H
#include <stddef.h>

/* Write a sentence that explains a failure; returns -1. */
int ccs_refuse(char *err, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Append to a text in a buffer of len bytes, as much as fits. */
void ccs_append(char *text, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
