/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_JSON_H
#define CCS_BASE_JSON_H
/*
 * Writes JSON to a stdio stream. The key is for a member of an object and is ignored in an array
 * and at the top. The writer adds commas, line breaks and escapes; its output is valid UTF-8 JSON
 * whatever the strings contain. Objects and arrays are nested at most 64 deep.
 *
 *	struct ccs_json j;
 *	ccs_json_start(&j, stdout);
 *	ccs_json_object(&j, NULL);
 *	ccs_json_str(&j, "name", "rxe0");
 *	ok = ccs_json_finish(&j);
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ccs_json {
	FILE *f;
	unsigned depth;
	uint64_t is_array, has_items; /* a bit per level */
	bool one_line;
};

void ccs_json_start(struct ccs_json *j, FILE *f);
void ccs_json_start_line(struct ccs_json *j, FILE *f); /* the document is one line */
void ccs_json_object(struct ccs_json *j, const char *key);
void ccs_json_array(struct ccs_json *j, const char *key);
void ccs_json_end(struct ccs_json *j); /* end the innermost object or array */

void ccs_json_str(struct ccs_json *j, const char *key, const char *s); /* NULL: null */
void ccs_json_num(struct ccs_json *j, const char *key, double v); /* exact; inf and NaN: null */
void ccs_json_uint(struct ccs_json *j, const char *key, uint64_t v);
void ccs_json_bool(struct ccs_json *j, const char *key, bool v);

/* End all open objects and arrays, and the line. False if anything could not be written. */
bool ccs_json_finish(struct ccs_json *j);

/*
 * The members with which each JSON document begins. docs/schemas/ describes the documents; the
 * number of a schema changes when a member is removed or gets another meaning, not when one is added.
 */
enum { CCS_DOCUMENT_SCHEMA = 1 };

/* Write schema, version, host and, in seconds since 1970, time. */
void ccs_document_head(struct ccs_json *j, double time);
/* Start such a document, and leave its outermost object open. */
void ccs_document_start(struct ccs_json *j, FILE *f, double time);

double ccs_document_now(void);

#endif
