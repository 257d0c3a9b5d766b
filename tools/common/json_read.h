/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_JSON_READ_H
#define CCS_TOOLS_JSON_READ_H
/*
 * Reads JSON value by value, as the caller requests them. All functions return false if the text is
 * not JSON or not the requested type. `at` is then the position of the mistake; do not read on.
 */
#include <stdbool.h>
#include <stddef.h>

struct json_read {
	const char *text, *at;
	unsigned depth;
};

/* Each reads its value, or skips it. */
typedef bool json_member(struct json_read *j, const char *key, void *arg);
typedef bool json_item(struct json_read *j, void *arg);

bool json_object(struct json_read *j, json_member *member, void *arg);
bool json_array(struct json_read *j, json_item *item, void *arg);
bool json_number(struct json_read *j, double *value);        /* null is NAN */
bool json_string(struct json_read *j, char *buf, size_t len); /* truncated; escapes unchanged */
bool json_skip(struct json_read *j);
bool json_end(struct json_read *j);                          /* only blanks follow */

#endif
