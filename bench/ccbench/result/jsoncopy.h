/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_JSONCOPY_H
#define BENCH_JSONCOPY_H
/* Putting JSON that another program wrote into ours, without trusting it. */
#include <stdbool.h>

#include "base/json.h"

/* Copy one JSON value; null where text is NULL or no valid JSON. False in that case. */
bool json_copy(struct ccs_json *j, const char *key, const char *text);

#endif
