/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_DOCUMENT_H
#define CCS_DOCUMENT_H
/*
 * The members with which each JSON document begins. docs/schemas/ describes the documents; the
 * number of a schema changes when a member is removed or gets another meaning, not when one is added.
 */
#include "base/json.h"

enum { CCS_DOCUMENT_SCHEMA = 1 };

/* Write schema, version, host and, in seconds since 1970, time. */
void ccs_document_head(struct ccs_json *j, double time);

/* The current time for it. */
double ccs_document_now(void);

#endif
