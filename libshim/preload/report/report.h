/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REPORT_H
#define CCS_REPORT_H
/* The JSON report at exit, and counters of uncontrolled QPs and calls. */
#include "preload/object/shim.h"

void ccs_report_add(struct qp *qp);
void ccs_report_remove(struct qp *qp);  /* qp->lock is held */
void ccs_report_write(void);

/* Count something that is left uncontrolled and is no known QP. */
void ccs_uncontrolled_count(enum ccs_uncontrolled reason);
/* Count an uncontrolled QP, and log it at level info; the first failure as a warning. */
void ccs_uncontrolled_qp(enum ccs_uncontrolled reason, const struct ibv_qp *qp);

#endif
