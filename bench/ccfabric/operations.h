/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_OPERATIONS_H
#define CCFABRIC_OPERATIONS_H
/* The times of operations, us. */
#include "base/json.h"
#include "bench/ccbench/scenario/figures.h"
#include "bench/sim/fabric/fabric.h"

struct spread fab_operations(const struct fab_result *r);
void fab_write_operations(struct ccs_json *j, const struct spread *s);

#endif
