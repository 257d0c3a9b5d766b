/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONTROL_WARNING_H
#define CCS_CONTROL_WARNING_H
/* The warning that an algorithm has no effect. */
#include "preload/object/qp_record.h"

/* The flow's control state has changed. Warns once per process of each state but ok. */
void ccs_control_warn(const struct qp *qp);

#endif
