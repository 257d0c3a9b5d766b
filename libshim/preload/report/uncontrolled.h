/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_UNCONTROLLED_H
#define CCS_UNCONTROLLED_H
/* Counters of uncontrolled QPs and calls, by reason (CCS_UNCONTROLLED_REASONS). */
#include "preload/object/shim.h"

/* Count something that is left uncontrolled and is no known QP. */
void ccs_uncontrolled_count(enum ccs_uncontrolled reason);
/* Count an uncontrolled QP, and log it at level info; the first failure as a warning. */
void ccs_uncontrolled_qp(enum ccs_uncontrolled reason, const struct ibv_qp *qp);

#endif
