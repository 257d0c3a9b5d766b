/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REPORT_H
#define CCS_REPORT_H
/* The JSON report at exit. */
#include "preload/object/qp_record.h"

void ccs_report_add(struct qp *qp);
void ccs_report_remove(struct qp *qp);  /* qp->lock is held */
void ccs_report_write(void);
void ccs_report_log_summary(void);      /* how many QPs were controlled, at level info */

#endif
